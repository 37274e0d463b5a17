#include "layout/text/functions.h"

#include <algorithm>
#include <array>

namespace tarsia {
namespace {

constexpr FuncInfo kFunctions[] = {
#define FUNC(id, name, parameters, result, doc) {Func::id, name, parameters, ExprType::result, doc},
#include "layout/text/functions.def"
#undef FUNC
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kFunctions)> names{};
  for (size_t i = 0; i < names.size(); ++i) names[i] = kFunctions[i].name;
  return names;
}();

}  // namespace

std::string_view ExprTypeName(ExprType type) {
  switch (type) {
    case ExprType::kUnknown:
      return "something unknown";
    case ExprType::kBool:
      return "a truth value";
    case ExprType::kInt:
      return "an integer";
    case ExprType::kFloat:
      return "a float";
    case ExprType::kDType:
      return "a type";
    case ExprType::kRegLayout:
      return "a register layout";
    case ExprType::kMemLayout:
      return "a memory layout";
    case ExprType::kBitLayout:
      return "a bit layout";
    case ExprType::kList:
      return "a list";
  }
  return "?";
}

std::span<const FuncInfo> Functions() { return kFunctions; }

const FuncInfo& InfoOf(Func func) { return kFunctions[static_cast<size_t>(func)]; }

std::optional<Func> FindFunc(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Func>(found - kNames.begin());
}

std::span<const std::string_view> FuncNames() { return kNames; }

}  // namespace tarsia
