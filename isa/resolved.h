// The instructions of a program with everything that follows from their types: the kind of each
// operand, the type of the computation, attributes as values, and the memory that each value refers
// to. Computed once, at the end of Specialise, for the interpreter and the compiler.
#ifndef TARSIA_ISA_RESOLVED_H_
#define TARSIA_ISA_RESOLVED_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dtypes/convert.h"
#include "isa/module.h"

namespace tarsia {

class Program;

struct Operand {
  enum class Kind : uint8_t {
    kNone,      // left out
    kTile,      // a register tile: `value`
    kScalar,    // a scalar value: `value`
    kConstant,  // an expression of constants only: `expr`
    kExpr,      // an expression of scalars, or one that is used as a number or a condition: `expr`
    kMemory,    // a tile in memory (with `indices` for elements of it) or a pointer: `value`
    kText,      // `expr` is the text
  };
  Kind kind = Kind::kNone;
  Role role = Role::kRead;
  DType type;  // of the value's elements; of an expression, the type it is rounded to
  uint32_t value = 0;
  ExprId expr;
  ExprId indices;  // a list

  [[nodiscard]] bool present() const { return kind != Kind::kNone; }
  [[nodiscard]] bool IsTile() const { return kind == Kind::kTile; }
  [[nodiscard]] bool IsExpr() const { return kind == Kind::kConstant || kind == Kind::kExpr; }
  [[nodiscard]] bool IsValue() const {
    return kind == Kind::kTile || kind == Kind::kScalar || kind == Kind::kMemory;
  }
};

struct ResolvedInst {
  const Inst* inst = nullptr;
  const InstRow* row = nullptr;
  FixedList<uint32_t, kMaxResults> results;  // values
  Operand operand[kMaxOperands];
  DType type;  // of the computation: the element type that the operands share

  // Attributes; the default if the row has none or it is not set.
  int64_t axis = 0;
  std::span<const int64_t> axes;   // of `axes` or `order`; or the one of `axis`
  std::span<const int64_t> shape;  // the annotated extents, if they are numbers
  CastOptions cast;
  uint8_t cache = 0;    // index in kCacheWords
  bool finite = false;  // of a cast
  bool fast = false;    // computes by the GPU's own form, because it or its kernel says `fast`
  bool keepdims = false;
  bool exclusive = false;
  bool reverse = false;
  bool smallest = false;
  bool zeroed = false;
  std::optional<int64_t> at;  // of alloc.shared
  int64_t unroll = 0;         // of `for`

  [[nodiscard]] Opcode opcode() const { return inst->opcode; }
};

// Of one program, whose module it points into.
class ResolvedCode {
 public:
  // One for each instruction of the kernel, in its order.
  [[nodiscard]] const std::vector<ResolvedInst>& instructions() const { return instructions_; }
  // The value whose memory holds a memory tile: a pointer parameter or an allocation. For every
  // other value, itself.
  [[nodiscard]] uint32_t root(uint32_t value) const { return roots_[value]; }
  // Whether an instruction writes elements through the value or through a view of it.
  [[nodiscard]] bool WritesThrough(uint32_t value) const { return written_[value]; }
  // Whether an instruction writes to the memory of the value, through any view.
  [[nodiscard]] bool WritesMemoryOf(uint32_t value) const { return written_[roots_[value]]; }

 private:
  friend class Resolver;
  std::vector<ResolvedInst> instructions_;
  std::vector<int64_t> numbers_;  // of the instructions' lists
  std::vector<uint32_t> roots_;   // by value
  std::vector<bool> written_;     // by value
};

// For Specialise. Takes time and memory by the size of the program.
std::shared_ptr<const ResolvedCode> Resolve(const Program& program);

}  // namespace tarsia

#endif  // TARSIA_ISA_RESOLVED_H_
