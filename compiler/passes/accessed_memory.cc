#include "compiler/passes/accessed_memory.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/select/access.h"
#include "compiler/select/matrices.h"
#include "layout/checked.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using tile::kNone;
using tile::Operation;

// Deeper expressions have divisor 1.
constexpr int kMostDepth = 16;

void SetModes(AccessedMemory& memory, const MemLayout& layout) {
  const auto rank = Size(layout.rank());
  memory.strides.assign(rank, AccessedMemory::kFar);
  memory.stride_divisors.assign(rank, 1);
  for (int d = layout.rank() - 1; d >= 0; --d) {
    const auto& modes = layout.modes(d);
    if (modes.empty()) {
      // One element: no access steps along it.
      memory.strides[Size(d)] = memory.stride_divisors[Size(d)] = 0;
      continue;
    }
    if (modes.size() == 1) memory.strides[Size(d)] = modes[0].stride;
    int64_t& divisor = memory.stride_divisors[Size(d)];
    divisor = 0;
    for (const MemLayout::Mode& mode : modes) divisor = std::gcd(divisor, mode.stride);
    if (modes.back().stride != 1 || memory.fast >= 0) continue;
    memory.fast = d;
    // A run ends with the inner mode.
    if (modes.size() > 1) {
      int64_t& extent = memory.extents[Size(d)];
      extent = std::gcd(extent, modes.back().extent);
    }
  }
}

// Of a whole tile in shared memory.
std::optional<StridedBytes> PlacesOf(const ConcreteType& type) {
  if (type.space != Space::kShared || type.dtype.bits % 8 != 0) return std::nullopt;
  const auto layout = Apply(type.mem_layout, type.shape, type.dtype);
  if (!layout.ok() || layout->IsPacked()) return std::nullopt;
  StridedBytes out;
  out.swizzles = layout->swizzles();
  for (int d = 0; d < layout->rank(); ++d) {
    out.dims.push_back(layout->modes(d));
    for (MemLayout::Mode& mode : out.dims.back()) mode.stride *= type.dtype.bits / 8;
  }
  return out;
}

}  // namespace

AccessedMemory AccessedMemories::Of(const Operation& op, size_t operand) const {
  AccessedMemory out;
  tile::ValueId value = op.operand[operand].value;
  out.begins.assign(form_.TypeOf(value).shape.size(), 0);
  out.extents = out.begins;
  AddIndices(op.operand[operand].indices, out);
  AddExtents(form_.TypeOf(value), out);
  while (definitions_[value].op != kNone &&
         form_.ops[definitions_[value].op].opcode == Opcode::kSlice) {
    const Operand& source = form_.ops[definitions_[value].op].operand[0];
    AddIndices(source.indices, out);
    value = source.value;
    AddExtents(form_.TypeOf(value), out);
  }
  const ConcreteType& type = form_.TypeOf(value);
  out.space = type.space;
  out.type = type.dtype;
  out.places = PlacesOf(type);
  out.is_load = op.row().operands.items[operand].role == Role::kRead;
  out.takes_matrices = op.opcode == Opcode::kStore && HasMatrixStores(target_);
  if (op.row().Has(kAtomic)) {
    out.together = UpdatedTogether(op.opcode, out.type, out.space, target_);
  }
  switch (type.mem_layout.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
      SetStrides(type, false, out);
      break;
    case MemLayoutFamily::Kind::kColumnMajor:
      SetStrides(type, true, out);
      break;
    case MemLayoutFamily::Kind::kPacked: {
      out.packed = type.mem_layout.tile;
      out.packed_bits = type.mem_layout.bits;
      const auto bits = out.packed_bits.Apply(type.dtype, out.packed->slots());
      out.packed_words = bits.ok() ? bits->words() : 0;
      break;
    }
    case MemLayoutFamily::Kind::kConcrete:
      if (type.mem_layout.concrete.IsPacked()) {
        out.packed = type.mem_layout.concrete.packed().tile;
        const BitLayout& bits = type.mem_layout.concrete.packed().bits;
        out.packed_bits = {bits.order(), {}, {}, bits.compute()};
        out.packed_words = bits.words();
      } else {
        SetModes(out, type.mem_layout.concrete);
      }
      break;
  }
  SetIndexed(op, out);
  return out;
}

// Along the axis of gathered places neighbours do not follow each other in memory.
void AccessedMemories::SetIndexed(const Operation& op, AccessedMemory& memory) const {
  const auto indices = op.row().OperandWith(Role::kIndex);
  if (!indices || !op.operand[*indices].IsTile() || memory.fast < 0) return;
  const ExprId number = op.attr[*op.row().AttrIndex(Attr::kAxis)];
  const int64_t axis = number.none() ? 0 : form_.pool.AsInt(number).value_or(0);
  if (memory.fast != axis) return;
  memory.strides[Size(axis)] = AccessedMemory::kFar;
  memory.fast = -1;
}

