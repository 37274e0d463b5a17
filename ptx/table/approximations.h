// The errors of approximate instructions: the rows of approximations.def.
#ifndef TARSIA_PTX_TABLE_APPROXIMATIONS_H_
#define TARSIA_PTX_TABLE_APPROXIMATIONS_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "ptx/table/code.h"

namespace tarsia::ptx {

enum class ErrorUnit : uint8_t { kUlp, kRelative, kAbsolute };

struct ErrorBound {
  Op op = Op{};
  ErrorUnit unit = ErrorUnit::kUlp;
  double bound = 0;          // 0: exact, or nothing is known
  std::string_view section;  // of the PTX ISA
  // Magnitudes of the last operand for which it holds.
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

inline constexpr ErrorBound kErrorBounds[] = {
#define PTX_APPROXIMATION_IN(row, unit, bound, low, high, section) \
  {Op::k##row, ErrorUnit::unit, bound, section, low, high},
#define PTX_APPROXIMATION(row, unit, bound, section) {Op::k##row, ErrorUnit::unit, bound, section},
#include "ptx/table/approximations.def"
#undef PTX_APPROXIMATION
#undef PTX_APPROXIMATION_IN
};

// The bound of an instruction for operands of a magnitude; of 0 where no row has it.
constexpr ErrorBound ErrorBoundOf(Op op, double magnitude) {
  for (const ErrorBound& row : kErrorBounds) {
    if (row.op == op && row.low <= magnitude && magnitude <= row.high) return row;
  }
  return {};
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_APPROXIMATIONS_H_
