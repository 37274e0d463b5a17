// The header of a kernel: constants, parameters, requirements, assumptions, the grid and the number
// of warps.
#ifndef TARSIA_ISA_VALIDATE_HEADER_H_
#define TARSIA_ISA_VALIDATE_HEADER_H_

#include <optional>
#include <string_view>

#include "isa/validate/expressions.h"

namespace tarsia {

class HeaderChecker {
 public:
  HeaderChecker(KernelContext& context, Expressions& expressions)
      : context_(context), expressions_(expressions) {}

  // Also adds the constants to the expressions, and the types of the parameters to the context.
  void Check();
  // The number of warps if it is known.
  [[nodiscard]] std::optional<int64_t> warps() const { return warps_; }
  // The bound on the registers of a thread if there is one and it is known.
  [[nodiscard]] std::optional<int64_t> registers() const { return registers_; }

 private:
  void CheckConstant(size_t index);
  // Checks a default or a candidate of the constant; `what` as for Expressions::ExpectKind.
  void CheckConstantValue(const Constant& constant, ExprId value, const char* what,
                          Location location);
  void CheckParameter(uint32_t index);
  void CheckRequire(const Require& require);
  void CheckAssume(const Assume& assume);
  void CheckAlignment(const Assume& assume);
  void CheckGrid();
  void CheckWarps();
  void CheckRegisters();
  // The value of a clause that is a constant integer, if it is known. `what` as for ExpectKind.
  std::optional<int64_t> ConstantOf(ExprId clause, const char* what, Location location);
  // False after an error: the expression uses values that are not parameters.
  bool ExpectParameters(ExprId id, Location location);
  [[nodiscard]] bool UsesNonParameter(ExprId id) const;

  KernelContext& context_;
  Expressions& expressions_;
  std::optional<int64_t> warps_;
  std::optional<int64_t> registers_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_HEADER_H_
