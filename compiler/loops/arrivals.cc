#include "compiler/loops/arrivals.h"

#include <optional>
#include <string>
#include <utility>

#include "compiler/loops/counted_loop.h"
#include "compiler/loops/pipeline.h"
#include "compiler/passes/via.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;

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
    // A loop that takes the turns of another one has operations of its own, at the same lines.
    if (decision.line == form.ops[load].location.line) return decision.why;
    if (decision.line == around.location.line) of_loop = "its loop stays as it is: " + decision.why;
  }
  return of_loop;
}

// The place of the attribute among the results, slots and attributes that have places.
Location ViaLocation(const Operation& load) {
  return load.arg_locations.empty() ? load.location : load.arg_locations.back();
}

}  // namespace

std::vector<OpId> GlobalLoadsInLoops(const Form& form) {
  std::vector<OpId> out;
  AddLoads(form, tile::kBody, false, out);
  return out;
}

bool HasAsyncLoads(const Form& form) {
  std::vector<std::pair<OpId, OpId>> left;
  FindAsync(form, tile::kBody, kNone, left);
  return !left.empty();
}

LateLoad FindLateLoad(const Form& after, const Form& before, Target target) {
  std::vector<std::pair<OpId, OpId>> left;
  FindAsync(after, tile::kBody, kNone, left);
  const Location at = after.ops[left.front().first].location;
  // Copies of turns have the places of their originals.
  std::vector<std::pair<OpId, OpId>> original;
  FindAsync(before, tile::kBody, kNone, original);
  for (const auto& [load, loop] : original) {
    if (before.ops[load].location != at) continue;
    return {ViaLocation(before.ops[load]), WhyStays(before, load, loop, target)};
  }
  return {at, "its loop stays as it is"};
}

}  // namespace tarsia::compiler
