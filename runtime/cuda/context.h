// GPUs and the contexts of their calls: the caller's current context if it belongs to the GPU, else
// the primary one, which the library shares with the rest of the process.
#ifndef TARSIA_RUNTIME_CUDA_CONTEXT_H_
#define TARSIA_RUNTIME_CUDA_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/cuda/driver.h"
#include "support/result.h"

namespace tarsia::cuda {

// Properties of a GPU from the driver; sizes in bytes.
struct GpuProperties {
  int ordinal = 0;
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int major = 0;     // compute capability
  int minor = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  uint64_t memory_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t shared_bytes = 0;  // of a block, at most

  [[nodiscard]] int capability() const { return major * 10 + minor; }
  // "cuda:0 (NVIDIA H100 80GB HBM3)", for messages.
  [[nodiscard]] std::string Label() const;
};

// Does not create a context, which would cost time and memory. Errors: there is no such GPU.
Result<GpuProperties> ReadProperties(const Driver& driver, int ordinal);

// A GPU with its primary context, which it holds while it lives. Immutable and thread-safe.
class Gpu {
 public:
  // Errors: there is no such GPU, its context cannot be created.
  static Result<std::shared_ptr<const Gpu>> Open(const Driver& driver, int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] const GpuProperties& properties() const { return properties_; }
  [[nodiscard]] std::string Label() const { return properties_.Label(); }
  [[nodiscard]] CuDevice device() const { return device_; }
  [[nodiscard]] CuContext primary() const { return primary_; }

 private:
  Gpu(const Driver& driver, GpuProperties properties)
      : driver_(driver), properties_(std::move(properties)) {}

  const Driver& driver_;
  GpuProperties properties_;
  CuDevice device_ = 0;
  CuContext primary_ = nullptr;
};

// While it lives, driver calls of this thread run in `context()`; then the caller's current context
// is restored. Legal while a stream is captured; allocates nothing. Used by one thread.
class CurrentContext {
 public:
  // The caller's current context if it is one of this GPU, else the primary one.
  static Result<CurrentContext> Enter(const Gpu& gpu);
  // Enters this context of the GPU.
  static Result<CurrentContext> Enter(const Gpu& gpu, CuContext context);
  CurrentContext(CurrentContext&& other) noexcept;
  CurrentContext& operator=(CurrentContext&&) = delete;
  ~CurrentContext();

  [[nodiscard]] CuContext context() const { return context_; }
  // A number that is unique for the life of the process, unlike the handle.
  [[nodiscard]] Result<uint64_t> Id() const;

 private:
  CurrentContext(const Driver* driver, CuContext context, bool pushed)
      : driver_(driver), context_(context), pushed_(pushed) {}

  const Driver* driver_;
  CuContext context_;
  bool pushed_;
};

}  // namespace tarsia::cuda

#endif  // TARSIA_RUNTIME_CUDA_CONTEXT_H_
