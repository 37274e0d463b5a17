// The rules for names, the same for text and bytecode, so that a module read from one can be
// written as the other.
#ifndef TARSIA_ISA_NAMES_H_
#define TARSIA_ISA_NAMES_H_

#include <span>
#include <string_view>

namespace tarsia {

// [A-Za-z_][A-Za-z0-9_]*: kernels, constants, values.
bool IsPlainName(std::string_view name);
// A plain name, or one with dots as in `mma.m16n8k16.f16.a`.
bool IsDottedName(std::string_view name);
// A plain name that an expression reads as a name, not as a type, a truth value, a float or an
// operator.
bool IsExpressionName(std::string_view name);
// The reason why a constant cannot have a name: "a type", "the name of an attribute", ...; empty if
// it can.
std::string_view ReservedAs(std::string_view name);

// A name in other languages for something that is one instruction here, several, or none.
struct OtherName {
  std::string_view name;
  std::string_view help;  // how to write it
};
std::span<const OtherName> OtherNames();
// The help for a name of other languages; "" for an unknown one.
std::string_view HelpForOtherName(std::string_view name);

}  // namespace tarsia

#endif  // TARSIA_ISA_NAMES_H_
