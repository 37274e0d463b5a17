// Fuzzes the reader of plans: for any bytes, what is read is consistent, can be made ready for a
// launch, and is written as bytes that are read as the same. The input is what follows the key of a
// plan, since the key and the hash would stop every change.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_template.h"
#include "runtime/devices/cpu_device.h"
#include "runtime/devices/device.h"
#include "runtime/devices/ptx_device.h"
#include "runtime/devices/workspace_plan.h"
#include "runtime/plans/plan_blob.h"
#include "runtime/plans/sealed_plan.h"

namespace {

using namespace tarsia;
using namespace tarsia::runtime;

void Check(const std::string& bytes, const Device& device) {
  const auto plan = DecodePlan(bytes, device);
  if (!plan.ok()) return;
  const size_t parameters = plan->program.kernel().params.size();
  const std::vector<uint64_t> scalars(parameters + 1, 3);
  const auto launch = launch::LaunchTemplate::Make(plan->program);
  int64_t grid[3] = {};
  (void)launch.ResolveGrid(plan->program, scalars.data(), grid);
  (void)launch.Uses(plan->program, scalars.data());
  if (plan->parts.image != nullptr) {
    const auto workspace = WorkspacePlan::Make(plan->program, plan->parts.image->kernel(),
                                               plan->parts.workspace_limit);
    WorkspaceLayout layout;
    if (workspace.ok()) (void)workspace->LayOut(plan->program, scalars.data(), &layout);
  }
  const auto again = EncodePlan(plan->program, plan->parts);
  if (!again.ok()) std::abort();
  const auto second = DecodePlan(*again, device);
  if (!second.ok()) std::abort();
  const auto third = EncodePlan(second->program, second->parts);
  if (!third.ok() || *third != *again) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto cpu = *MakeCpuDevice();
  static const auto ptx = MakePtxDevice(compiler::Target::kSm80);
  const std::string bytes =
      SealPlan(PlanKind::kKernel, {reinterpret_cast<const char*>(data), size});
  Check(bytes, *cpu);
  Check(bytes, *ptx);
  return 0;
}