// From the fastest dimension on.
void AccessedMemories::SetStrides(const ConcreteType& type, bool by_column,
                                  AccessedMemory& memory) const {
  const size_t rank = type.shape.size();
  memory.strides.assign(rank, AccessedMemory::kFar);
  memory.stride_divisors.assign(rank, 1);
  int64_t stride = 1;
  bool known = true;
  for (size_t i = 0; i < rank; ++i) {
    const size_t d = by_column ? i : rank - 1 - i;
    if (i == 0) memory.fast = static_cast<int>(d);
    if (known) memory.strides[d] = stride;
    memory.stride_divisors[d] = stride;
    known = known && type.shape[d] >= 0;
    stride = CheckedMul(stride, ExtentDivisor(type, d)).value_or(1);
  }
}

// Of a constant extent the extent itself.
int64_t AccessedMemories::ExtentDivisor(const ConcreteType& type, size_t dim) const {
  if (type.shape[dim] >= 0) return type.shape[dim];
  return dim < type.shape_exprs.size() ? DivisorOf(type.shape_exprs[dim]) : 1;
}

void AccessedMemories::AddIndices(ExprId indices, AccessedMemory& memory) const {
  // `gather`, `scatter` and their like have none: they begin at 0 but for their axis.
  const auto list = form_.pool.children(indices);
  for (size_t d = 0; d < list.size(); ++d) {
    memory.begins[d] = std::gcd(memory.begins[d], DivisorOf(list[d]));
  }
}

void AccessedMemories::AddExtents(const ConcreteType& type, AccessedMemory& memory) const {
  for (size_t d = 0; d < memory.extents.size(); ++d) {
    memory.extents[d] = std::gcd(memory.extents[d], ExtentDivisor(type, d));
  }
}

// What the assumptions say of a parameter: `%n % 8 == 0`.
int64_t AccessedMemories::DivisorOfParameter(tile::ValueId value) const {
  if (assumed_ && assumed_->first == value) return assumed_->second;
  const ExprPool& pool = form_.pool;
  const auto is = [&](ExprId expr, BinaryOp op) {
    return pool.kind(expr) == ExprKind::kBinary &&
           static_cast<BinaryOp>(pool.node(expr).code) == op;
  };
  for (const Assume& assume : form_.header.assumes) {
    if (!assume.alignment.none() || !is(assume.condition, BinaryOp::kEqual)) continue;
    const ExprId rest = pool.children(assume.condition)[0];
    if (pool.AsInt(pool.children(assume.condition)[1]) != 0 || !is(rest, BinaryOp::kModulo))
      continue;
    if (pool.children(rest)[0] != ExprId::Value(value)) continue;
    return std::max<int64_t>(1, pool.AsInt(pool.children(rest)[1]).value_or(1));
  }
  return 1;
}

int64_t AccessedMemories::Divisor(ExprId expr, int depth) const {
  const ExprPool& pool = form_.pool;
  if (const auto number = pool.AsInt(expr)) return *number;
  if (depth > kMostDepth) return 1;
  if (expr.is_value()) return DivisorOfValue(expr.value(), depth + 1);
  if (pool.kind(expr) != ExprKind::kBinary) return 1;
  const int64_t left = Divisor(pool.children(expr)[0], depth + 1);
  const int64_t right = Divisor(pool.children(expr)[1], depth + 1);
  switch (static_cast<BinaryOp>(pool.node(expr).code)) {
    case BinaryOp::kAdd:
    case BinaryOp::kSubtract:
    case BinaryOp::kModulo:
      return std::gcd(left, right);
    case BinaryOp::kMultiply:
      return CheckedMul(left, right).value_or(1);
    case BinaryOp::kDivide:
    case BinaryOp::kOr:
    case BinaryOp::kAnd:
    case BinaryOp::kEqual:
    case BinaryOp::kNotEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual:
    case BinaryOp::kGreater:
    case BinaryOp::kGreaterEqual:
      return 1;
  }
  return 1;
}

int64_t AccessedMemories::Divisor(const Operand& operand, int depth) const {
  return operand.IsExpr() ? Divisor(operand.expr, depth) : DivisorOfValue(operand.value, depth);
}

int64_t AccessedMemories::DivisorOfValue(tile::ValueId value, int depth) const {
  if (depth > kMostDepth || value >= definitions_.size()) return 1;
  const tile::Definition& definition = definitions_[value];
  if (definition.op == kNone) {
    const tile::OpId owner =
        definition.region == kNone ? kNone : form_.regions[definition.region].owner;
    if (owner == kNone) return definition.region == kNone ? 1 : DivisorOfParameter(value);
    if (definition.index != 0) return 1;
    const Operation& loop = form_.ops[owner];
    if (loop.opcode != Opcode::kFor) return 1;
    const int64_t step = loop.operand[2].present() ? Divisor(loop.operand[2].expr, depth + 1) : 1;
    return std::gcd(Divisor(loop.operand[0].expr, depth + 1), step);
  }
  const Operation& op = form_.ops[definition.op];
  const auto part = [&](size_t i) { return Divisor(op.operand[i], depth + 1); };
  if (op.opcode == Opcode::kMov) return part(0);
  if (op.opcode == Opcode::kAdd || op.opcode == Opcode::kSub) return std::gcd(part(0), part(1));
  if (op.opcode == Opcode::kMul) return CheckedMul(part(0), part(1)).value_or(1);
  return 1;
}

}  // namespace tarsia::compiler
