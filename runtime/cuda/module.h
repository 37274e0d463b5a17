// Kernels on a GPU: loading machine code or PTX, and launching it.
#ifndef TARSIA_RUNTIME_CUDA_MODULE_H_
#define TARSIA_RUNTIME_CUDA_MODULE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "runtime/cuda/context.h"

namespace tarsia::cuda {

// The code of a kernel. One of cubin and PTX may be empty.
struct KernelCode {
  std::string entry;
  std::string cubin;          // preferred
  std::string ptx;            // used if there is no cubin, or it does not fit the GPU
  int threads = 0;            // per block, along x
  uint64_t shared_bytes = 0;  // per block, dynamic
  // It may begin before the kernel that is before it in its stream has ended, since it waits for it
  // itself (programmatic dependent launch; compute capability 9.0).
  bool begins_early = false;
};

// Attributes of a loaded kernel from the driver.
struct KernelAttributes {
  int registers = 0;                  // a thread
  int local_bytes = 0;                // per thread: stack and spills
  int static_shared_bytes = 0;        // a block
  int blocks_per_multiprocessor = 0;  // resident at once
  bool from_ptx = false;              // compiled by the driver
};

// A kernel that is loaded, in any number of contexts of one GPU. Thread-safe. Destroy it after its
// launches are done, and before any context of the caller's in which it was loaded.
class Kernel {
 public:
  // Loads it completely in the caller's context, so that launches there can be captured. Errors:
  // too much shared memory for the GPU, code that the driver refuses (with its log).
  static Result<std::unique_ptr<Kernel>> Load(std::shared_ptr<const Gpu> gpu, KernelCode code);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Also loads it in the caller's context, if that is another one.
  Status Prepare() const;
  [[nodiscard]] Result<KernelAttributes> Attributes() const;
  // Enqueues the kernel and returns; `parameters` may be freed at once. Neither allocates nor locks
  // nor waits in a context where it is loaded; in another one it is loaded first. Ignores an empty
  // grid.
  Status Launch(const std::array<int64_t, 3>& grid, std::span<const uint8_t> parameters,
                CuStream stream) const;

  [[nodiscard]] const Gpu& gpu() const { return *gpu_; }
  [[nodiscard]] const KernelCode& code() const { return code_; }

 private:
  // The kernel as loaded in one context. Entries are only added, at the front.
  struct Loaded {
    uint64_t context_id = 0;
    CuContext context = nullptr;
    CuModule module = nullptr;
    CuFunction function = nullptr;
    bool from_ptx = false;
    Loaded* next = nullptr;
  };

  Kernel(std::shared_ptr<const Gpu> gpu, KernelCode code)
      : gpu_(std::move(gpu)), code_(std::move(code)) {}
  [[nodiscard]] const Loaded* Find(uint64_t context_id) const;
  Result<const Loaded*> FindOrLoad(const CurrentContext& current) const;
  Status LoadImage(Loaded* loaded) const;
  Status LoadFunction(Loaded* loaded) const;
  // `extra` is that of cuLaunchKernel.
  Status LaunchEarly(CuFunction function, const std::array<int64_t, 3>& grid, CuStream stream,
                     void** extra) const;

  std::shared_ptr<const Gpu> gpu_;
  KernelCode code_;
  mutable std::mutex loading_;
  mutable std::atomic<Loaded*> loaded_ = nullptr;
};

}  // namespace tarsia::cuda

#endif  // TARSIA_RUNTIME_CUDA_MODULE_H_
