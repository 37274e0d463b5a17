// A program: one kernel made concrete. Every constant has its value, every shape except that of a
// global view consists of numbers, every type and every written layout is resolved. Only
// `Specialise` (isa/specialise.h) makes one, from a ValidModule; the interpreter and the compiler
// start here.
#ifndef TARSIA_ISA_PROGRAM_H_
#define TARSIA_ISA_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/limits.h"
#include "isa/module.h"
#include "isa/resolved.h"
#include "isa/scalar_expr.h"
#include "layout/bit_layout.h"
#include "layout/mem_layout.h"
#include "layout/reg_layout.h"

namespace tarsia {

enum class ValueKind : uint8_t { kScalar, kPointer, kTile };

// The type of a value, which it keeps for its whole life.
struct ConcreteType {
  ValueKind kind = ValueKind::kScalar;
  Space space = Space::kNone;  // of tiles
  DType dtype = kI32;
  // Tiles. Registers and shared: extents. Global: an extent that depends on scalars is
  // kRuntimeExtent, and `shape_exprs` has its expression (evaluated where the view is made).
  std::vector<int64_t> shape;
  std::vector<ExprId> shape_exprs;
  // Registers: present exactly if the text fixes the layout.
  std::optional<RegLayout> reg_layout;
  std::optional<BitLayout> bit_layout;
  // Global and shared: the layout family for the view's shape (row-major by default).
  MemLayoutFamily mem_layout;

  static constexpr int64_t kRuntimeExtent = -1;
  [[nodiscard]] bool IsTile(Space s) const { return kind == ValueKind::kTile && space == s; }
  // Product of the extents; only if none is a runtime extent.
  [[nodiscard]] int64_t Elements() const {
    int64_t n = 1;
    for (const int64_t extent : shape) n *= extent;
    return n;
  }
};

inline bool IsRegisterTile(const ConcreteType& type) { return type.IsTile(Space::kRegister); }
inline bool IsMemoryTile(const ConcreteType& type) {
  return type.kind == ValueKind::kTile && type.space != Space::kRegister;
}

struct BoundConstant {
  std::string name;
  ConstKind kind{};
  ExprId value;  // closed, in the program's pool
};

// Immutable and safe to share between threads.
class Program {
 public:
  [[nodiscard]] const Module& module() const { return *module_; }
  // The kernel with its constants substituted: every expression is a number, or depends only on
  // scalars.
  [[nodiscard]] const Kernel& kernel() const { return module_->kernels[0]; }
  [[nodiscard]] const ExprPool& pool() const { return module_->pool; }
  [[nodiscard]] std::string_view name() const { return module_->Name(kernel()); }
  [[nodiscard]] const ConcreteType& type(uint32_t value) const { return types_[value]; }
  [[nodiscard]] const std::vector<ConcreteType>& types() const { return types_; }
  // The resolved instructions.
  [[nodiscard]] const ResolvedCode& resolved() const { return *resolved_; }
  [[nodiscard]] const std::vector<ResolvedInst>& instructions() const {
    return resolved_->instructions();
  }
  // A scalar expression of the kernel: an index, a bound, a condition, an operand that is not a
  // single value, an extent that is not a number, an extent of the grid, an assumption.
  [[nodiscard]] const ScalarExpr& scalar(ExprId id) const { return scalars_->at(id.raw()); }
  // The bytes to which a pointer parameter is aligned at every launch.
  [[nodiscard]] int64_t PointerAlignment(uint32_t parameter) const;
  [[nodiscard]] const std::vector<BoundConstant>& constants() const { return constants_; }
  [[nodiscard]] int warps() const { return warps_; }
  // The most 32-bit registers of a thread; none: the assembler chooses.
  [[nodiscard]] std::optional<int64_t> registers() const { return registers_; }
  [[nodiscard]] const std::string& source_name() const { return module_->source_name; }

 private:
  friend class Specialiser;
  Program() = default;
  std::shared_ptr<const Module> module_;  // of one kernel
  std::vector<ConcreteType> types_;
  std::shared_ptr<const ResolvedCode> resolved_;
  std::shared_ptr<const std::unordered_map<uint32_t, ScalarExpr>> scalars_;  // by ExprId
  std::vector<BoundConstant> constants_;
  int warps_ = kDefaultWarps;
  std::optional<int64_t> registers_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_PROGRAM_H_
