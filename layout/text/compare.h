// Why two layouts are not the same: the first place where they differ.
#ifndef TARSIA_LAYOUT_TEXT_COMPARE_H_
#define TARSIA_LAYOUT_TEXT_COMPARE_H_

#include <optional>
#include <string>
#include <string_view>

#include "layout/bit_layout.h"
#include "layout/mem_layout.h"
#include "layout/reg_layout.h"
#include "layout/text/eval.h"
#include "support/result.h"

namespace tarsia {

// Nothing where they are the same map; else a line without its end: differing shapes or counts of
// threads and slots, or the row-major first element that has other holders.
std::optional<std::string> Difference(const RegLayout& a, const RegLayout& b);
// Of elements of `bits` bits, by their addresses, whatever the layouts look like; of more than
// kMaxLayoutCells elements the first ones, which the line says where they do not differ. Errors: a
// width that a packed layout does not have.
Result<std::optional<std::string>> Difference(const MemLayout& a, const MemLayout& b, int bits);
// The first bit of a slot that lies elsewhere or is complemented in one of them alone.
std::optional<std::string> Difference(const BitLayout& a, const BitLayout& b);

// The two sides of a text `A == B` or `A != B`; nothing if it is none. Errors point into the text.
struct Equation {
  EvalValue left, right;
  bool equal = true;  // `==`
};
Result<std::optional<Equation>> ReadEquation(std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_COMPARE_H_
