// Which values are visible where. Text gets its scopes from the parser; bytecode is held to the
// same rules here.
#ifndef TARSIA_ISA_VALIDATE_SCOPES_H_
#define TARSIA_ISA_VALIDATE_SCOPES_H_

#include <set>
#include <string_view>
#include <vector>

#include "isa/validate/context.h"

namespace tarsia {

class Scopes {
 public:
  explicit Scopes(KernelContext& context)
      : context_(context), visible_(context.kernel().value_names.size()) {}

  // The value is visible from now on; no other value of its name may be.
  void Show(uint32_t value, Location location);
  void ShowResults(const Inst& inst);
  // False after an error: the expression uses a value that is not visible.
  bool Contains(ExprId id, Location location);

  // How many values are visible.
  [[nodiscard]] size_t size() const { return scope_.size(); }
  // Only the first `size` of them stay visible.
  void ShrinkTo(size_t size);

  // How many blocks are open within the body of the kernel.
  [[nodiscard]] int depth() const { return depth_; }
  void OpenBlock() { ++depth_; }
  void CloseBlock() { --depth_; }

 private:
  KernelContext& context_;
  std::vector<uint8_t> visible_;  // by value: 1 where it is in scope
  std::vector<uint32_t> scope_;   // values in scope, in the order of their definition
  std::set<std::string_view> names_;
  uint32_t next_value_ = 0;
  int depth_ = 0;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_SCOPES_H_
