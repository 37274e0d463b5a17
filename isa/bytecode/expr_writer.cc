#include "isa/bytecode/expr_writer.h"

#include "isa/bytecode/format.h"

namespace tarsia::bytecode {

void ExprWriter::Expr(ExprId id, ByteWriter& out) {
  if (id.is_value()) return out.Leb(uint64_t{id.value()} << 2 | kValueHead);
  if (id.is_small()) return out.Leb(ZigZag(id.small()) << 2 | kSmallHead);
  if (id.none()) return out.U8(kNoneTag << 2);
  Node(pool_.node(id), out);
  for (const ExprId child : pool_.children(id)) Expr(child, out);
}

// Head and payload of a node, without its children.
void ExprWriter::Node(const ExprNode& node, ByteWriter& out) {
  const auto head = [&](uint32_t tag) { out.U8(tag << 2); };
  const auto text = [&](uint32_t tag) {
    head(tag);
    out.Leb(strings_.Of(static_cast<StringId>(node.payload)));
  };
  switch (node.kind) {
    case ExprKind::kNone:
    case ExprKind::kValue:
      return;  // never nodes
    case ExprKind::kInt:
      head(kIntTag);
      return out.Leb(ZigZag(static_cast<int64_t>(node.payload)));
    case ExprKind::kFloat:
      head(kFloatTag);
      return out.Fixed(node.payload);
    case ExprKind::kBool:
      return head(node.payload != 0 ? kTrueTag : kFalseTag);
    case ExprKind::kDType:
      head(kDTypeTag);
      return out.U8(static_cast<uint8_t>(node.payload));
    case ExprKind::kString:
      return text(kStringTag);
    case ExprKind::kName:
      return text(kNameTag);
    case ExprKind::kFragment:
      return text(kFragmentTag);
    case ExprKind::kUnary:
      return head(static_cast<UnaryOp>(node.code) == UnaryOp::kNegate ? kNegateTag : kNotTag);
    case ExprKind::kBinary:
      return head(kBinaryTag + node.code);
    case ExprKind::kCall:
      head(kCallTag);
      out.U8(node.code);
      return out.Leb(node.children);
    case ExprKind::kKeyword:
      return text(kKeywordTag);
    case ExprKind::kReplicate:
      return head(kReplicateTag);
    case ExprKind::kList:
      head(kListTag);
      return out.Leb(node.children);
  }
}

void ExprWriter::Constants(const std::vector<Constant>& constants, ByteWriter& out) {
  out.Leb(constants.size());
  for (const Constant& constant : constants) {
    out.Leb(String(constant.name));
    out.U8(static_cast<uint32_t>(constant.kind));
    Expr(constant.default_value, out);
    Expr(constant.candidates, out);
  }
}

void ExprWriter::Requires(const std::vector<Require>& requirements, ByteWriter& out) {
  out.Leb(requirements.size());
  for (const Require& require : requirements) {
    Expr(require.condition, out);
    out.Leb(String(require.message));
  }
}

std::string ExprWriter::Strings() const {
  ByteWriter out;
  out.Leb(strings_.order().size());
  for (const uint32_t id : strings_.order()) {
    out.Leb(pool_.strings()[id].size());
    out.Bytes(pool_.strings()[id]);
  }
  return out.Take();
}

}  // namespace tarsia::bytecode
