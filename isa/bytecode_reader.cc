// Bytecode to module; see isa/bytecode_format.h and docs/bytecode.md.
//
// What the reader accepts is what the writer writes, byte for byte, and what the text can say: the
// rules of the parser (names, scopes, the kinds of arguments, limits) hold here too, while whether
// a module means something is left to the validator, as it is for text.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "isa/bytecode.h"
#include "isa/bytecode_cursor.h"
#include "isa/bytecode_format.h"
#include "isa/limits.h"
#include "isa/names.h"

namespace tarsia {
namespace bytecode {

bool Cursor::SlowLeb(uint64_t& out, uint64_t most) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    uint8_t byte = 0;
    if (!U8(byte)) return false;
    const uint64_t bits = byte & 0x7F;
    const bool fits = shift < 64 && bits << shift >> shift == bits;
    if (!fits || (byte == 0 && shift != 0)) return Fail(diag::kBytecodeInteger);
    value |= bits << shift;
    if (byte < 0x80) break;
  }
  if (value > most) return Fail(diag::kBytecodeInteger);
  out = value;
  return true;
}

}  // namespace bytecode

namespace {

using namespace bytecode;  // NOLINT: the format's numbers are what this file is about

// What a slot of an instruction must be for the text to say it.
enum class SlotForm : uint8_t { kValue, kList, kText, kAny };

// A row of isa.def, as far as the reader needs it.
struct Plan {
  Opcode opcode{};
  uint8_t results = 0;
  uint8_t slots = 0;
  uint8_t attrs = 0;
  uint8_t since = 0;
  bool known = false;
  bool optional_last = false;
  bool opens_block = false;
  bool is_if = false;
  bool is_for = false;
  std::array<SlotForm, 2 * kMaxOperands> forms{};
  std::array<AttrKind, kMaxAttrs> attr_kinds{};
};

void AddSlots(OperandKind kind, Plan& plan) {
  const auto add = [&](SlotForm form) { plan.forms[plan.slots++] = form; };
  plan.optional_last = false;
  switch (kind) {
    case OperandKind::kOptionalTile:
      plan.optional_last = true;
      [[fallthrough]];
    case OperandKind::kTile:
    case OperandKind::kMemoryTile:
    case OperandKind::kSource:
      return add(SlotForm::kValue);
    case OperandKind::kElement:
      add(SlotForm::kValue);
      return add(SlotForm::kList);
    case OperandKind::kText:
      return add(SlotForm::kText);
    case OperandKind::kTileOrExpr:
    case OperandKind::kExpr:
    case OperandKind::kIndex:
    case OperandKind::kCondition:
    case OperandKind::kConstant:
      return add(SlotForm::kAny);
  }
}

using Plans = std::array<Plan, 256>;  // by code

const Plans& AllPlans() {
  static const Plans plans = [] {
    Plans out;
    for (const InstRow& row : AllInstructions()) {
      Plan& plan = out[row.code];
      plan.opcode = row.opcode;
      plan.known = true;
      plan.since = row.since;
      plan.results = static_cast<uint8_t>(row.results.size());
      for (const OperandRow& operand : row.operands) AddSlots(operand.kind, plan);
      plan.attrs = static_cast<uint8_t>(row.attrs.size());
      for (size_t i = 0; i < row.attrs.size(); ++i) plan.attr_kinds[i] = Row(row.attrs[i]).kind;
      plan.opens_block = row.Has(kOpensBlock);
      plan.is_if = row.opcode == Opcode::kIf;
      plan.is_for = row.opcode == Opcode::kFor;
    }
    return out;
  }();
  return plans;
}

class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, std::string name) : bytes_(bytes), plans_(AllPlans()) {
    module_.source_name = std::move(name);
    in_ = Cursor(bytes.data(), bytes, "the header");
  }

  Result<Module> Read() {
    if (!ReadFile()) return *in_.error();
    return std::move(module_);
  }

 private:
  // ---- the file ----------------------------------------------------------------------------

  bool ReadFile() {
    if (bytes_.size() > kMaxBytes) {
      return in_.Fail(diag::kBytecodeTooLong, bytes_.size(), +kMaxBytes);
    }
    if (!ReadHeader() || !ReadSections()) return false;
    return version_ == lowest_ || in_.Fail(diag::kBytecodeOlder, version_.major, version_.minor,
                                           lowest_.major, lowest_.minor);
  }

  bool ReadHeader() {
    const size_t shared = std::min(bytes_.size(), kMagic.size());
    if (!std::equal(kMagic.begin(), kMagic.begin() + static_cast<std::ptrdiff_t>(shared),
                    bytes_.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; })) {
      return in_.Fail(diag::kBytecodeMagic);
    }
    std::string_view magic;
    uint32_t zero = 0;
    uint64_t length = 0;
    uint64_t checksum = 0;
    if (!in_.Bytes(kMagic.size(), magic) || !in_.Fixed(version_.major) ||
        !in_.Fixed(version_.minor)) {
      return false;
    }
    if (version_ > kBytecodeVersion) {
      return in_.Fail(diag::kBytecodeNewer, version_.major, version_.minor, +kBytecodeVersion.major,
                      +kBytecodeVersion.minor);
    }
    if (!in_.Fixed(zero) || !in_.Fixed(length) || !in_.Fixed(checksum)) return false;
    if (zero != 0) return in_.Fail(diag::kBytecodeForm, "padding is not zero");
    if (length != bytes_.size()) {
      return in_.Fail(diag::kBytecodeLength, length, bytes_.size());
    }
    const auto rest = bytes_.subspan(kHeaderBytes);
    const uint64_t actual = XXH3_64bits(rest.data(), rest.size());
    return checksum == actual || in_.Fail(diag::kBytecodeChecksum, checksum, actual);
  }

  bool ReadSections() {
    in_.Within("the sections");
    uint32_t known = 0;  // the number of the last known section, which is also their count
    while (in_.left() != 0) {
      uint32_t id = 0;
      uint32_t flags = 0;
      uint64_t length = 0;
      if (!in_.Fixed(id) || !in_.Fixed(flags) || !in_.Fixed(length)) return false;
      const uint32_t alignment = flags >> kAlignmentShift & 0xFF;
      if (alignment < kMinAlignment || alignment > kMaxAlignment) {
        return in_.Fail(diag::kBytecodeSection, id, "its alignment is not from 8 to 4096 bytes");
      }
      if (!in_.Padding(size_t{1} << alignment)) return false;
      if (length > in_.left()) {
        return in_.Fail(diag::kBytecodeSection, id, "it is longer than the file");
      }
      const uint8_t* const file_end = in_.Limit(static_cast<size_t>(length));
      if (id >= kStrings && id <= kDebug) {
        if (id != known + 1) return in_.Fail(diag::kBytecodeSection, id, "it is not in its place");
        if (flags != (id == kDebug ? kPlainFlags | kSkippable : kPlainFlags)) {
          return in_.Fail(diag::kBytecodeSection, id, "its flags are wrong");
        }
        known = id;
        if (!ReadKnown(id)) return false;
      } else if (!ReadOpaque(id, flags, known)) {
        return false;
      }
      in_.Unlimit(file_end);
      in_.Within("the sections");
      if (!in_.Padding(8)) return false;
    }
    return known >= kKernels || in_.Fail(diag::kBytecodeSection, known + 1, "it is missing");
  }

  bool ReadKnown(uint32_t id) {
    static constexpr std::string_view kNames[] = {"", "the strings", "the types", "the kernels",
                                                  "the debug locations"};
    in_.Within(kNames[id]);
    switch (id) {
      case kStrings:
        return ReadStrings() && in_.AtEnd(kNames[id]);
      case kTypes:
        return ReadTypes() && in_.AtEnd(kNames[id]);
      case kKernels:
        return ReadKernels() && in_.AtEnd(kNames[id]);
      case kDebug:
        return ReadDebug() && in_.AtEnd(kNames[id]);
    }
    return false;
  }

  bool ReadOpaque(uint32_t id, uint32_t flags, uint32_t known) {
    if (id == 0 || (flags & kSkippable) == 0) {
      return in_.Fail(diag::kBytecodeSection, id, "it is not known, and cannot be skipped");
    }
    std::string_view bytes;
    if (!in_.Bytes(in_.left(), bytes)) return false;
    module_.opaque.push_back({id, flags, std::string(bytes), known});
    return true;
  }

  // ---- strings -----------------------------------------------------------------------------

  bool ReadStrings() {
    uint32_t count = 0;
    if (!in_.Count(count, 1, "strings")) return false;
    StringPool& pool = module_.pool.strings();
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t size = 0;
      std::string_view text;
      if (!in_.U32(size) || !in_.Bytes(size, text)) return false;
      if (pool.Intern(text) != i) return in_.Fail(diag::kBytecodeOrder, "strings");
      texts_.push_back(pool[i]);
    }
    name_terms_.assign(count, ExprId());
    names_.assign(count, 0);
    bound_.assign(count, 0);
    kernel_names_.assign(count, 0);
    return true;
  }

  // A reference: to a string that was used before, or to the next one.
  bool String(StringId& out) {
    if (!in_.U32(out)) return false;
    if (out < next_string_) [[likely]]
      return true;
    if (out >= names_.size()) return in_.Fail(diag::kBytecodeReference, "string", out);
    if (out != next_string_) return in_.Fail(diag::kBytecodeOrder, "strings");
    ++next_string_;
    return true;
  }

  // What a string has been found fit to name, one bit each.
  enum NameUse : uint8_t {
    kKernelName,
    kConstantName,
    kValueName,
    kTermName,
    kFragmentName,
    kKeywordName
  };

  bool Name(StringId& out, NameUse use) {
    if (!String(out)) return false;
    return (names_[out] >> use & 1) != 0 || CheckName(out, use);
  }

  [[gnu::noinline]] bool CheckName(StringId id, NameUse use) {
    const std::string_view name = texts_[id];
    bool fits = false;
    std::string_view thing;
    switch (use) {
      case kKernelName:
        fits = IsPlainName(name);
        thing = "a kernel";
        break;
      case kConstantName:
        fits = IsPlainName(name) && ReservedAs(name).empty();
        thing = "a constant";
        break;
      case kValueName:
        fits = IsDottedName(name);
        thing = "a value";
        break;
      case kTermName:
        fits = IsExpressionName(name);
        thing = "a term";
        break;
      case kFragmentName:
        fits = IsDottedName(name) && !IsPlainName(name);
        thing = "a fragment";
        break;
      case kKeywordName:
        fits = IsDottedName(name);
        thing = "an argument";
        break;
    }
    if (!fits) return in_.Fail(diag::kBytecodeName, Shown(name), thing);
    names_[id] = static_cast<uint8_t>(names_[id] | 1u << use);
    return true;
  }

  static std::string Shown(std::string_view name) {
    std::string quoted = Quote(name.substr(0, 40));
    return quoted.substr(1, quoted.size() - 2);
  }

  // ---- types -------------------------------------------------------------------------------

  bool ReadTypes() {
    uint32_t count = 0;
    if (!in_.Count(count, 2, "types")) return false;
    type_values_.reserve(count + 1);
    type_values_.push_back(0);
    collecting_ = true;
    for (uint32_t i = 0; i < count; ++i) {
      TypeExpr type;
      if (!ReadType(type)) return false;
      if (module_.Intern(type) != i + 1) return in_.Fail(diag::kBytecodeOrder, "types");
      type_values_.push_back(static_cast<uint32_t>(collected_.size()));
    }
    collecting_ = false;
    return true;
  }

  bool ReadType(TypeExpr& type) {
    uint8_t parts = 0;
    if (!in_.U8(parts)) return false;
    const bool has_dtype = (parts & kHasDType) != 0;
    const bool has_shape = (parts & kHasShape) != 0;
    type.space = static_cast<Space>(parts & kSpaceMask);
    if (parts > 0x3F || (type.space != Space::kNone && !has_dtype) || (!has_dtype && !has_shape) ||
        (!has_shape && (parts & (kHasLayout | kHasBits)) != 0)) {
      return in_.Fail(diag::kBytecodeForm, "a type of these parts cannot be");
    }
    if (has_dtype && !Expr(type.dtype)) return false;
    if (has_shape) {
      if (!Expr(type.shape)) return false;
      if (module_.pool.kind(type.shape) != ExprKind::kList) {
        return in_.Fail(diag::kBytecodeForm, "the shape of a type is not a list");
      }
    }
    return ((parts & kHasLayout) == 0 || Expr(type.layout)) &&
           ((parts & kHasBits) == 0 || Expr(type.bits));
  }

  // A reference to a type that was used before or the next one; its values must be visible here.
  bool Type(TypeId& out) {
    uint32_t index = 0;
    if (!in_.U32(index)) return false;
    if (index >= next_type_) [[unlikely]] {
      if (index + 1 >= type_values_.size()) {
        return in_.Fail(diag::kBytecodeReference, "type", index);
      }
      if (index != next_type_) return in_.Fail(diag::kBytecodeOrder, "types");
      ++next_type_;
    }
    for (uint32_t i = type_values_[index]; i < type_values_[index + 1]; ++i) {
      if (!CheckVisible(collected_[i])) return false;
    }
    out = index + 1;
    return true;
  }

  // ---- expressions -------------------------------------------------------------------------

  enum ExprUse : uint8_t { kPlainExpr, kOptionalExpr, kArgument };

  bool CheckVisible(uint32_t value) {
    if (value < visible_.size() && visible_[value] != 0) [[likely]]
      return true;
    return in_.Fail(diag::kBytecodeReference, "value", value);
  }

  bool Expr(ExprId& out, ExprUse use = kPlainExpr, int depth = 1) {
    uint32_t head = 0;
    if (!in_.U32(head)) return false;
    const uint32_t rest = head >> 2;
    switch (head & 3) {
      case kValueHead:
        out = ExprId::Value(rest);
        if (collecting_) [[unlikely]] {
          if (rest >= ExprPool::kMaxValues) {
            return in_.Fail(diag::kBytecodeReference, "value", rest);
          }
          collected_.push_back(rest);
        } else if (!CheckVisible(rest)) {
          return false;
        }
        break;
      case kSmallHead:
        out = ExprId::Small(UnZigZag(rest));
        break;
      case kNodeHead:
        if (!Node(rest, out, use, depth)) return false;
        break;
      default:
        return in_.Fail(diag::kBytecodeCode, head, "expression");
    }
    if (depth > ExprPool::kMaxDepth) {
      return in_.Fail(diag::kBytecodeDepth, "expressions", +ExprPool::kMaxDepth);
    }
    return true;
  }

  bool Node(uint32_t tag, ExprId& out, ExprUse use, int depth) {
    StringId text = 0;
    switch (tag) {
      case kNoneTag:
        out = ExprId();
        return use == kOptionalExpr || in_.Fail(diag::kBytecodeForm, "an expression is missing");
      case kIntTag:
        return Int(out);
      case kFloatTag:
        return Float(out);
      case kFalseTag:
      case kTrueTag:
        out = Bool(tag == kTrueTag);
        return true;
      case kDTypeTag:
        return DTypeNode(out);
      case kStringTag:
        return String(text) && Leaf(ExprKind::kString, text, out);
      case kNameTag:
        if (!Name(text, kTermName)) return false;
        if (name_terms_[text].none()) name_terms_[text] = module_.pool.Name(texts_[text]);
        out = name_terms_[text];
        return true;
      case kFragmentTag:
        return Name(text, kFragmentName) && Leaf(ExprKind::kFragment, text, out);
      case kNegateTag:
        return Children(ExprKind::kUnary, Code(UnaryOp::kNegate), 0, 1, depth, out);
      case kNotTag:
        return Children(ExprKind::kUnary, Code(UnaryOp::kNot), 0, 1, depth, out);
      case kCallTag:
        return Call(depth, out);
      case kKeywordTag:
        if (use != kArgument)
          return in_.Fail(diag::kBytecodeForm, "a keyword stands outside of a call");
        return Name(text, kKeywordName) && Children(ExprKind::kKeyword, 0, text, 1, depth, out);
      case kReplicateTag:
        return Children(ExprKind::kReplicate, 0, 0, 1, depth, out);
      case kListTag: {
        uint32_t count = 0;
        return Items(count) && Children(ExprKind::kList, 0, 0, count, depth, out);
      }
      default:
        break;
    }
    if (tag < kBinaryTag || tag >= kTagEnd) return in_.Fail(diag::kBytecodeCode, tag, "expression");
    return Children(ExprKind::kBinary, static_cast<uint8_t>(tag - kBinaryTag), 0, 2, depth, out);
  }

  ExprId Bool(bool value) {
    ExprId& id = bools_[value ? 1 : 0];
    if (id.none()) id = module_.pool.Bool(value);
    return id;
  }

  static constexpr uint8_t Code(UnaryOp op) { return static_cast<uint8_t>(op); }

  bool Leaf(ExprKind kind, uint64_t payload, ExprId& out) {
    out = module_.pool.Intern(kind, 0, payload, {});
    return true;
  }

  bool Int(ExprId& out) {
    uint64_t zigzag = 0;
    if (!in_.U64(zigzag)) return false;
    const int64_t value = UnZigZag(zigzag);
    if (ExprId::FitsSmall(value)) return in_.Fail(diag::kBytecodeInteger);
    out = module_.pool.Int(value);
    return true;
  }

  bool Float(ExprId& out) {
    uint64_t raw = 0;
    if (!in_.Fixed(raw)) return false;
    double value;
    std::memcpy(&value, &raw, sizeof value);
    out = module_.pool.Float(value);
    return module_.pool.node(out).payload == raw ||
           in_.Fail(diag::kBytecodeForm, "a NaN is not the one that stands for all");
  }

  bool DTypeNode(ExprId& out) {
    uint8_t code = 0;
    if (!in_.U8(code)) return false;
    if (dtypes_[code].none()) {
      const auto type = DTypeFromCode(code);
      if (!type) return in_.Fail(diag::kBytecodeCode, +code, "type");
      dtypes_[code] = module_.pool.Type(*type);
    }
    out = dtypes_[code];
    return true;
  }

  bool Items(uint32_t& count) {
    if (!in_.Count(count, 1, "items")) return false;
    return count <= ExprPool::kMaxItems ||
           in_.Fail(diag::kBytecodeCount, count, "items", in_.left());
  }

  bool Call(int depth, ExprId& out) {
    uint8_t func = 0;
    uint32_t count = 0;
    if (!in_.U8(func)) return false;
    if (func >= Functions().size()) return in_.Fail(diag::kBytecodeCode, +func, "function");
    return Items(count) && Children(ExprKind::kCall, func, 0, count, depth, out);
  }

  bool Children(ExprKind kind, uint8_t code, uint64_t payload, uint32_t count, int depth,
                ExprId& out) {
    if (depth > ExprPool::kMaxDepth) {
      return in_.Fail(diag::kBytecodeDepth, "expressions", +ExprPool::kMaxDepth);
    }
    const ExprUse use = kind == ExprKind::kCall ? kArgument : kPlainExpr;
    const size_t base = items_.size();
    for (uint32_t i = 0; i < count; ++i) {
      ExprId child;
      if (!Expr(child, use, depth + 1)) return false;
      items_.push_back(child);
    }
    out = module_.pool.Intern(kind, code, payload, {items_.data() + base, count});
    items_.resize(base);
    return true;
  }

  // ---- kernels -----------------------------------------------------------------------------

  bool ReadKernels() {
    constexpr size_t kLeastKernel = 12;  // bytes of the shortest
    uint32_t count = 0;
    if (!in_.Count(count, kLeastKernel, "kernels")) return false;
    module_.kernels.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      kernel_ = &module_.kernels.emplace_back();
      if (!ReadKernelHead() || !ReadBody()) return false;
      LeaveScope(0);
      visible_.clear();
    }
    if (next_string_ != names_.size()) return in_.Fail(diag::kBytecodeOrder, "strings");
    return next_type_ + 1 == type_values_.size() || in_.Fail(diag::kBytecodeOrder, "types");
  }

  bool ReadKernelHead() {
    kernel_->location = Here();
    if (!Name(kernel_->name, kKernelName)) return false;
    if (kernel_names_[kernel_->name]++ != 0) return Repeated("kernel", kernel_->name);
    uint8_t fast = 0;
    if (!in_.U8(fast)) return false;
    if (fast > 1) return in_.Fail(diag::kBytecodeForm, "a flag is neither 0 nor 1");
    kernel_->fast = fast != 0;
    return ReadParameters() && ReadConstants() && ReadRequires() && ReadAssumes() && ReadGrid();
  }

  [[nodiscard]] Location Here() const { return Location::AtByte(in_.offset()); }

  bool Repeated(std::string_view thing, StringId name) {
    return in_.Fail(diag::kBytecodeRepeated, thing, Shown(texts_[name]));
  }

  bool ReadParameters() {
    uint32_t count = 0;
    if (!in_.Count(count, 3, "parameters")) return false;
    kernel_->params.resize(count);
    for (Parameter& param : kernel_->params) {
      uint8_t pointer = 0;
      param.location = Here();
      if (!in_.U8(pointer)) return false;
      if (pointer > 1) return in_.Fail(diag::kBytecodeForm, "a flag is neither 0 nor 1");
      param.is_pointer = pointer != 0;
      StringId name = 0;
      if (!Expr(param.dtype) || !Name(name, kValueName) || !NewValue(name)) return false;
    }
    return true;
  }

  bool ReadConstants() {
    uint32_t count = 0;
    if (!in_.Count(count, 4, "constants")) return false;
    kernel_->constants.resize(count);
    for (Constant& constant : kernel_->constants) {
      uint8_t kind = 0;
      constant.location = Here();
      if (!Name(constant.name, kConstantName) || !in_.U8(kind)) return false;
      if (kind >= std::size(kConstKindNames)) {
        return in_.Fail(diag::kBytecodeCode, +kind, "kind of constant");
      }
      constant.kind = static_cast<ConstKind>(kind);
      if (!Expr(constant.default_value, kOptionalExpr) ||
          !Expr(constant.candidates, kOptionalExpr)) {
        return false;
      }
      const ExprKind candidates = module_.pool.kind(constant.candidates);
      if (candidates != ExprKind::kNone && candidates != ExprKind::kList) {
        return in_.Fail(diag::kBytecodeForm, "the candidates of a constant are not a list");
      }
    }
    return ConstantsDiffer();
  }

  bool ConstantsDiffer() {
    std::vector<StringId> names;
    names.reserve(kernel_->constants.size());
    for (const Constant& constant : kernel_->constants) names.push_back(constant.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    return twice == names.end() || Repeated("constant", *twice);
  }

  bool ReadRequires() {
    uint32_t count = 0;
    if (!in_.Count(count, 2, "requirements")) return false;
    kernel_->requires_.resize(count);
    for (Require& require : kernel_->requires_) {
      require.location = Here();
      if (!Expr(require.condition) || !String(require.message)) return false;
    }
    return true;
  }

  bool ReadAssumes() {
    uint32_t count = 0;
    if (!in_.Count(count, 2, "assumptions")) return false;
    kernel_->assumes.resize(count);
    for (Assume& assume : kernel_->assumes) {
      assume.location = Here();
      if (!Expr(assume.condition) || !Expr(assume.alignment, kOptionalExpr)) return false;
    }
    return true;
  }

  bool ReadGrid() {
    uint32_t count = 0;
    kernel_->grid_location = kernel_->warps_location = Here();
    if (!in_.Count(count, 1, "dimensions")) return false;
    if (count > 3) return in_.Fail(diag::kBytecodeForm, "a grid has more than 3 dimensions");
    for (uint32_t i = 0; i < count; ++i) {
      if (!Expr(kernel_->grid[i])) return false;
    }
    return Expr(kernel_->warps, kOptionalExpr);
  }

  // ---- values and scopes -------------------------------------------------------------------

  bool NewValue(StringId name) {
    if (bound_[name] != 0) return Repeated("value", name);
    kernel_->value_names.push_back(texts_[name]);
    kernel_->value_name_ids.push_back(name);
    visible_.push_back(1);
    const auto value = static_cast<uint32_t>(kernel_->value_names.size());
    bound_[name] = value;
    scope_.push_back(value - 1);
    return true;
  }

  void LeaveScope(size_t size) {
    while (scope_.size() > size) {
      const uint32_t value = scope_.back();
      bound_[kernel_->value_name_ids[value]] = 0;
      visible_[value] = 0;
      scope_.pop_back();
    }
  }

  // ---- body --------------------------------------------------------------------------------

  bool ReadBody() {
    uint32_t length = 0;
    if (!in_.Count(length, 1, "bytes of a body")) return false;
    const uint8_t* const section_end = in_.Limit(length);
    uint32_t values = 0;
    uint32_t insts = 0;
    uint32_t args = 0;
    const size_t params = kernel_->params.size();
    if (!in_.U32(values) || !in_.Count(insts, 2, "instructions") || !in_.U32(args)) return false;
    if (values < params || values - params > in_.left() / 2) {
      return in_.Fail(diag::kBytecodeCount, values, "values", in_.left());
    }
    // Only flags that are set take no byte, and an instruction of two bytes has at most four.
    if (args > in_.left() * 2) return in_.Fail(diag::kBytecodeCount, args, "arguments", in_.left());
    kernel_->code.reserve(insts);
    kernel_->args.reserve(args);
    kernel_->locations.reserve(insts);
    kernel_->value_names.reserve(values);
    kernel_->value_name_ids.reserve(values);
    blocks_.clear();
    blocks_.push_back({insts, 0, scope_.size()});
    for (uint32_t i = 0; i < insts; ++i) {
      while (blocks_.back().end == i && blocks_.size() > 1) LeaveBlock();
      if (!ReadInst(i)) return false;
    }
    if (kernel_->value_names.size() != values || kernel_->args.size() != args) {
      return in_.Fail(diag::kBytecodeForm, "a count of values or arguments is wrong");
    }
    if (!in_.AtEnd("the instructions")) return false;
    in_.Unlimit(section_end);
    return true;
  }

  struct Block {
    uint32_t end;  // the first instruction behind it
    int depth;
    size_t scope;  // values that were visible before it
  };

  void LeaveBlock() {
    LeaveScope(blocks_.back().scope);
    blocks_.pop_back();
  }

  bool ReadInst(uint32_t index) {
    kernel_->locations.push_back(Here());
    uint8_t code = 0;
    uint8_t form = 0;
    if (!in_.U8(code) || !in_.U8(form)) return false;
    const Plan& plan = plans_[code];
    if (!plan.known) return in_.Fail(diag::kBytecodeCode, +code, "instruction");
    if (form > 0x7F || (form & kAttrMask) >> plan.attrs != 0 ||
        ((form & kLacksLast) != 0 && !plan.optional_last) ||
        ((form & kHasElse) != 0 && !plan.is_if)) {
      return in_.Fail(diag::kBytecodeForm, "an instruction has flags that it cannot have");
    }
    lowest_.minor = std::max<uint16_t>(lowest_.minor, plan.since);
    Inst& inst = kernel_->code.emplace_back();
    inst.opcode = plan.opcode;
    inst.results = plan.results;
    inst.slots = static_cast<uint8_t>(plan.slots - ((form & kLacksLast) != 0 ? 1 : 0));
    inst.attrs = form & kAttrMask;
    inst.first_arg = static_cast<uint32_t>(kernel_->args.size());
    inst.end = inst.else_begin = index + 1;
    if ((form & kHasType) != 0 && !Type(inst.type)) return false;
    if (plan.opens_block && !ReadExtent(index, form, inst)) return false;
    return ReadArgs(plan, inst);
  }

  bool ReadExtent(uint32_t index, uint8_t form, Inst& inst) {
    uint32_t inside = 0;
    uint32_t before_else = 0;
    if (!in_.U32(inside)) return false;
    if (inside > blocks_.back().end - index - 1) {
      return in_.Fail(diag::kBytecodeForm, "a block ends after its enclosing block");
    }
    inst.end = inst.else_begin = index + 1 + inside;
    if ((form & kHasElse) == 0) return true;
    if (!in_.U32(before_else)) return false;
    if (before_else >= inside) {
      return in_.Fail(diag::kBytecodeForm, "an else block begins after its end");
    }
    inst.else_begin = index + 1 + before_else;
    return true;
  }

  // Operands see what was defined before the instruction, so results are defined after them.
  bool ReadArgs(const Plan& plan, const Inst& inst) {
    struct New {
      bool is_new;
      uint32_t number;  // of the value, or the name of the new one
    } results[kMaxResults];
    for (size_t i = 0; i < plan.results; ++i) {
      uint32_t number = 0;
      if (!in_.U32(number)) return false;
      results[i] = {number == 0, number - 1};
      if (number == 0 && !Name(results[i].number, kValueName)) return false;
      kernel_->args.emplace_back();
    }
    for (size_t i = 0; i < inst.slots; ++i) {
      ExprId slot;
      if (!Expr(slot) || !CheckSlot(plan.forms[i], slot)) return false;
      kernel_->args.push_back(slot);
    }
    for (size_t i = 0; i < plan.attrs; ++i) {
      if ((inst.attrs >> i & 1) != 0 && !ReadAttribute(plan.attr_kinds[i])) return false;
    }
    const size_t outer_scope = scope_.size();
    for (size_t i = 0; i < plan.results; ++i) {
      uint32_t value = results[i].number;
      if (results[i].is_new) {
        if (!NewValue(value)) return false;
        value = static_cast<uint32_t>(kernel_->value_names.size() - 1);
      } else if (plan.is_for) {
        return in_.Fail(diag::kBytecodeForm, "the counter of a loop is not a new value");
      } else if (!CheckVisible(value)) {
        return false;
      }
      kernel_->args[inst.first_arg + i] = ExprId::Value(value);
    }
    return !plan.opens_block || EnterBlock(inst, outer_scope);
  }

  bool EnterBlock(const Inst& inst, size_t outer_scope) {
    const int depth = blocks_.back().depth + 1;
    if (depth > kMaxBlockDepth) return in_.Fail(diag::kBytecodeDepth, "blocks", +kMaxBlockDepth);
    blocks_.push_back({inst.end, depth, outer_scope});
    if (inst.else_begin != inst.end) blocks_.push_back({inst.else_begin, depth, outer_scope});
    return true;
  }

  bool CheckSlot(SlotForm form, ExprId slot) {
    bool fits = true;
    switch (form) {
      case SlotForm::kAny:
        return true;
      case SlotForm::kValue:
        fits = slot.is_value();
        break;
      case SlotForm::kList:
        fits = module_.pool.kind(slot) == ExprKind::kList;
        break;
      case SlotForm::kText:
        fits = module_.pool.kind(slot) == ExprKind::kString;
        break;
    }
    return fits || in_.Fail(diag::kBytecodeForm, "an operand is of the wrong kind");
  }

  bool ReadAttribute(AttrKind kind) {
    ExprId value;
    uint8_t word = 0;
    switch (kind) {
      case AttrKind::kFlag:
        value = Bool(true);
        break;
      case AttrKind::kInt:
        if (!Expr(value)) return false;
        break;
      case AttrKind::kIntList:
        if (!Expr(value) || !CheckSlot(SlotForm::kList, value)) return false;
        break;
      case AttrKind::kRounding:
      case AttrKind::kCache:
        if (!in_.U8(word)) return false;
        if (word >= AttrWords(kind).size()) {
          return in_.Fail(diag::kBytecodeCode, +word, "word of an attribute");
        }
        value = ExprId::Small(word);
        break;
    }
    kernel_->args.push_back(value);
    return true;
  }

  // ---- debug locations ---------------------------------------------------------------------

  bool ReadDebug() {
    uint32_t size = 0;
    std::string_view name;
    if (!in_.U32(size) || !in_.Bytes(size, name)) return false;
    module_.source_name = name;
    bool any = false;
    int64_t line = 0;
    for (Kernel& kernel : module_.kernels) {
      uint8_t instructions = 0;
      if (!in_.U8(instructions)) return false;
      if (instructions > 1) return in_.Fail(diag::kBytecodeForm, "a flag is neither 0 nor 1");
      if (!HeaderLocations(kernel, line, any)) return false;
      if (instructions == 0) continue;
      bool here = false;
      for (Location& location : kernel.locations) {
        if (!ReadLocation(location, line, here)) return false;
      }
      if (!here) return in_.Fail(diag::kBytecodeForm, "no instruction has a location");
      any = true;
    }
    return any || in_.Fail(diag::kBytecodeForm, "the debug section has no location");
  }

  bool HeaderLocations(Kernel& kernel, int64_t& line, bool& any) {
    for (Location* const at : {&kernel.location, &kernel.grid_location, &kernel.warps_location}) {
      if (!ReadLocation(*at, line, any)) return false;
    }
    return LocationsOf(kernel.params, line, any) && LocationsOf(kernel.constants, line, any) &&
           LocationsOf(kernel.requires_, line, any) && LocationsOf(kernel.assumes, line, any);
  }

  template <typename Items>
  bool LocationsOf(Items& items, int64_t& line, bool& any) {
    for (auto& item : items) {
      if (!ReadLocation(item.location, line, any)) return false;
    }
    return true;
  }

  // Leaves the location as it is (the byte offset) where there is none.
  bool ReadLocation(Location& location, int64_t& line, bool& any) {
    uint64_t delta = 0;
    if (!in_.U64(delta)) return false;
    if (delta == 0) return true;
    constexpr uint64_t kMost = uint64_t{1} << 33;
    if (delta > kMost) return in_.Fail(diag::kBytecodeForm, "a line number is out of range");
    line += UnZigZag(delta - 1);
    if (line < 1 || line > UINT32_MAX) {
      return in_.Fail(diag::kBytecodeForm, "a line number is out of range");
    }
    location.line = static_cast<uint32_t>(line);
    any = true;
    return in_.U32(location.column) && in_.U32(location.length);
  }

  std::span<const uint8_t> bytes_;
  const Plans& plans_;
  Cursor in_;
  BytecodeVersion version_;
  BytecodeVersion lowest_{0, 1};  // that can express what was read
  Module module_;
  Kernel* kernel_ = nullptr;

  uint32_t next_string_ = 0;             // strings below it have been used
  std::vector<std::string_view> texts_;  // by string
  std::vector<ExprId> name_terms_;       // by string: it as a name in an expression, once made
  std::vector<uint8_t> names_;           // by string: NameUse bits
  std::vector<uint32_t> bound_;          // by string: 1 + the value that it names here, or 0
  std::vector<uint8_t> kernel_names_;    // by string

  uint32_t next_type_ = 0;             // types below it have been used
  std::vector<uint32_t> collected_;    // the values in types
  std::vector<uint32_t> type_values_;  // by type: where its values begin in collected_
  bool collecting_ = false;

  std::vector<uint8_t> visible_;  // by value of the kernel
  std::vector<uint32_t> scope_;   // the visible ones
  std::vector<Block> blocks_;
  std::vector<ExprId> items_;
  std::array<ExprId, 256> dtypes_;  // by code: the node, once made
  std::array<ExprId, 2> bools_;
};

}  // namespace

Result<Module> Decode(std::span<const uint8_t> bytes, std::string name) {
  return Reader(bytes, std::move(name)).Read();
}

}  // namespace tarsia
