// The C API: devices, their memory and their streams.
#include <string>
#include <vector>

#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/devices/cpu_device.h"
#include "runtime/devices/cuda_device.h"
#include "runtime/devices/device.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

// A row of the list, with texts that live as long as the library.
struct Listed {
  std::string name;
  std::string description;
  bool available = false;
  bool is_default = false;
  bool is_cpu = false;
};

std::vector<Listed> ListGpus() {
  const Result<int> count = runtime::CudaDeviceCount();
  if (!count.ok()) return {{"cuda", count.error().message, false, false, false}};
  std::vector<Listed> out;
  for (int i = 0; i < *count; ++i) {
    const std::string name = "cuda:" + std::to_string(i);
    const auto device = runtime::OpenDevice(name);
    out.push_back({name, device.ok() ? (*device)->Description() : device.error().message,
                   device.ok(), device.ok() && i == 0, false});
  }
  return out;
}

const std::vector<Listed>& Devices() {
  static const std::vector<Listed> all = [] {
    std::vector<Listed> out = ListGpus();
    const bool gpu = !out.empty() && out.front().is_default;
    out.insert(out.begin(), {"cpu", "the interpreter, on the processor", true, !gpu, true});
    out.push_back({"ptx",
                   "the PTX emulator, which runs and checks compiled code: `ptx` for sm_90a, or "
                   "`ptx:TARGET`",
                   true, false, false});
    return out;
  }();
  return all;
}

// Runs an action on an open device; errors are INVALID_ARGUMENT unless the machine causes them.
template <typename Action>
tarsia_status OnDevice(tarsia_device* device, const Action& action) {
  return Guarded([&] {
    if (device == nullptr) return NullArgument("device");
    const Status status = action(*device->device);
    return status.ok() ? TARSIA_STATUS_OK
                       : FailWith(status.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  });
}

}  // namespace

size_t tarsia_device_count(void) {
  size_t count = 0;
  Guarded([&] {
    count = Devices().size();
    return TARSIA_STATUS_OK;
  });
  return count;
}

tarsia_status tarsia_device_get(size_t index, tarsia_device_info* out) {
  return Guarded([&] {
    const std::vector<Listed>& devices = Devices();
    if (index >= devices.size()) return BadIndex("index", index, devices.size());
    const Listed& listed = devices[index];
    tarsia_device_info info = {};
    info.name = listed.name.c_str();
    info.description = listed.description.c_str();
    info.available = listed.available;
    info.is_default = listed.is_default;
    info.threads = listed.is_cpu ? runtime::CpuThreads() : 0;
    info.vector_unit = listed.is_cpu ? runtime::VectorUnit() : "";
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_device_open(const char* name, tarsia_device** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    auto device = runtime::OpenDevice(name != nullptr ? name : "");
    if (!device.ok()) return FailWith(device.error(), TARSIA_STATUS_INVALID_ARGUMENT);
    *out = new tarsia_device{*std::move(device)};
    return TARSIA_STATUS_OK;
  });
}

void tarsia_device_close(tarsia_device* device) { delete device; }

const char* tarsia_device_name(const tarsia_device* device) {
  return device == nullptr ? "" : device->device->name().c_str();
}

tarsia_status tarsia_memory_alloc(tarsia_device* device, uint64_t bytes, void** out) {
  if (out != nullptr) *out = nullptr;
  return OnDevice(device, [&](runtime::Device& on) -> Status {
    if (out == nullptr) return MakeDiagnostic(diag::kApiArgumentNull, Location(), "out");
    TARSIA_TRY(*out, on.Allocate(bytes));
    return OkStatus();
  });
}

tarsia_status tarsia_memory_free(tarsia_device* device, void* memory) {
  return OnDevice(device, [&](runtime::Device& on) { return on.Free(memory); });
}

namespace {

Status CheckNotNull(const void* pointer, const char* name, uint64_t bytes) {
  if (pointer != nullptr || bytes == 0) return OkStatus();
  return MakeDiagnostic(diag::kApiArgumentNull, Location(), name);
}

}  // namespace

tarsia_status tarsia_memory_write(tarsia_device* device, void* to, const void* from, uint64_t bytes,
                                  void* stream) {
  return OnDevice(device, [&](runtime::Device& on) -> Status {
    TARSIA_CHECK(CheckNotNull(to, "to", bytes));
    TARSIA_CHECK(CheckNotNull(from, "from", bytes));
    return on.Write(to, from, bytes, stream);
  });
}

tarsia_status tarsia_memory_read(tarsia_device* device, void* to, const void* from, uint64_t bytes,
                                 void* stream) {
  return OnDevice(device, [&](runtime::Device& on) -> Status {
    TARSIA_CHECK(CheckNotNull(to, "to", bytes));
    TARSIA_CHECK(CheckNotNull(from, "from", bytes));
    return on.Read(to, const_cast<void*>(from), bytes, stream);
  });
}

tarsia_status tarsia_memory_fill(tarsia_device* device, void* to, uint8_t value, uint64_t bytes,
                                 void* stream) {
  return OnDevice(device, [&](runtime::Device& on) -> Status {
    TARSIA_CHECK(CheckNotNull(to, "to", bytes));
    return on.Fill(to, value, bytes, stream);
  });
}

tarsia_status tarsia_stream_create(tarsia_device* device, void** out) {
  if (out != nullptr) *out = nullptr;
  return OnDevice(device, [&](runtime::Device& on) -> Status {
    if (out == nullptr) return MakeDiagnostic(diag::kApiArgumentNull, Location(), "out");
    TARSIA_TRY(*out, on.CreateStream());
    return OkStatus();
  });
}

tarsia_status tarsia_stream_destroy(tarsia_device* device, void* stream) {
  return OnDevice(device, [&](runtime::Device& on) { return on.DestroyStream(stream); });
}

tarsia_status tarsia_stream_synchronize(tarsia_device* device, void* stream) {
  return Guarded([&] {
    if (device == nullptr) return NullArgument("device");
    const Status status = device->device->Synchronize(stream);
    return status.ok() ? TARSIA_STATUS_OK : FailWith(status.error(), TARSIA_STATUS_LAUNCH_FAILED);
  });
}
