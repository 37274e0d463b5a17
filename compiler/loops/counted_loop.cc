#include "compiler/loops/counted_loop.h"

#include <algorithm>

#include "compiler/facts/facts.h"
#include "isa/fold.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

// Bounds, steps and their products with the turns of a round stay far from the ends of 64 bits.
constexpr int64_t kMostBound = int64_t{1} << 61;
constexpr int64_t kMostStep = int64_t{1} << 32;

Facts RangeOfBinary(BinaryOp op, const Facts& a, const Facts& b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSubtract:
      return a - b;
    case BinaryOp::kMultiply:
      return a * b;
    case BinaryOp::kDivide:
      return Quotient(a, b);
    case BinaryOp::kModulo:
      return Remainder(a, b);
    case BinaryOp::kOr:
    case BinaryOp::kAnd:
    case BinaryOp::kEqual:
    case BinaryOp::kNotEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual:
    case BinaryOp::kGreater:
    case BinaryOp::kGreaterEqual:
      return {};
  }
  return {};
}

Facts RangeOf(const tile::Form& form, ExprId id) {
  const ExprPool& pool = form.pool;
  if (const auto number = pool.AsInt(id)) return Facts::Exactly(*number);
  if (id.is_value()) return Facts::OfType(form.TypeOf(id.value()).dtype);
  const auto children = pool.children(id);
  if (pool.kind(id) == ExprKind::kBinary) {
    return RangeOfBinary(static_cast<BinaryOp>(pool.node(id).code), RangeOf(form, children[0]),
                         RangeOf(form, children[1]));
  }
  if (pool.kind(id) != ExprKind::kCall || children.size() != 2) return {};
  const auto func = static_cast<Func>(pool.node(id).code);
  const Facts a = RangeOf(form, children[0]);
  const Facts b = RangeOf(form, children[1]);
  if (func == Func::kMin) return Smaller(a, b);
  if (func == Func::kMax) return Larger(a, b);
  // Rounded up, it is at most one more than rounded down.
  if (func == Func::kCeildiv) return Quotient(a, b) + Facts::Between(0, 1);
  return {};
}

bool IsWithin(const Facts& x, int64_t lo, int64_t hi) { return x.lo >= lo && x.hi <= hi; }

}  // namespace

std::optional<CountedLoop> Counted(const tile::Form& form, const tile::Operation& loop) {
  if (loop.opcode != Opcode::kFor) return std::nullopt;
  CountedLoop out;
  out.start = loop.operand[0].expr;
  out.stop = loop.operand[1].expr;
  if (loop.operand[2].present()) {
    const auto step = form.pool.AsInt(loop.operand[2].expr);
    if (!step || *step == 0) return std::nullopt;
    out.step = *step;
  }
  const Facts start = RangeOf(form, out.start);
  const Facts stop = RangeOf(form, out.stop);
  if (!IsWithin(start, -kMostBound, kMostBound) || !IsWithin(stop, -kMostBound, kMostBound) ||
      out.step < -kMostStep || out.step > kMostStep) {
    return std::nullopt;
  }
  const Facts type = Facts::OfType(form.TypeOf(form.regions[loop.region[0]].arguments[0]).dtype);
  if (start.IsExact() && stop.IsExact()) {
    const int64_t way = out.step > 0 ? stop.lo - start.lo : start.lo - stop.lo;
    out.turns = way > 0 ? CeilDiv(way, std::abs(out.step)) : 0;
    const Facts last = Facts::Exactly(start.lo + (std::max<int64_t>(*out.turns, 1) - 1) * out.step);
    if (!IsWithin(start, type.lo, type.hi) || !IsWithin(last, type.lo, type.hi)) {
      return std::nullopt;
    }
    return out;
  }
  if (out.step < 0 || start.lo < type.lo || start.hi > type.hi || stop.hi - 1 > type.hi) {
    return std::nullopt;
  }
  return out;
}

std::optional<int64_t> HintOf(const tile::Form& form, const tile::Operation& loop, Attr hint) {
  return form.pool.AsInt(loop.attr[*loop.row().AttrIndex(hint)]);
}

ExprId Plus(ExprPool& pool, ExprId x, int64_t n) {
  if (n == 0) return x;
  if (const auto number = pool.AsInt(x)) return pool.Int(*number + n);
  return n < 0 ? pool.Binary(BinaryOp::kSubtract, x, pool.Int(-n))
               : pool.Binary(BinaryOp::kAdd, x, pool.Int(n));
}

ExprId EndOfRounds(ExprPool& pool, const CountedLoop& loop, int64_t n, int64_t less) {
  const ExprId round = pool.Int(n * loop.step);
  const std::optional<int64_t> start = pool.AsInt(loop.start);
  ExprId way = Plus(pool, loop.stop, -less - start.value_or(0));
  if (!start) way = pool.Binary(BinaryOp::kSubtract, way, loop.start);
  const ExprId division[] = {way, round};
  const ExprId bounded[] = {pool.Int(0), pool.Call(Func::kCeildiv, division)};
  ExprId out = pool.Call(Func::kMax, bounded);
  if (pool.AsInt(round) != 1) out = pool.Binary(BinaryOp::kMultiply, out, round);
  if (start != 0) out = pool.Binary(BinaryOp::kAdd, loop.start, out);
  return Folder(pool).Fold(out);
}

}  // namespace tarsia::compiler
