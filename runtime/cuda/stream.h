// Streams, events and graphs. Functions take raw handles, so that a caller's own stream serves as
// well as one made here; 0 is the legacy default stream. All are thread-safe, but a stream that is
// being captured belongs to one thread.
#ifndef TARSIA_RUNTIME_CUDA_STREAM_H_
#define TARSIA_RUNTIME_CUDA_STREAM_H_

#include <functional>
#include <memory>

#include "runtime/cuda/context.h"

namespace tarsia::cuda {

// A stream of its own that does not wait for the legacy default stream. Destroyed with the object;
// what was enqueued is still done.
class Stream {
 public:
  static Result<Stream> Create(std::shared_ptr<const Gpu> gpu);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  [[nodiscard]] CuStream handle() const { return handle_; }
  // Gives the handle away: whoever takes it destroys it.
  CuStream Release();

 private:
  explicit Stream(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}
  std::shared_ptr<const Gpu> gpu_;
  CuContext context_ = nullptr;
  CuStream handle_ = nullptr;
};

// Destroys a stream that was given away.
Status DestroyStream(const Gpu& gpu, CuStream stream);

// Waits for all that was enqueued. Errors: also those of kernels that ran before.
Status Synchronize(const Gpu& gpu, CuStream stream);
// Whether all that was enqueued is done; does not wait.
Result<bool> IsDone(const Gpu& gpu, CuStream stream);
// Whether what is enqueued goes into a graph.
Result<bool> IsCapturing(const Gpu& gpu, CuStream stream);

class Event {
 public:
  // Without timing it costs less, and has no Milliseconds.
  static Result<Event> Create(std::shared_ptr<const Gpu> gpu, bool timing = true);
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;
  ~Event();

  [[nodiscard]] CuEvent handle() const { return handle_; }
  // Marks what is in the stream so far; a second record replaces the first.
  Status Record(CuStream stream) const;
  // Waits for what the last record marks; an event never recorded is done.
  Status Synchronize() const;
  [[nodiscard]] Result<bool> IsDone() const;
  // Work enqueued on the stream from now on waits for it.
  Status MakeWait(CuStream stream) const;

 private:
  explicit Event(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}
  std::shared_ptr<const Gpu> gpu_;
  CuContext context_ = nullptr;
  CuEvent handle_ = nullptr;
  friend Result<double> Milliseconds(const Event& start, const Event& end);
};

// Between two events with timing that were recorded and are done, with a resolution of about half a
// microsecond. Errors: they are not.
Result<double> Milliseconds(const Event& start, const Event& end);

// Work that was captured once and is enqueued again and again with one call.
class Graph {
 public:
  // What `enqueue` puts into the stream, which runs nothing. Calls of this thread that a capture
  // forbids (allocating, waiting, loading) make it fail. `stream` is none of the default ones.
  static Result<Graph> Capture(std::shared_ptr<const Gpu> gpu, CuStream stream,
                               const std::function<Status()>& enqueue);
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&&) = delete;
  ~Graph();

  Status Launch(CuStream stream) const;

 private:
  explicit Graph(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}
  std::shared_ptr<const Gpu> gpu_;
  CuContext context_ = nullptr;
  CuGraphExec handle_ = nullptr;
};

}  // namespace tarsia::cuda

#endif  // TARSIA_RUNTIME_CUDA_STREAM_H_
