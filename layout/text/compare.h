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

// Empty if they are the same map; otherwise a line without a newline: the shapes or the counts of
// threads and slots that differ, or the row-major first element that has other holders.
std::optional<std::string> Difference(const RegLayout& a, const RegLayout& b);
// Compares the addresses of elements of `bits` bits, whatever the form of the layouts. Of more than
// kMaxLayoutCells elements only the first ones are compared; if those do not differ, the line says
// so. Errors: a width that differs from that of a packed layout.
Result<std::optional<std::string>> Difference(const MemLayout& a, const MemLayout& b, int bits);
// The first bit of a slot that lies elsewhere, or is complemented in only one of them.
std::optional<std::string> Difference(const BitLayout& a, const BitLayout& b);

// The two sides of a text `A == B` or `A != B`; empty for other texts. Errors point into the text.
struct Equation {
  EvalValue left, right;
  bool equal = true;  // `==`
};
Result<std::optional<Equation>> ReadEquation(std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_COMPARE_H_
