// Fuzzes the reader of plans of the quantised matmul: for any bytes, what is read is written as
// bytes that are read as the same. The input is what follows the key of a plan, since the key and
// the hash would stop every change.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/devices/cpu_device.h"
#include "runtime/devices/device.h"
#include "runtime/devices/ptx_device.h"
#include "runtime/matmul/matmul_blob.h"
#include "runtime/plans/sealed_plan.h"

namespace {

using namespace tarsia;
using namespace tarsia::runtime;

void Check(const std::string& bytes, const std::shared_ptr<Device>& device) {
  const auto plan = DecodeMatmulPlan(bytes, device);
  if (!plan.ok()) return;
  const auto again = EncodeMatmulPlan(**plan);
  if (!again.ok()) std::abort();
  const auto second = DecodeMatmulPlan(*again, device);
  if (!second.ok()) std::abort();
  const auto third = EncodeMatmulPlan(**second);
  if (!third.ok() || *third != *again) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::shared_ptr<Device> cpu = *MakeCpuDevice();
  static const std::shared_ptr<Device> ptx = MakePtxDevice(compiler::Target::kSm80);
  const std::string bytes =
      SealPlan(PlanKind::kMatmul, {reinterpret_cast<const char*>(data), size});
  Check(bytes, cpu);
  Check(bytes, ptx);
  return 0;
}
