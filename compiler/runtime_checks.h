// What the kernel itself has to check while it runs, because the host cannot check it before the
// launch.
#ifndef TARSIA_COMPILER_RUNTIME_CHECKS_H_
#define TARSIA_COMPILER_RUNTIME_CHECKS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "isa/program.h"

namespace tarsia::compiler {

class RuntimeChecks {
 public:
  // `launched`: the program of the caller. Every launch checks the extents of its views, slices and
  // scratch that follow from parameters alone. `compiled`: the program that the code is made of,
  // which must outlive this; a pass may have given it other views.
  RuntimeChecks(const Program& launched, const Program& compiled);

  // Whether extent `d` of the value, a view or slice that `compiled` makes, may be outside of 0 to
  // 2^40 for all that the host has checked.
  [[nodiscard]] bool Checks(uint32_t value, size_t d) const;
  // Whether some instruction may report to the host (compiler/report_buffer.h).
  [[nodiscard]] bool NeedsReport() const;

 private:
  // An expression by what it computes: equal keys, equal expressions.
  using Key = std::vector<uint64_t>;
  static Key KeyOf(const ScalarExpr& expr);
  [[nodiscard]] bool MayReport(const ResolvedInst& inst) const;
  [[nodiscard]] bool IsSlice(uint32_t value) const;

  const Program& compiled_;
  std::set<Key> launched_;  // the extents that a launch checks
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_RUNTIME_CHECKS_H_
