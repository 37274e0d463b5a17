// The types of weights that options name.
#ifndef TARSIA_TOOLS_WEIGHTS_WEIGHT_TYPES_H_
#define TARSIA_TOOLS_WEIGHTS_WEIGHT_TYPES_H_

#include <string>

#include "dtypes/codebook.h"
#include "dtypes/dtype.h"
#include "dtypes/quantize.h"
#include "tools/command.h"

namespace tarsia::tools {

struct WeightTypes {
  DType weight, compute;
  const Codebook* codebook = nullptr;
};

// Finds `type`, a type or a codebook, as the option `option` gives it, and `compute`, which is f16,
// or bf16 for types beyond its range, if it is empty. Returns an exit code; errors are printed.
int FindWeightTypes(const Command& command, const char* option, const std::string& type,
                    const std::string& compute, WeightTypes* out);

// "none", "int", "float".
ZeroPoint ZeroPointOf(const std::string& text);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_WEIGHTS_WEIGHT_TYPES_H_
