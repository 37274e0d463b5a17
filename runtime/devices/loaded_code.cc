#include "runtime/devices/loaded_code.h"

namespace tarsia::runtime {

Result<LaunchResult> LoadedCode::Launch(const LaunchRequest& request) const {
  TARSIA_CHECK(CheckRequest(request));
  CompiledLaunch launch;
  TARSIA_CHECK(program_.Prepare(request, &launch));
  LaunchResult result;
  result.report.grid = launch.grid;
  if (!launch.Empty()) TARSIA_CHECK(Run(launch, request, &result));
  return result;
}

Result<uint64_t> LoadedCode::WorkspaceBytes(std::span<const uint64_t> scalars) const {
  return program_.WorkspaceBytes(scalars);
}

Status LoadedCode::InitWorkspace(std::span<const uint64_t> scalars, DevicePointer workspace,
                                 uint64_t bytes, StreamHandle stream) const {
  return program_.InitWorkspace(device_, scalars, workspace, bytes, stream);
}

}  // namespace tarsia::runtime
