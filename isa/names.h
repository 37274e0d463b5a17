// Which names may stand where: what text and bytecode hold a module to alike, so that whatever is
// read from one can be written as the other.
#ifndef TARSIA_ISA_NAMES_H_
#define TARSIA_ISA_NAMES_H_

#include <span>
#include <string_view>

namespace tarsia {

// [A-Za-z_][A-Za-z0-9_]*: kernels, constants, values.
bool IsPlainName(std::string_view name);
// A plain name, or one with dots as in `mma.m16n8k16.f16.a`.
bool IsDottedName(std::string_view name);
// A plain name that an expression reads as a name, and not as a type, a truth value, a float or an
// operator.
bool IsExpressionName(std::string_view name);
// What a constant cannot be called because of: "a type", "the name of an attribute", ...; empty
// when it can.
std::string_view ReservedAs(std::string_view name);

// What other languages call something that is an instruction here, or several, or none.
struct OtherName {
  std::string_view name;
  std::string_view help;  // how to write it
};
std::span<const OtherName> OtherNames();
// The help for a name of other languages; "" for one that is not among them.
std::string_view HelpForOtherName(std::string_view name);

}  // namespace tarsia

#endif  // TARSIA_ISA_NAMES_H_
