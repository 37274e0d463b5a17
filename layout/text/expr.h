// Expressions: the language of shapes, types, layouts, constants and indices.
//
//   expr     = or
//   or       = and { "or" and }
//   and      = not { "and" not }
//   not      = "not" not | compare
//   compare  = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//   sum      = product { ("+" | "-") product }
//   product  = unary { ("*" | "/" | "%") unary }
//   unary    = "-" unary | "~" unary | primary
//   primary  = integer | float | "true" | "false" | "inf" | "nan" | string | "%" name
//            | "(" expr ")" | "[" [ expr { "," expr } ] "]"
//            | name [ "(" [ argument { "," argument } ] ")" ]
//   argument = name "=" expr | expr
//
// A name is a dtype (dtypes.def), a function (functions.def), a tensor-core fragment (a dotted
// name), or a constant; `*` and `/` mean what their operands are (integers, layouts). Expressions
// are hash-consed in a pool: two of one pool are equal exactly when their ids are, and the common
// operands (`%x`, small integers) are in the id itself, so that making one allocates nothing.
#ifndef TARSIA_LAYOUT_TEXT_EXPR_H_
#define TARSIA_LAYOUT_TEXT_EXPR_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dtypes/dtype.h"
#include "layout/text/functions.h"

namespace tarsia {

using StringId = uint32_t;

// An open-addressed table from hash to dense id, for the pools below.
class HashIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  // The id among those with this hash for which `same(id)` holds, or kNone.
  template <typename Same>
  [[nodiscard]] uint32_t Find(uint64_t hash, const Same& same) const {
    if (slots_.empty()) return kNone;
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.id == kNone) return kNone;
      if (slot.hash == static_cast<uint32_t>(hash >> 32) && same(slot.id)) return slot.id;
    }
  }
  void Insert(uint64_t hash, uint32_t id) {
    if ((count_ + 1) * 2 > slots_.size()) Grow();
    Place(hash & mask_, static_cast<uint32_t>(hash >> 32), hash, id);
    ++count_;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = kNone;
  };
  void Grow();
  void Rehash(size_t slots);
  void Place(size_t i, uint32_t high, uint64_t hash, uint32_t id) {
    while (slots_[i].id != kNone) i = (i + 1) & mask_;
    slots_[i] = {high, id};
    hashes_.resize(hashes_.size() > id ? hashes_.size() : id + 1);
    hashes_[id] = hash;
  }
  std::vector<Slot> slots_;
  std::vector<uint64_t> hashes_;  // by id
  size_t count_ = 0;
  size_t mask_ = 0;
};

uint64_t HashBytes(const void* data, size_t size, uint64_t seed = 0);

// Interned strings, numbered from 0.
class StringPool {
 public:
  StringPool() = default;
  StringPool(const StringPool& other);
  StringPool& operator=(const StringPool& other);
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  ~StringPool() = default;

  StringId Intern(std::string_view text);
  [[nodiscard]] std::optional<StringId> Find(std::string_view text) const;
  [[nodiscard]] std::string_view operator[](StringId id) const { return strings_[id]; }
  [[nodiscard]] size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;  // a deque: views into it stay valid
  HashIndex index_;
};

enum class ExprKind : uint8_t {
  kNone,       // nothing
  kValue,      // %name: code = -, payload = number of the value in its kernel
  kInt,        // payload = integer
  kFloat,      // payload = bits of a double
  kBool,       // payload = 0 or 1
  kDType,      // payload = DTypeCode
  kString,     // payload = StringId
  kName,       // payload = StringId: a constant, or a layout family without arguments
  kFragment,   // payload = StringId: a dotted name
  kUnary,      // code = UnaryOp, 1 child
  kBinary,     // code = BinaryOp, 2 children
  kCall,       // code = Func, children = arguments
  kKeyword,    // payload = StringId, 1 child; only as an argument of a call
  kReplicate,  // ~k, 1 child
  kList,       // children
};

enum class UnaryOp : uint8_t { kNegate, kNot };
enum class BinaryOp : uint8_t {
  kOr,
  kAnd,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
};
inline constexpr int kBinaryOps = 13;
std::string_view Spelling(BinaryOp op);
int Precedence(BinaryOp op);

// Low two bits: 0 = node of a pool (raw 0 = none), 1 = value, 2 = small integer.
class ExprId {
 public:
  constexpr ExprId() = default;
  static constexpr ExprId Value(uint32_t number) { return ExprId(number << 2 | 1); }
  static constexpr bool FitsSmall(int64_t i) { return i >= -(1 << 29) && i < (1 << 29); }
  static constexpr ExprId Small(int64_t i) {
    return ExprId(static_cast<uint32_t>(static_cast<uint64_t>(i)) << 2 | 2);
  }
  static constexpr ExprId Node(uint32_t index) { return ExprId((index + 1) << 2); }
  [[nodiscard]] constexpr bool none() const { return raw_ == 0; }
  [[nodiscard]] constexpr bool is_value() const { return (raw_ & 3) == 1; }
  [[nodiscard]] constexpr bool is_small() const { return (raw_ & 3) == 2; }
  [[nodiscard]] constexpr bool is_node() const { return (raw_ & 3) == 0 && raw_ != 0; }
  [[nodiscard]] constexpr uint32_t value() const { return raw_ >> 2; }
  [[nodiscard]] constexpr int64_t small() const { return static_cast<int32_t>(raw_) >> 2; }
  [[nodiscard]] constexpr uint32_t index() const { return (raw_ >> 2) - 1; }
  [[nodiscard]] constexpr uint32_t raw() const { return raw_; }
  friend constexpr auto operator<=>(const ExprId&, const ExprId&) = default;

