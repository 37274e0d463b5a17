// Streams, events and graphs. Functions take raw handles, so that a caller's own stream can be
// used; 0 is the legacy default stream. All are thread-safe, but a stream that is being captured
// must be used by one thread.
#ifndef TARSIA_RUNTIME_CUDA_STREAM_H_
#define TARSIA_RUNTIME_CUDA_STREAM_H_

#include <functional>
#include <memory>
#include <utility>

#include "runtime/cuda/context.h"

namespace tarsia::cuda {

// Destroys an object of the driver in the context in which it was made.
Status DestroyIn(const Gpu& gpu, CuContext context, CuStream stream);
Status DestroyIn(const Gpu& gpu, CuContext context, CuEvent event);
Status DestroyIn(const Gpu& gpu, CuContext context, CuGraphExec graph);

// A handle of the driver, destroyed with the object in the context in which it was made.
template <typename Handle>
class Owned {
 public:
  Owned(std::shared_ptr<const Gpu> gpu, CuContext context)
      : gpu_(std::move(gpu)), context_(context) {}
  Owned(Owned&& other) noexcept
      : gpu_(std::move(other.gpu_)), context_(other.context_), handle_(other.Release()) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (handle_ != nullptr) (void)DestroyIn(*gpu_, context_, handle_).ok();
  }

  [[nodiscard]] const Gpu& gpu() const { return *gpu_; }
  [[nodiscard]] CuContext context() const { return context_; }
  [[nodiscard]] Handle get() const { return handle_; }
  // For the call of the driver that makes the handle.
  [[nodiscard]] Handle* out() { return &handle_; }
  // Releases the handle; the caller must destroy it.
  Handle Release() { return std::exchange(handle_, nullptr); }

 private:
  std::shared_ptr<const Gpu> gpu_;
  CuContext context_ = nullptr;
  Handle handle_ = nullptr;
};

// A stream that does not wait for the legacy default stream. Destroyed with the object; enqueued
// work still completes.
class Stream {
 public:
  static Result<Stream> Create(std::shared_ptr<const Gpu> gpu);

  [[nodiscard]] CuStream handle() const { return handle_.get(); }
  // Releases the handle; the caller must destroy it.
  CuStream Release() { return handle_.Release(); }

 private:
  explicit Stream(Owned<CuStream> handle) : handle_(std::move(handle)) {}
  Owned<CuStream> handle_;
};

// Destroys a released stream.
Status DestroyStream(const Gpu& gpu, CuStream stream);

// Waits for all enqueued work. Errors include those of earlier kernels.
Status Synchronize(const Gpu& gpu, CuStream stream);
// Whether all enqueued work is done; does not wait.
Result<bool> IsDone(const Gpu& gpu, CuStream stream);
// Whether the stream is being captured into a graph.
Result<bool> IsCapturing(const Gpu& gpu, CuStream stream);

class Event {
 public:
  // An event without timing costs less but cannot be used with Milliseconds.
  static Result<Event> Create(std::shared_ptr<const Gpu> gpu, bool timing = true);

  [[nodiscard]] CuEvent handle() const { return handle_.get(); }
  // Marks the work in the stream so far; a second record replaces the first.
  Status Record(CuStream stream) const;
  // Waits for the work that the last record marks; an event that was never recorded is done.
  Status Synchronize() const;
  [[nodiscard]] Result<bool> IsDone() const;
  // Work enqueued on the stream from now on waits for it.
  Status MakeWait(CuStream stream) const;

 private:
  explicit Event(Owned<CuEvent> handle) : handle_(std::move(handle)) {}
  Owned<CuEvent> handle_;
  friend Result<double> Milliseconds(const Event& start, const Event& end);
};

// The time between two events with timing that were recorded and are done, with a resolution of
// about half a microsecond. Errors: they are not.
Result<double> Milliseconds(const Event& start, const Event& end);

// Work that was captured once and can be enqueued repeatedly with one call.
class Graph {
 public:
  // Captures the work that `enqueue` puts into the stream; nothing runs. Fails if this thread makes
  // calls that a capture forbids (allocating, waiting, loading). `stream` is not a default stream.
  static Result<Graph> Capture(std::shared_ptr<const Gpu> gpu, CuStream stream,
                               const std::function<Status()>& enqueue);

  Status Launch(CuStream stream) const;

 private:
  explicit Graph(Owned<CuGraphExec> handle) : handle_(std::move(handle)) {}
  Owned<CuGraphExec> handle_;
};

}  // namespace tarsia::cuda

#endif  // TARSIA_RUNTIME_CUDA_STREAM_H_
