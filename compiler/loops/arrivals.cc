#include "compiler/loops/arrivals.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/loops/counted_loop.h"
#include "compiler/loops/pipeline.h"
#include "compiler/tile/new_operations.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

void AddLoads(const Form& form, RegionId region, bool in_loop, std::vector<OpId>& out) {
  for (const OpId id : form.regions[region].ops) {
    const Operation& op = form.ops[id];
    if (in_loop && IsGlobalLoad(form, op)) out.push_back(id);
    for (const RegionId inner : op.region) {
      if (inner != kNone) AddLoads(form, inner, in_loop || op.IsLoop(), out);
    }
  }
}

// Of a region with those in it, and the innermost loop around each.
void FindAsync(const Form& form, RegionId region, OpId loop,
               std::vector<std::pair<OpId, OpId>>& out) {
  for (const OpId id : form.regions[region].ops) {
    const Operation& op = form.ops[id];
    if (IsGlobalLoad(form, op) && ViaOf(form, op) == Via::kAsync) out.emplace_back(id, loop);
    for (const RegionId inner : op.region) {
      if (inner != kNone) FindAsync(form, inner, op.IsLoop() ? id : loop, out);
    }
  }
}

std::string WhyStays(const Form& form, OpId load, OpId loop, Target target) {
  if (loop == kNone) return "it is in no loop";
  const Operation& around = form.ops[loop];
  if (around.opcode != Opcode::kFor) return "its loop is no `for`";
  if (HintOf(form, around, Attr::kPipeline).value_or(2) < 2) return "its loop has `pipeline 1`";
  // What is said of the load, and else what is said of the loop.
  std::string of_loop = "it is in a branch of the loop";
  for (const PipelineDecision& decision : DecidePipelines(form, target)) {
    if (!decision.stays) continue;
    if (decision.op == load) return decision.why;
    if (decision.op == loop) of_loop = "its loop stays as it is: " + decision.why;
  }
  return of_loop;
}

// The place of the attribute among the results, slots and attributes that have places.
Location ViaLocation(const Operation& load) {
  return load.arg_locations.empty() ? load.location : load.arg_locations.back();
}

class ThroughShared {
 public:
  explicit ThroughShared(Form& form) : form_(form) {}

  void Visit(RegionId region) {
    std::vector<OpId> ops;
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      const Operation& op = form_.ops[id];
      if (IsGlobalLoad(form_, op) && ViaOf(form_, op) == Via::kShared) Replace(id, ops);
      ops.push_back(id);
      const std::vector<RegionId> inner(std::begin(form_.ops[id].region),
                                        std::end(form_.ops[id].region));
      for (const RegionId r : inner) {
        if (r != kNone) Visit(r);
      }
    }
    form_.regions[region].ops = std::move(ops);
  }

 private:
  // The load becomes one of shared memory, after what `ops` gets.
  void Replace(OpId id, std::vector<OpId>& ops) {
    Operation first = form_.ops[id];
    const ValueId result = first.results[0];
    const Location location = first.location;
    ConcreteType type = form_.TypeOf(result);
    type.reg_layout.reset();
    type.bit_layout.reset();
    const ValueId registers = tile::NewValue(form_, type, result);
    type.space = Space::kShared;
    const ValueId tile = tile::NewValue(form_, type, result);
    const OpId allocation = tile::NewAllocation(form_, tile, location);
    form_.ops[allocation].annotation.layout = ExprId();
    first.results = {registers};
    first.annotation.layout = ExprId();
    first.annotation.bits = ExprId();
    SetVia(form_, first, Via::kRegisters);
    Operand value;
    value.kind = Operand::Kind::kTile;
    value.type = type.dtype;
    value.value = registers;
    Operation store =
        tile::StoreOf(tile::WholeOperand(form_, tile, Role::kWritten), value, location);
    ops.push_back(allocation);
    ops.push_back(tile::NewOperation(form_, std::move(first)));
    ops.push_back(tile::NewOperation(form_, std::move(store)));
    ops.push_back(tile::NewSync(form_, location));
    const TypeExpr annotation = form_.ops[id].annotation;
    form_.ops[id] =
        tile::LoadOf(form_, tile::WholeOperand(form_, tile, Role::kRead), result, location);
    form_.ops[id].annotation = annotation;
  }

  Form& form_;
};

}  // namespace

bool IsGlobalLoad(const Form& form, const Operation& op) {
  return op.opcode == Opcode::kLoad && form.TypeOf(op.operand[0].value).space == Space::kGlobal;
}

std::optional<Via> ViaOf(const Form& form, const Operation& load) {
  const auto index = load.row().AttrIndex(Attr::kVia);
  const auto word = index ? form.pool.AsInt(load.attr[*index]) : std::nullopt;
  return word ? std::optional(static_cast<Via>(*word)) : std::nullopt;
}

void SetVia(Form& form, Operation& load, Via via) {
  load.attr[*load.row().AttrIndex(Attr::kVia)] = form.pool.Int(static_cast<int64_t>(via));
}

std::vector<OpId> GlobalLoadsInLoops(const Form& form) {
  std::vector<OpId> out;
  AddLoads(form, tile::kBody, false, out);
  return out;
}

void LoadThroughShared(Form& form) { ThroughShared(form).Visit(tile::kBody); }

bool HasAsyncLoads(const Form& form) {
  std::vector<std::pair<OpId, OpId>> left;
  FindAsync(form, tile::kBody, kNone, left);
  return !left.empty();
}

Diagnostic AsyncFault(const Form& after, const Form& before, Target target) {
  std::vector<std::pair<OpId, OpId>> left;
  FindAsync(after, tile::kBody, kNone, left);
  const Location at = after.ops[left.front().first].location;
  // Copies of turns have the places of their originals.
  std::vector<std::pair<OpId, OpId>> original;
  FindAsync(before, tile::kBody, kNone, original);
  for (const auto& [load, loop] : original) {
    if (before.ops[load].location != at) continue;
    return MakeDiagnostic(diag::kViaAsync, ViaLocation(before.ops[load]),
                          WhyStays(before, load, loop, target));
  }
  return MakeDiagnostic(diag::kViaAsync, at, "its loop stays as it is");
}

}  // namespace tarsia::compiler
