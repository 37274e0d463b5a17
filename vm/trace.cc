#include "vm/trace.h"

#include <vector>

#include "isa/text/printer.h"
#include "layout/reg_layout.h"
#include "vm/agent.h"

namespace tarsia::vm {

void TraceResult(Agent& agent, uint32_t value, const launch::LineSink& sink) {
  const ValuePlan& type = agent.plan().values[value];
  const std::string prefix = "    %" + agent.plan().ValueName(value);
  if (type.kind == ValueKind::kScalar) {
    return launch::WriteRows(prefix, type.dtype, {}, &agent.Scalar(value), 0, sink);
  }
  if (type.space == Space::kRegister) {
    const Storage& storage = agent.plan().storages[type.storage];
    if (type.storage == kLogical) {
      return launch::WriteRows(prefix, type.dtype, type.shape, agent.Tile(value), kTraceEdge, sink);
    }
    std::vector<uint64_t> row_major(static_cast<size_t>(type.elements));
    GatherContainers(type.container, agent.Tile(value), storage.holder, row_major.data());
    return launch::WriteRows(prefix, type.dtype, type.shape, row_major.data(), kTraceEdge, sink);
  }
  const MemoryView& view = agent.View(value);
  sink(prefix + " : " + std::string(SpaceName(type.space)) + "<" +
       std::string(DTypeName(type.dtype)) + ">" +
       ToString(std::span<const int64_t>(view.shape, static_cast<size_t>(view.rank))));
}

std::string TextOf(const Plan& plan, const PlannedInst& inst) {
  if (inst.inst == nullptr) return "}";
  return PrintInst(plan.program.module(), plan.kernel(), *inst.inst);
}

}  // namespace tarsia::vm
