#include "runtime/cuda/memory.h"

#include <utility>

#include "runtime/diagnostics.h"

namespace tarsia::cuda {
namespace {

// Calls the driver in the context that context.h defines; does not call it for 0 bytes.
template <typename F>
Status InContext(const Gpu& gpu, uint64_t count, const char* name, F call) {
  if (count == 0) return OkStatus();
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(gpu));
  return gpu.driver().Check(call(gpu.driver()), name);
}

}  // namespace

Result<CuDevicePtr> AllocateMemory(const Gpu& gpu, uint64_t bytes) {
  if (bytes == 0) return CuDevicePtr{0};
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(gpu));
  CuDevicePtr out = 0;
  const CuResult result = gpu.driver().MemAlloc(&out, bytes);
  if (result == kErrorOutOfMemory) {
    const Result<MemoryInfo> info = ReadMemoryInfo(gpu);
    if (info.ok()) {
      return MakeDiagnostic(diag::kCudaOutOfMemoryBytes, {}, bytes, gpu.Label(), info->available,
                            info->total);
    }
  }
  TARSIA_CHECK(gpu.driver().Check(result, "cuMemAlloc"));
  return out;
}

Status FreeMemory(const Gpu& gpu, CuDevicePtr pointer) {
  if (pointer == 0) return OkStatus();
  const Driver& driver = gpu.driver();
  CuContext owner = nullptr;
  if (driver.PointerGetAttribute(&owner, kPointerContext, pointer) != kSuccess ||
      owner == nullptr) {
    return MakeDiagnostic(diag::kCudaNotDevicePointer, {}, pointer, gpu.Label());
  }
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(gpu, owner));
  return driver.Check(driver.MemFree(pointer), "cuMemFree");
}

Result<MemoryInfo> ReadMemoryInfo(const Gpu& gpu) {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(gpu));
  size_t available = 0, total = 0;
  TARSIA_CHECK(gpu.driver().Check(gpu.driver().MemGetInfo(&available, &total), "cuMemGetInfo"));
  return MemoryInfo{available, total};
}

Result<PointerRange> FindRange(const Gpu& gpu, CuDevicePtr pointer) {
  const Driver& driver = gpu.driver();
  int ordinal = -1;
  unsigned type = 0;
  PointerRange out;
  size_t bytes = 0;
  constexpr unsigned kDeviceMemory = 2;
  if (driver.PointerGetAttribute(&type, kPointerMemoryType, pointer) != kSuccess ||
      type != kDeviceMemory ||
      driver.PointerGetAttribute(&ordinal, kPointerDeviceOrdinal, pointer) != kSuccess ||
      ordinal != gpu.properties().ordinal ||
      driver.PointerGetAttribute(&out.start, kPointerRangeStart, pointer) != kSuccess ||
      driver.PointerGetAttribute(&bytes, kPointerRangeSize, pointer) != kSuccess) {
    return MakeDiagnostic(diag::kCudaNotDevicePointer, {}, pointer, gpu.Label());
  }
  out.bytes = bytes;
  return out;
}

Status CopyIn(const Gpu& gpu, CuDevicePtr to, const void* from, uint64_t bytes, CuStream stream) {
  return InContext(gpu, bytes, "cuMemcpyHtoDAsync", [&](const Driver& driver) {
    return driver.MemcpyHtoDAsync(to, from, bytes, stream);
  });
}

Status CopyOut(const Gpu& gpu, void* to, CuDevicePtr from, uint64_t bytes, CuStream stream) {
  return InContext(gpu, bytes, "cuMemcpyDtoHAsync", [&](const Driver& driver) {
    return driver.MemcpyDtoHAsync(to, from, bytes, stream);
  });
}

Status CopyWithin(const Gpu& gpu, CuDevicePtr to, CuDevicePtr from, uint64_t bytes,
                  CuStream stream) {
  return InContext(gpu, bytes, "cuMemcpyDtoDAsync", [&](const Driver& driver) {
    return driver.MemcpyDtoDAsync(to, from, bytes, stream);
  });
}

Status Fill(const Gpu& gpu, CuDevicePtr to, uint8_t value, uint64_t count, CuStream stream) {
  return InContext(gpu, count, "cuMemsetD8Async", [&](const Driver& driver) {
    return driver.MemsetD8Async(to, value, count, stream);
  });
}

Status Fill(const Gpu& gpu, CuDevicePtr to, uint16_t value, uint64_t count, CuStream stream) {
  return InContext(gpu, count, "cuMemsetD16Async", [&](const Driver& driver) {
    return driver.MemsetD16Async(to, value, count, stream);
  });
}

Status Fill(const Gpu& gpu, CuDevicePtr to, uint32_t value, uint64_t count, CuStream stream) {
  return InContext(gpu, count, "cuMemsetD32Async", [&](const Driver& driver) {
    return driver.MemsetD32Async(to, value, count, stream);
  });
}

Result<Buffer> Buffer::Allocate(std::shared_ptr<const Gpu> gpu, uint64_t bytes) {
  Buffer out;
  TARSIA_TRY(out.address_, AllocateMemory(*gpu, bytes));
  out.bytes_ = bytes;
  out.gpu_ = std::move(gpu);
  return out;
}

Buffer::Buffer(Buffer&& other) noexcept
    : gpu_(std::move(other.gpu_)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (gpu_ != nullptr) (void)FreeMemory(*gpu_, address_).ok();
}

}  // namespace tarsia::cuda
