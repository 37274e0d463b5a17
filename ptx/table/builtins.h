// The functions that PTX calls and CUDA provides (builtins.def).
#ifndef TARSIA_PTX_TABLE_BUILTINS_H_
#define TARSIA_PTX_TABLE_BUILTINS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/table/code.h"

namespace tarsia::ptx {

// The sizes of what a function takes and gives, in bytes.
struct BuiltinInfo {
  Builtin builtin = Builtin::kNone;
  std::vector<uint64_t> params;
  std::vector<uint64_t> results;
};
// The function of this name, or null.
const BuiltinInfo* FindBuiltin(std::string_view name);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_BUILTINS_H_
