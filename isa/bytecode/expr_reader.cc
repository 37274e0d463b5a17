#include "isa/bytecode/expr_reader.h"

#include <cstring>

#include "isa/bytecode/format.h"
#include "isa/names.h"

namespace tarsia::bytecode {
namespace {

constexpr uint8_t Code(UnaryOp op) { return static_cast<uint8_t>(op); }

}  // namespace

// ---- strings -----------------------------------------------------------------------------

bool ExprReader::ReadStrings() {
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
  return true;
}

bool ExprReader::NextString(StringId id) {
  if (id >= names_.size()) return in_.Fail(diag::kBytecodeReference, "string", id);
  if (id != next_string_) return in_.Fail(diag::kBytecodeOrder, "strings");
  ++next_string_;
  return true;
}

bool ExprReader::CheckName(StringId id, NameUse use) {
  const std::string_view name = texts_[id];
  bool fits = false;
  std::string_view thing;
  switch (use) {
    case kKernelName:
      fits = IsPlainName(name);
      thing = "a kernel or a graph";
      break;
    case kConstantName:
      fits = IsPlainName(name) && ReservedAs(name).empty();
      thing = "a constant";
      break;
    case kGraphConstantName:
      fits = IsPlainName(name) && ReservedInGraphs(name).empty();
      thing = "a constant of a graph";
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

std::string ExprReader::Shown(std::string_view name) {
  std::string quoted = Quote(name.substr(0, 40));
  return quoted.substr(1, quoted.size() - 2);
}

// ---- types -------------------------------------------------------------------------------

bool ExprReader::ReadTypes() {
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

bool ExprReader::ReadType(TypeExpr& type) {
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

bool ExprReader::Type(TypeId& out) {
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

bool ExprReader::Expr(ExprId& out, ExprUse use, int depth) {
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

bool ExprReader::Node(uint32_t tag, ExprId& out, ExprUse use, int depth) {
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

ExprId ExprReader::Bool(bool value) {
  ExprId& id = bools_[value ? 1 : 0];
  if (id.none()) id = module_.pool.Bool(value);
  return id;
}

bool ExprReader::Leaf(ExprKind kind, uint64_t payload, ExprId& out) {
  out = module_.pool.Intern(kind, 0, payload, {});
  return true;
}

bool ExprReader::Int(ExprId& out) {
  uint64_t zigzag = 0;
  if (!in_.U64(zigzag)) return false;
  const int64_t value = UnZigZag(zigzag);
  if (ExprId::FitsSmall(value)) return in_.Fail(diag::kBytecodeInteger);
  out = module_.pool.Int(value);
  return true;
}

bool ExprReader::Float(ExprId& out) {
  uint64_t raw = 0;
  if (!in_.Fixed(raw)) return false;
  double value;
  std::memcpy(&value, &raw, sizeof value);
  out = module_.pool.Float(value);
  return module_.pool.node(out).payload == raw ||
         in_.Fail(diag::kBytecodeForm, "a NaN is not the one that stands for all");
}

bool ExprReader::DTypeNode(ExprId& out) {
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

bool ExprReader::Items(uint32_t& count) {
  if (!in_.Count(count, 1, "items")) return false;
  return count <= ExprPool::kMaxItems || in_.Fail(diag::kBytecodeCount, count, "items", in_.left());
}

bool ExprReader::Call(int depth, ExprId& out) {
  uint8_t func = 0;
  uint32_t count = 0;
  if (!in_.U8(func)) return false;
  if (func >= Functions().size()) return in_.Fail(diag::kBytecodeCode, +func, "function");
  return Items(count) && Children(ExprKind::kCall, func, 0, count, depth, out);
}

bool ExprReader::Children(ExprKind kind, uint8_t code, uint64_t payload, uint32_t count, int depth,
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

bool ExprReader::CheckAllUsed() {
  if (next_string_ != names_.size()) return in_.Fail(diag::kBytecodeOrder, "strings");
  return next_type_ + 1 == type_values_.size() || in_.Fail(diag::kBytecodeOrder, "types");
}

}  // namespace tarsia::bytecode
