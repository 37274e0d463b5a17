#include "planner/certificate.h"

#include <nlohmann/json.hpp>

namespace tarsia {
namespace {

using Json = nlohmann::ordered_json;

const char* NameOf(PlanBuffer::Kind kind) {
  switch (kind) {
    case PlanBuffer::Kind::kInput:
      return "input";
    case PlanBuffer::Kind::kOutput:
      return "output";
    case PlanBuffer::Kind::kScratch:
      return "scratch";
  }
  return "";
}

Json BufferJson(const Plan& plan, const PlanBuffer& buffer) {
  Json out;
  out["name"] = buffer.name;
  out["offset"] = buffer.offset ? Json(*buffer.offset) : Json(nullptr);
  out["size"] = buffer.bytes;
  out["first"] = buffer.first;
  out["last"] = buffer.last;
  out["kind"] = NameOf(buffer.kind);
  if (buffer.in_place) out["in"] = plan.buffers[*buffer.in_place].name;
  return out;
}

// What a launch reads and writes. A reduction that begins does not read its state.
void AddUses(const Plan& plan, const PlanStep& step, Json* out) {
  size_t at = 0;
  for (const KernelParam& param : plan.kernels[step.kernel].params) {
    if (param.kind != KernelParam::Kind::kTensor) continue;
    const std::string& name = plan.buffers[step.buffers[at++]].name;
    if (param.read && !(param.written && step.fresh)) (*out)["reads"].push_back(name);
    if (param.written) (*out)["writes"].push_back(name);
  }
  // Behind them, inputs in whose place an output is written.
  for (; at < step.buffers.size(); ++at) {
    (*out)["reads"].push_back(plan.buffers[step.buffers[at]].name);
  }
}

Json StepJson(const Plan& plan, const PlanStep& step, const ConcreteGraph& graph) {
  Json out;
  const bool launch = step.kind == PlanStep::Kind::kLaunch;
  const bool load = step.kind == PlanStep::Kind::kLoad;
  if (launch) {
    out["kernel"] = plan.kernels[step.kernel].name;
  } else {
    const size_t tensor = plan.buffers[step.buffers[0]].tensor;
    out[load ? "load" : "store"] = (load ? plan.inputs : plan.outputs)[tensor].name;
  }
  out["reads"] = Json::array();
  out["writes"] = Json::array();
  if (launch) {
    AddUses(plan, step, &out);
  } else {
    out[load ? "writes" : "reads"].push_back(plan.buffers[step.buffers[0]].name);
  }
  out["ranges"] = Json::object();
  for (const StepRange& range : step.ranges) {
    out["ranges"][std::string(graph.axes()[range.axis].name)] = {range.low, range.high};
  }
  return out;
}

}  // namespace

std::string CertificateText(const Plan& plan, const ConcreteGraph& graph) {
  Json out;
  out["limit"] = plan.limit == kNoLimit ? Json(nullptr) : Json(plan.limit);
  out["limit_kind"] = plan.limit_kind == LimitKind::kTotal ? "total" : "scratch";
  out["peak"] = plan.peak;
  out["buffers"] = Json::array();
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.used) out["buffers"].push_back(BufferJson(plan, buffer));
  }
  out["steps"] = Json::array();
  for (const PlanStep& step : plan.steps) out["steps"].push_back(StepJson(plan, step, graph));
  return out.dump() + "\n";
}

}  // namespace tarsia
