// A layer of made numbers as options of a command describe it, and the options that describe it.
#ifndef TARSIA_TOOLS_MATMUL_SPEC_H_
#define TARSIA_TOOLS_MATMUL_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/matmul/made_layer.h"
#include "tools/matmul/matmul.h"

namespace tarsia::tools {

// Declares --group and the like of the weights, --with-bias and --with-residual.
void DeclareMade(Command& command, MatmulRequest* request);

// Reads a number. Returns an exit code; errors are printed.
int ReadSize(const Command& command, const char* option, const std::string& text, int64_t least,
             int64_t* out);
// Returns an exit code; errors are printed.
int ReadSpec(const Command& command, const MatmulRequest& request, LayerSpec* out);

// The options besides sizes, type of the weights and device that have not their defaults, as words.
// `group` is that which needs no option.
std::vector<std::string> OtherOptions(const MatmulRequest& request, uint32_t group);
// The command line that checks and measures one product.
std::string Reproduce(const MatmulRequest& request, const std::string& device);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_MATMUL_SPEC_H_
