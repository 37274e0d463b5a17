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
                                       const vm::LaunchOptions& options,
                                       ptx::LaunchCounts* counts) {
  Memory memory(device);
  std::vector<Argument> args(arguments.begin(), arguments.end());
  for (Argument& argument : args) {
    auto* const buffer = std::get_if<launch::Buffer>(&argument);
    if (buffer == nullptr) continue;
    const void* const host = buffer->data;
    TARSIA_TRY(buffer->data, memory.Allocate(buffer->bytes));
    TARSIA_CHECK(device.Write(buffer->data, host, buffer->bytes, nullptr));
  }
  const launch::CodeList codes = launch::CodesOf(args);
  const std::span<const uint64_t> scalars(codes.data(), codes.size());
  runtime::LaunchRequest request;
  request.args = args;
  request.options = &options;
  request.counts = counts;
  // The launch reports extents for which there is no workspace.
  const Result<uint64_t> bytes = kernel.WorkspaceBytes(scalars);
  if (bytes.ok() && *bytes > 0) {
    TARSIA_TRY(request.workspace, memory.Allocate(*bytes));
    TARSIA_CHECK(kernel.InitWorkspace(scalars, request.workspace, *bytes, nullptr));
  }
  TARSIA_TRY(runtime::LaunchResult result, kernel.Launch(request));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* const host = std::get_if<launch::Buffer>(&arguments[i]);
    if (host == nullptr) continue;
    const DevicePointer from = std::get<launch::Buffer>(args[i]).data;
    TARSIA_CHECK(device.Read(host->data, from, host->bytes, nullptr));
  }
  return result;
}

}  // namespace tarsia::harness
