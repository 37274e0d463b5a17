#include "launch/extent_error.h"

#include "launch/diagnostics.h"

namespace tarsia::launch {

Diagnostic ExtentError(const Program& program, const Inst& inst, size_t dimension, int64_t extent) {
  const Kernel& kernel = program.kernel();
  if (Row(inst.opcode).Allocates() == Space::kGlobal) {
    return MakeDiagnostic(diag::kScratchExtent, kernel.TypeLocation(inst), dimension,
                          kernel.ValueName(kernel.Results(inst)[0].value()), extent);
  }
  const bool is_slice = inst.opcode == Opcode::kSlice;
  return MakeDiagnostic(diag::kViewExtent,
                        is_slice ? kernel.LocationOf(inst) : kernel.TypeLocation(inst), dimension,
                        extent);
}

}  // namespace tarsia::launch
