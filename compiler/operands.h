// The instructions of a program as inference and code generation read them: what each operand is,
// the element type they share, attributes as values.
#ifndef TARSIA_COMPILER_OPERANDS_H_
#define TARSIA_COMPILER_OPERANDS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dtypes/convert.h"
#include "isa/program.h"

namespace tarsia::compiler {

struct Operand {
  enum class Kind : uint8_t {
    kNone,
    kTile,    // a register tile: `value`
    kScalar,  // a scalar value: `value`
    kExpr,    // an expression of scalars and constants: `expr`
    kMemory,  // a memory tile (with `indices` for elements of it) or a pointer: `value`
    kText,    // `text`
  };
  Kind kind = Kind::kNone;
  uint32_t value = 0;
  DType type;  // of the value; of an expression, what it is rounded to
  ExprId expr;
  std::span<const ExprId> indices;
  std::string_view text;
  Location location;

  [[nodiscard]] bool present() const { return kind != Kind::kNone; }
  [[nodiscard]] bool IsTile() const { return kind == Kind::kTile; }
};

struct InstInfo {
  const Inst* inst = nullptr;
  const InstRow* row = nullptr;
  Location location;
  std::vector<uint32_t> results;  // value numbers
  Operand operand[kMaxOperands];
  DType type;  // of the computation: the operands' element type
};

InstInfo Describe(const Program& program, const Inst& inst);

// What a scalar expression computes.
enum class ScalarKind : uint8_t { kInt, kBool, kFloat };
ScalarKind KindOf(const Program& program, ExprId expr);

int64_t IntAttr(const Program& program, const Inst& inst, Attr attr, int64_t otherwise);
std::vector<int64_t> ListAttr(const Program& program, const Inst& inst, Attr attr);
bool HasAttr(const Program& program, const Inst& inst, Attr attr);
CastOptions CastOptionsOf(const Program& program, const Inst& inst);

inline bool IsRegisterTile(const ConcreteType& type) { return type.IsTile(Space::kRegister); }
inline bool IsMemoryTile(const ConcreteType& type) {
  return type.kind == ValueKind::kTile && type.space != Space::kRegister;
}

// By value: whether some instruction writes its memory, through it or another view or slice.
std::vector<bool> WrittenMemory(const Program& program);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_OPERANDS_H_
