// A GPU's memory. Sizes are in bytes; every call runs in the caller's current context or the
// primary one (context.h) and is thread-safe.
#ifndef TARSIA_RUNTIME_CUDA_MEMORY_H_
#define TARSIA_RUNTIME_CUDA_MEMORY_H_

#include <cstdint>
#include <memory>

#include "runtime/cuda/context.h"

namespace tarsia::cuda {

// Addresses are multiples of at least 256; contents are undefined. For zero bytes returns the null
// address. Errors: out of memory (with the bytes requested and free), a capture that forbids it.
Result<CuDevicePtr> AllocateMemory(const Gpu& gpu, uint64_t bytes);
// Frees memory of AllocateMemory; ignores the null address. The caller has waited for all uses of
// the memory.
Status FreeMemory(const Gpu& gpu, CuDevicePtr pointer);

struct MemoryInfo {
  uint64_t available = 0;
  uint64_t total = 0;
};
Result<MemoryInfo> ReadMemoryInfo(const Gpu& gpu);

// The allocation that an address lies in. Costs about a microsecond.
struct PointerRange {
  CuDevicePtr start = 0;
  uint64_t bytes = 0;
};
// Errors: the address is not in memory of this GPU.
Result<PointerRange> FindRange(const Gpu& gpu, CuDevicePtr pointer);

// Enqueued on the stream: the host's memory must not change until the caller has waited for the
// stream.
Status CopyIn(const Gpu& gpu, CuDevicePtr to, const void* from, uint64_t bytes, CuStream stream);
Status CopyOut(const Gpu& gpu, void* to, CuDevicePtr from, uint64_t bytes, CuStream stream);
Status CopyWithin(const Gpu& gpu, CuDevicePtr to, CuDevicePtr from, uint64_t bytes,
                  CuStream stream);
// Repeats a value of 1, 2 or 4 bytes `count` times; the address is a multiple of its size.
Status Fill(const Gpu& gpu, CuDevicePtr to, uint8_t value, uint64_t count, CuStream stream);
Status Fill(const Gpu& gpu, CuDevicePtr to, uint16_t value, uint64_t count, CuStream stream);
Status Fill(const Gpu& gpu, CuDevicePtr to, uint32_t value, uint64_t count, CuStream stream);

// Memory that is freed with the object.
class Buffer {
 public:
  Buffer() = default;
  static Result<Buffer> Allocate(std::shared_ptr<const Gpu> gpu, uint64_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  [[nodiscard]] CuDevicePtr address() const { return address_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const Gpu> gpu_;
  CuDevicePtr address_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace tarsia::cuda

#endif  // TARSIA_RUNTIME_CUDA_MEMORY_H_
