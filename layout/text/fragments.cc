#include "layout/text/fragments.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "layout/text/eval.h"

namespace tarsia {
namespace {

struct FragmentRow {
  std::string_view name;
  std::string_view text;
};

constexpr FragmentRow kFragmentRows[] = {
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

// A test compares each text of the table with the formula in the manual.
RegLayout Evaluate(const std::string& text) {
  const Result<EvalValue> value = EvaluateText(text);
  const auto* layout = value.ok() ? std::get_if<RegLayout>(&*value) : nullptr;
  return layout != nullptr ? *layout : RegLayout();
}

// Names and layouts. A text is evaluated when its name is first asked for.
class Table {
 public:
  Table() {
    for (const FragmentRow& row : kFragmentRows) Add(std::string(row.name), std::string(row.text));
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
  }
  [[nodiscard]] const RegLayout* Find(std::string_view name) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return nullptr;
    Entry& entry = found->second;
    std::call_once(entry.evaluated, [&] { entry.layout = Evaluate(entry.text); });
    return &entry.layout;
  }
  [[nodiscard]] std::span<const std::string_view> names() const { return names_; }

 private:
  struct Entry {
    std::string text;
    std::once_flag evaluated;
    RegLayout layout;
  };

  void Add(std::string name, std::string text) {
    const auto [entry, is_new] = entries_.try_emplace(std::move(name));
    if (!is_new) return;
    entry->second.text = std::move(text);
    names_.push_back(entry->first);
  }

  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string_view> names_;  // in the order of the table
};

Table& Fragments() {
  static auto* const table = new Table;
  return *table;
}

}  // namespace

const RegLayout* FindFragment(std::string_view name) { return Fragments().Find(name); }

std::span<const std::string_view> FragmentNames() { return Fragments().names(); }

}  // namespace tarsia
