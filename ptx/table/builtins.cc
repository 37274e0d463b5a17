#include "ptx/table/builtins.h"

#include <map>

namespace tarsia::ptx {
namespace {

// "8 4" as {8, 4}.
std::vector<uint64_t> Sizes(std::string_view text) {
  std::vector<uint64_t> sizes;
  for (const char c : text) {
    if (c != ' ') sizes.push_back(static_cast<uint64_t>(c - '0'));
  }
  return sizes;
}

}  // namespace

const BuiltinInfo* FindBuiltin(std::string_view name) {
  static const std::map<std::string_view, BuiltinInfo> functions = {
#define PTX_BUILTIN(constant, name, params, results) \
  {name, {Builtin::constant, Sizes(params), Sizes(results)}},
#include "ptx/table/builtins.def"
#undef PTX_BUILTIN
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}

}  // namespace tarsia::ptx
