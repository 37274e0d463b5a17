// The errors of approximate instructions: the rows of approximations.def.
#ifndef TARSIA_PTX_TABLE_APPROXIMATIONS_H_
#define TARSIA_PTX_TABLE_APPROXIMATIONS_H_

#include <cstdint>
#include <string_view>

#include "ptx/table/code.h"

namespace tarsia::ptx {

enum class ErrorUnit : uint8_t { kUlp, kRelative };

struct ErrorBound {
  Op op = Op{};
  ErrorUnit unit = ErrorUnit::kUlp;
  double bound = 0;
  std::string_view section;  // of the PTX ISA
};

inline constexpr ErrorBound kErrorBounds[] = {
#define PTX_APPROXIMATION(row, unit, bound, section) {Op::k##row, ErrorUnit::unit, bound, section},
#include "ptx/table/approximations.def"
#undef PTX_APPROXIMATION
};

// The bound of an instruction; of 0 for those without a row.
constexpr ErrorBound ErrorBoundOf(Op op) {
  for (const ErrorBound& row : kErrorBounds) {
    if (row.op == op) return row;
  }
  return {};
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_APPROXIMATIONS_H_