 private:
  explicit constexpr ExprId(uint32_t raw) : raw_(raw) {}
  uint32_t raw_ = 0;
};

struct ExprNode {
  ExprKind kind;
  uint8_t code = 0;
  uint8_t depth = 1;         // levels of the tree: 1 for a leaf, else 1 + that of the deepest child
  bool uses_values = false;  // a `%value` occurs in it
  uint32_t first_child = 0;
  uint32_t children = 0;
  uint64_t payload = 0;
};

class ExprPool {
 public:
  static constexpr uint32_t kMaxValues = 1u << 28;
  static constexpr int kMaxDepth = 128;        // levels of a tree; readers refuse more
  static constexpr uint32_t kMaxItems = 4096;  // of one list or call; readers refuse more

  StringPool& strings() { return strings_; }
  [[nodiscard]] const StringPool& strings() const { return strings_; }

  ExprId Int(int64_t value) {
    return ExprId::FitsSmall(value) ? ExprId::Small(value)
                                    : Intern(ExprKind::kInt, 0, static_cast<uint64_t>(value), {});
  }
  ExprId Float(double value);
  ExprId Bool(bool value) { return Intern(ExprKind::kBool, 0, value ? 1 : 0, {}); }
  ExprId Type(DType type) { return Intern(ExprKind::kDType, 0, DTypeCode(type), {}); }
  ExprId String(std::string_view text) {
    return Intern(ExprKind::kString, 0, strings_.Intern(text), {});
  }
  ExprId Name(std::string_view text) {
    return Intern(ExprKind::kName, 0, strings_.Intern(text), {});
  }
  ExprId Unary(UnaryOp op, ExprId a) {
    return Intern(ExprKind::kUnary, static_cast<uint8_t>(op), 0, {&a, 1});
  }
  ExprId Binary(BinaryOp op, ExprId a, ExprId b) {
    const ExprId children[] = {a, b};
    return Intern(ExprKind::kBinary, static_cast<uint8_t>(op), 0, children);
  }
  ExprId Call(Func f, std::span<const ExprId> arguments) {
    return Intern(ExprKind::kCall, static_cast<uint8_t>(f), 0, arguments);
  }
  ExprId Keyword(std::string_view name, ExprId value) {
    return Intern(ExprKind::kKeyword, 0, strings_.Intern(name), {&value, 1});
  }
  ExprId List(std::span<const ExprId> items) { return Intern(ExprKind::kList, 0, 0, items); }
  // The general form: finds the node or adds it.
  ExprId Intern(ExprKind kind, uint8_t code, uint64_t payload, std::span<const ExprId> children);

  [[nodiscard]] ExprKind kind(ExprId id) const {
    if (id.is_value()) return ExprKind::kValue;
    if (id.is_small()) return ExprKind::kInt;
    return id.none() ? ExprKind::kNone : nodes_[id.index()].kind;
  }
  [[nodiscard]] int Depth(ExprId id) const { return id.is_node() ? nodes_[id.index()].depth : 1; }
  // Only for ids with is_node().
  [[nodiscard]] const ExprNode& node(ExprId id) const { return nodes_[id.index()]; }
  [[nodiscard]] std::span<const ExprId> children(ExprId id) const {
    if (!id.is_node()) return {};
    const ExprNode& n = nodes_[id.index()];
    return {children_.data() + n.first_child, n.children};
  }
  [[nodiscard]] std::optional<int64_t> AsInt(ExprId id) const;
  [[nodiscard]] std::optional<double> AsFloat(ExprId id) const;  // floats only
  [[nodiscard]] std::optional<bool> AsBool(ExprId id) const;
  [[nodiscard]] std::optional<DType> AsDType(ExprId id) const;
  [[nodiscard]] std::string_view Text(ExprId id) const {  // of kString, kName, kFragment, kKeyword
    return strings_[static_cast<StringId>(nodes_[id.index()].payload)];
  }
  [[nodiscard]] size_t size() const { return nodes_.size(); }
  // True when a `%value` occurs in it.
  [[nodiscard]] bool UsesValues(ExprId id) const {
    return id.is_value() || (id.is_node() && nodes_[id.index()].uses_values);
  }

 private:
  StringPool strings_;
  std::vector<ExprNode> nodes_;
  std::vector<ExprId> children_;
  HashIndex index_;
};

// Names the values (`%x`) of an expression when it is printed.
class ValueNames {
 public:
  virtual ~ValueNames() = default;
  [[nodiscard]] virtual std::string_view ValueName(uint32_t value) const = 0;
};

// Appends the text of an expression: minimal parentheses, one blank around binary operators.
// Parsing it makes the same expression. `names` may be null when there are no values.
void Print(const ExprPool& pool, ExprId id, const ValueNames* names, std::string& out);
std::string ToString(const ExprPool& pool, ExprId id, const ValueNames* names = nullptr);
// The shortest text that reads back as the same double, always with a '.', an exponent, or a name.
std::string FloatToString(double value);
// A quoted string with escapes.
std::string Quote(std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_EXPR_H_
