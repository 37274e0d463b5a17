#include "layout/fragments.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "layout/eval.h"

namespace tarsia {
namespace {

struct Row {
  std::string_view name;
  std::string_view text;
};

constexpr Row kRows[] = {
#define MMA(shape, type, a, b, c) \
  {"mma." shape "." type ".a", a}, {"mma." shape "." type ".b", b}, {"mma." shape "." type ".c", c},
#include "layout/fragments.def"
#undef MMA
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kRows)> names{};
  for (size_t i = 0; i < names.size(); ++i) names[i] = kRows[i].name;
  return names;
}();

// The table's texts are layouts: a test holds each against the manual's formula.
std::vector<RegLayout> MakeFragments() {
  std::vector<RegLayout> out;
  for (const Row& row : kRows) {
    const Result<EvalValue> value = EvaluateText(row.text);
    const auto* layout = value.ok() ? std::get_if<RegLayout>(&*value) : nullptr;
    out.push_back(layout != nullptr ? *layout : RegLayout());
  }
  return out;
}

}  // namespace

const RegLayout* FindFragment(std::string_view name) {
  static const auto* const kFragments = new std::vector<RegLayout>(MakeFragments());
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return nullptr;
  return &(*kFragments)[static_cast<size_t>(found - kNames.begin())];
}

std::span<const std::string_view> FragmentNames() { return kNames; }

}  // namespace tarsia
