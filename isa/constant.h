// Specialisation constants and requirements: the parts of a header that kernels and graphs share.
#ifndef TARSIA_ISA_CONSTANT_H_
#define TARSIA_ISA_CONSTANT_H_

#include <cstdint>
#include <string_view>

#include "layout/text/expr.h"
#include "support/diagnostic.h"

namespace tarsia {

enum class ConstKind : uint8_t { kInt, kBool, kDType, kRegLayout, kMemLayout, kBitLayout };
inline constexpr std::string_view kConstKindNames[] = {"int",       "bool",      "dtype",
                                                       "reglayout", "memlayout", "bitlayout"};
// The static kind of a constant's value.
ExprType ExprTypeOf(ConstKind kind);

struct Constant {
  StringId name = 0;
  ConstKind kind{};
  ExprId default_value;  // may be none
  ExprId candidates;     // a list for the tuner; may be none
  Location location;
  Location default_location;  // of the default; none if it was not read from text
  [[nodiscard]] Location DefaultLocation() const {
    return default_location.IsText() ? default_location : location;
  }
};

struct Require {
  ExprId condition;
  StringId message = 0;
  Location location;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_CONSTANT_H_
