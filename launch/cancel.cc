#include "launch/cancel.h"

#include "launch/diagnostics.h"

namespace tarsia::launch {

Status CheckNotStopped(const Program& program, const StopCheck* stop) {
  if (stop == nullptr || !stop->stopped()) return OkStatus();
  return MakeDiagnostic(diag::kLaunchCancelled, Location(), program.name());
}

}  // namespace tarsia::launch
