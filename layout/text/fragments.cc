#include "layout/text/fragments.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "layout/text/eval.h"

namespace tarsia {
namespace {

struct Row {
  std::string_view name;
  std::string_view text;
};

constexpr Row kRows[] = {
#define MMA(shape, type, a, b, c) \
  {"mma." shape "." type ".a", a}, {"mma." shape "." type ".b", b}, {"mma." shape "." type ".c", c},
#define FRAGMENT(name, text) {name, text},
#define WGMMA(k, type, a)
#include "layout/text/fragments.def"
#undef WGMMA
#undef FRAGMENT
#undef MMA
};

struct WgmmaRow {
  std::string_view k;
  std::string_view type;
  std::string_view a;
};

constexpr WgmmaRow kWgmmaRows[] = {
#define MMA(shape, type, a, b, c)
#define FRAGMENT(name, text)
#define WGMMA(k, type, a) {k, type, a},
#include "layout/text/fragments.def"
#undef WGMMA
#undef FRAGMENT
#undef MMA
};

// Integers leave out most odd multiples of 8.
bool WgmmaHasN(std::string_view type, int n) {
  const bool integer = type == "u8" || type == "i8";
  return !integer || n % 16 == 0 || n == 8 || n == 24;
}

// Names and layouts. A test compares each text of the table with the formula in the manual.
class Table {
 public:
  Table() {
    for (const Row& row : kRows) Add(std::string(row.name), std::string(row.text));
    for (const WgmmaRow& row : kWgmmaRows) {
      for (int n = 8; n <= 256; n += 8) {
        if (!WgmmaHasN(row.type, n)) continue;
        const std::string name = fmt::format("wgmma.m64n{}k{}.{}", n, row.k, row.type);
        Add(name + ".a", std::string(row.a));
        Add(name + ".c", fmt::format("spatial(4, 1) * local(1, {}) * local(2, 1) * spatial(8, 4) * "
                                     "local(1, 2)",
                                     n / 8));
      }
    }
    for (const auto& entry : order_) names_.push_back(entry->first);
  }
  [[nodiscard]] const RegLayout* Find(std::string_view name) const {
    const auto found = layouts_.find(name);
    return found == layouts_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::span<const std::string_view> names() const { return names_; }

 private:
  using Layouts = std::map<std::string, RegLayout, std::less<>>;

  void Add(std::string name, const std::string& text) {
    const Result<EvalValue> value = EvaluateText(text);
    const auto* layout = value.ok() ? std::get_if<RegLayout>(&*value) : nullptr;
    order_.push_back(
        layouts_.emplace(std::move(name), layout != nullptr ? *layout : RegLayout()).first);
  }

  Layouts layouts_;
  std::vector<Layouts::const_iterator> order_;
  std::vector<std::string_view> names_;
};

const Table& Fragments() {
  static const auto* const table = new Table;
  return *table;
}

}  // namespace

const RegLayout* FindFragment(std::string_view name) { return Fragments().Find(name); }

std::span<const std::string_view> FragmentNames() { return Fragments().names(); }

}  // namespace tarsia
