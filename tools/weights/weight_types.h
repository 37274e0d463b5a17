// The options that say what packed weights are like, and the types that they name.
#ifndef TARSIA_TOOLS_WEIGHTS_WEIGHT_TYPES_H_
#define TARSIA_TOOLS_WEIGHTS_WEIGHT_TYPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dtypes/codebook.h"
#include "dtypes/dtype.h"
#include "dtypes/quantize.h"
#include "tools/command.h"

namespace tarsia::tools {

struct WeightOptions {
  std::string compute, zero = "none", scale = "f16";
  uint32_t group = 0;  // 0: all rows

  [[nodiscard]] ZeroPoint Zero() const;
};

// Declares --group, --zero, --scale and --compute, which takes one of the words `computes`. What
// `out` holds are the defaults.
void DeclareWeightOptions(Command& command, std::vector<std::string> computes, WeightOptions* out);

struct WeightTypes {
  DType weight, compute, scale;
  DType zero;  // of the zero points, if `Zero` says that there are some
  const Codebook* codebook = nullptr;
};

// Finds `type`, a type or a codebook, as the option `option` gives it, and the types of the others.
// That of x is f16, or bf16 for types beyond its range, if no option says it. Returns an exit code;
// errors are printed.
int FindWeightTypes(const Command& command, const char* option, const std::string& type,
                    const WeightOptions& options, WeightTypes* out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_WEIGHTS_WEIGHT_TYPES_H_
