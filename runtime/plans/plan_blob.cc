#include "runtime/plans/plan_blob.h"

#include <utility>

#include "runtime/plans/sealed_plan.h"
#include "support/byte_codec.h"
#include "tarsia/tarsia.h"

namespace tarsia::runtime {

Result<std::string> EncodePlan(const Program& program, const PlanParts& parts) {
  ByteSink out;
  out.Text(parts.device).U64(parts.workspace_limit).U64(parts.constants.size());
  for (const PlanConstant& constant : parts.constants) {
    out.U32(constant.kind).Text(constant.name).Text(constant.value);
  }
  TARSIA_CHECK(WriteKernel(program, parts.image.get(), &out));
  return SealPlan(PlanKind::kKernel, out.bytes());
}

Result<DecodedPlan> DecodePlan(std::string_view bytes, const Device& device) {
  TARSIA_TRY(const std::string_view contents, OpenPlan(PlanKind::kKernel, bytes));
  ByteSource in(contents);
  PlanParts parts;
  parts.device = in.Text();
  parts.workspace_limit = in.U64();
  for (size_t left = in.Count(1); left > 0 && in.ok(); --left) {
    PlanConstant& constant = parts.constants.emplace_back();
    constant.kind = in.U32();
    in.Require(constant.kind <= TARSIA_CONSTANT_BITLAYOUT);
    constant.name = in.Text();
    constant.value = in.Text();
  }
  TARSIA_TRY(StoredKernel kernel, ReadKernel(&in, device));
  if (!in.done()) return DamagedPlan("its parts do not fit together");
  parts.image = std::move(kernel.image);
  return DecodedPlan{std::move(kernel.program), std::move(parts)};
}

}  // namespace tarsia::runtime
