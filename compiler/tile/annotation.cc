#include "compiler/tile/annotation.h"

#include <cstdint>
#include <string>
#include <vector>

#include "layout/text/expr_parser.h"

namespace tarsia::compiler::tile {
namespace {

ExprId Parsed(const std::string& text, ExprPool& pool) {
  const Result<ExprId> parsed = ParseExpression(text, pool);
  return parsed.ok() ? *parsed : ExprId();
}

}  // namespace

void AnnotateLayout(const ConcreteType& type, ExprPool& pool, TypeExpr& annotation) {
  std::vector<ExprId> extents;
  for (const int64_t extent : type.shape) extents.push_back(pool.Int(extent));
  annotation.shape = pool.List(extents);
  if (type.reg_layout) annotation.layout = Parsed(ToString(*type.reg_layout), pool);
  if (type.bit_layout) annotation.bits = Parsed(ToString(*type.bit_layout), pool);
  if (IsMemoryTile(type)) annotation.layout = Parsed(ToString(type.mem_layout), pool);
}

TypeExpr AnnotationOf(const ConcreteType& type, ExprPool& pool) {
  TypeExpr out;
  out.dtype = pool.Type(type.dtype);
  if (type.kind == ValueKind::kScalar) return out;
  if (IsMemoryTile(type)) out.space = type.space;
  AnnotateLayout(type, pool, out);
  return out;
}

}  // namespace tarsia::compiler::tile
