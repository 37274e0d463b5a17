#include "compiler/passes/shared_tiles.h"

#include <algorithm>
#include <set>

#include "compiler/plan_shared.h"
#include "layout/mem_layout.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// Operations in the order of the text.
template <typename Each>
void ForEachOp(const Form& form, RegionId region, const Each& each) {
  for (const OpId id : form.regions[region].ops) {
    each(id);
    for (const RegionId inner : form.ops[id].region) {
      if (inner != kNone) ForEachOp(form, inner, each);
    }
  }
}

std::optional<SharedAllocation> TileOf(const Form& form, OpId id) {
  SharedAllocation tile;
  tile.op = id;
  tile.value = form.ops[id].results[0];
  const ConcreteType& type = form.TypeOf(tile.value);
  const auto layout = Apply(type.mem_layout, type.shape, type.dtype);
  if (!layout.ok()) return std::nullopt;
  tile.bytes = AlignUp(layout->SizeBytes(type.dtype.bits), kSharedTileAlignment);
  tile.alignment = std::clamp(static_cast<uint64_t>(layout->Alignment()), kSharedTileAlignment,
                              kSharedAlignment);
  const auto place = form.pool.AsInt(form.ops[id].attr[0]);
  if (!form.ops[id].attr[0].none() && place) tile.place = static_cast<uint64_t>(*place);
  return tile;
}

}  // namespace

bool ShareBytes(const SharedAllocation& a, const SharedAllocation& b) {
  return *a.place < *b.place + b.bytes && *b.place < *a.place + a.bytes;
}

std::vector<SharedAllocation> FindSharedAllocations(const Form& form) {
  std::vector<SharedAllocation> out;
  const std::vector<ValueId> roots = FindRoots(form);
  std::set<ValueId> copied;
  ForEachOp(form, tile::kBody, [&](OpId id) {
    const Operation& op = form.ops[id];
    if (op.row().Has(kAsynchronous)) copied.insert(roots[op.operand[0].value]);
  });
  ForEachOp(form, tile::kBody, [&](OpId id) {
    if (form.ops[id].row().Allocates() != Space::kShared) return;
    if (const auto tile = TileOf(form, id)) {
      out.push_back(*tile);
      out.back().copied = copied.count(tile->value) != 0;
    }
  });
  return out;
}

bool WaitsForAll(const Form& form, const Operation& op) {
  return op.opcode == Opcode::kCopyWait && form.pool.AsInt(op.operand[0].expr) == 0;
}

std::vector<ValueId> FindRoots(const Form& form) {
  std::vector<ValueId> out(form.values.size());
  for (ValueId value = 0; value < out.size(); ++value) out[value] = value;
  ForEachOp(form, tile::kBody, [&](OpId id) {
    const Operation& op = form.ops[id];
    const bool views = op.row().MakesView() && op.operand[0].kind == Operand::Kind::kMemory;
    if (views) out[op.results[0]] = out[op.operand[0].value];
  });
  return out;
}

}  // namespace tarsia::compiler
