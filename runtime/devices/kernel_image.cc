#include "runtime/devices/kernel_image.h"

#include "runtime/diagnostics.h"

namespace tarsia::runtime {

Result<KernelImage::Machine> StoredImage::FindMachine(StopCheck*) const {
  if (code_.cubin.empty()) return MakeDiagnostic(diag::kPlanNoCubin, Location());
  return Machine{code_.cubin, code_.log};
}

}  // namespace tarsia::runtime
