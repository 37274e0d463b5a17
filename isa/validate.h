// Validates a module, from text or bytecode, and reports every independent error. It checks kinds
// and types of operands, shapes (symbolically where constants are open), layouts, spaces, scopes,
// attributes. One file per family: isa/validate/<family>.cc.
#ifndef TARSIA_ISA_VALIDATE_H_
#define TARSIA_ISA_VALIDATE_H_

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/module.h"
#include "isa/program.h"

namespace tarsia {

// The type of a value while constants may be open: its parts are expressions, folded as far as
// possible.
struct ValueType {
  bool known = false;  // false after an error: its uses report nothing
  ValueKind kind = ValueKind::kScalar;
  Space space = Space::kNone;
  ExprId dtype;
  ExprId shape;   // a list
  ExprId layout;  // none where not written
  ExprId bits;    // none where not written
};

// A module that obeys every rule that can be checked before its constants are known. Immutable;
// safe to share between threads.
class ValidModule {
 public:
  [[nodiscard]] const Module& module() const { return *module_; }
  // Types of the values of kernel `k`, by value number.
  [[nodiscard]] const std::vector<ValueType>& types(size_t k) const { return types_[k]; }
  // The number of the kernel with that name, in constant time.
  [[nodiscard]] std::optional<size_t> FindKernel(std::string_view name) const;
  // The same of graphs.
  [[nodiscard]] std::optional<size_t> FindGraph(std::string_view name) const;

 private:
  friend std::optional<ValidModule> Validate(Module module, Diagnostics& diagnostics);
  ValidModule() = default;
  std::shared_ptr<const Module> module_;
  std::vector<std::vector<ValueType>> types_;
  std::unordered_map<StringId, size_t> kernel_of_name_;
  std::unordered_map<StringId, size_t> graph_of_name_;
};

// Empty exactly if errors were reported.
std::optional<ValidModule> Validate(Module module, Diagnostics& diagnostics);

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_H_
