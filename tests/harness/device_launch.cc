#include "tests/harness/device_launch.h"

#include <vector>

namespace tarsia::harness {
namespace {

using runtime::Device;
using runtime::DevicePointer;

// Device memory for one launch.
class Memory {
 public:
  explicit Memory(Device& device) : device_(device) {}
  ~Memory() {
    for (const DevicePointer pointer : pointers_) (void)device_.Free(pointer).ok();
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Result<DevicePointer> Allocate(uint64_t bytes) {
    TARSIA_TRY(const DevicePointer pointer, device_.Allocate(bytes));
    pointers_.push_back(pointer);
    return pointer;
  }

 private:
  Device& device_;
  std::vector<DevicePointer> pointers_;
};

}  // namespace

Result<runtime::LaunchResult> LaunchOn(Device& device, const runtime::LoadedKernel& kernel,
                                       std::span<const Argument> arguments,
                                       const vm::LaunchOptions& options) {
  Memory memory(device);
  launch::LaunchArgs args;
  std::vector<uint64_t> scalars;
  for (const Argument& argument : arguments) {
    if (const auto* const scalar = std::get_if<ScalarArgument>(&argument)) {
      args.params.emplace_back(launch::ScalarValue{scalar->type, scalar->code});
      scalars.push_back(scalar->code);
      continue;
    }
    const auto& host = std::get<MemoryArgument>(argument);
    TARSIA_TRY(const DevicePointer pointer, memory.Allocate(host.bytes));
    TARSIA_CHECK(device.Write(pointer, host.data, host.bytes, nullptr));
    args.params.emplace_back(launch::Buffer{pointer, host.bytes, host.writable});
    scalars.push_back(0);
  }
  runtime::LaunchRequest request;
  request.args = args;
  request.options = &options;
  // The launch reports extents for which there is no workspace.
  const Result<uint64_t> bytes = kernel.WorkspaceBytes(scalars);
  if (bytes.ok() && *bytes > 0) {
    TARSIA_TRY(request.workspace, memory.Allocate(*bytes));
    TARSIA_CHECK(kernel.InitWorkspace(scalars, request.workspace, *bytes, nullptr));
  }
  TARSIA_TRY(runtime::LaunchResult result, kernel.Launch(request));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* const host = std::get_if<MemoryArgument>(&arguments[i]);
    if (host == nullptr) continue;
    const auto& buffer = std::get<launch::Buffer>(args.params[i]);
    TARSIA_CHECK(device.Read(host->data, buffer.data, host->bytes, nullptr));
  }
  return result;
}

}  // namespace tarsia::harness
