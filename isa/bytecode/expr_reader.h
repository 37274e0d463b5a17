// Strings, types and expressions of bytecode. Internal to isa/bytecode.
#ifndef TARSIA_ISA_BYTECODE_EXPR_READER_H_
#define TARSIA_ISA_BYTECODE_EXPR_READER_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/bytecode/cursor.h"
#include "isa/module.h"

namespace tarsia::bytecode {

// The uses for which a string was found to be a valid name, one bit each.
enum NameUse : uint8_t {
  kKernelName,
  kConstantName,
  kValueName,
  kTermName,
  kFragmentName,
  kKeywordName,
  kGraphConstantName
};

// The place of an expression: in some it is optional, and arguments may be keywords.
enum ExprUse : uint8_t { kPlainExpr, kOptionalExpr, kArgument };

// Reads from a cursor into a module. A reference is to something that was used before, or to the
// next one, so that a module has only one form. Every function returns false after an error, like
// the cursor's.
class ExprReader {
 public:
  ExprReader(Cursor* in, Module* module) : in_(*in), module_(*module) {}

  bool ReadStrings();
  bool ReadTypes();
  // Whether every string and every type has been used.
  bool CheckAllUsed();

  bool String(StringId& out) {
    if (!in_.U32(out)) return false;
    if (out < next_string_) [[likely]]
      return true;
    return NextString(out);
  }
  bool Name(StringId& out, NameUse use) {
    if (!String(out)) return false;
    return (names_[out] >> use & 1) != 0 || CheckName(out, use);
  }
  // The values in a type must be visible here.
  bool Type(TypeId& out);
  bool Expr(ExprId& out, ExprUse use = kPlainExpr, int depth = 1);
  // The node of `true` or `false`.
  ExprId Bool(bool value);

  [[nodiscard]] size_t string_count() const { return texts_.size(); }
  [[nodiscard]] std::string_view text(StringId id) const { return texts_[id]; }
  // The beginning of a name, for messages.
  [[nodiscard]] static std::string Shown(std::string_view name);

  // Sets which values of the kernel expressions may use: adds the next one, hides one, removes all.
  void AddVisible() { visible_.push_back(1); }
  void Hide(uint32_t value) { visible_[value] = 0; }
  void ForgetValues() { visible_.clear(); }
  bool CheckVisible(uint32_t value) {
    if (value < visible_.size() && visible_[value] != 0) [[likely]]
      return true;
    return in_.Fail(diag::kBytecodeReference, "value", value);
  }

 private:
  bool NextString(StringId id);
  [[gnu::noinline]] bool CheckName(StringId id, NameUse use);
  bool ReadType(TypeExpr& type);
  bool Node(uint32_t tag, ExprId& out, ExprUse use, int depth);
  bool Leaf(ExprKind kind, uint64_t payload, ExprId& out);
  bool Int(ExprId& out);
  bool Float(ExprId& out);
  bool DTypeNode(ExprId& out);
  bool Items(uint32_t& count);
  bool Call(int depth, ExprId& out);
  bool Children(ExprKind kind, uint8_t code, uint64_t payload, uint32_t count, int depth,
                ExprId& out);

  Cursor& in_;
  Module& module_;

  uint32_t next_string_ = 0;             // strings below it have been used
  std::vector<std::string_view> texts_;  // by string
  std::vector<ExprId> name_terms_;  // by string: its node as a name in an expression, once made
  std::vector<uint8_t> names_;      // by string: NameUse bits

  uint32_t next_type_ = 0;             // types below it have been used
  std::vector<uint32_t> collected_;    // the values in types
  std::vector<uint32_t> type_values_;  // by type: where its values begin in collected_
  bool collecting_ = false;

  std::vector<uint8_t> visible_;  // by value of the kernel
  std::vector<ExprId> items_;
  std::array<ExprId, 256> dtypes_;  // by code: the node, once made
  std::array<ExprId, 2> bools_;
};

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_EXPR_READER_H_
