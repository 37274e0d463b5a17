#include "runtime/cuda/stream.h"

#include <utility>

namespace tarsia::cuda {
namespace {

template <typename F>
Status InContext(const Gpu& gpu, const char* name, F call) {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(gpu));
  return gpu.driver().Check(call(gpu.driver()), name);
}

// Runs in the context in which a handle was made.
template <typename F>
Status InContext(const Gpu& gpu, CuContext context, const char* name, F call) {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(gpu, context));
  return gpu.driver().Check(call(gpu.driver()), name);
}

Result<bool> ToBool(const Gpu& gpu, CuResult result, const char* name) {
  if (result == kErrorNotReady) return false;
  TARSIA_CHECK(gpu.driver().Check(result, name));
  return true;
}

}  // namespace

Result<Stream> Stream::Create(std::shared_ptr<const Gpu> gpu) {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(*gpu));
  Stream out(std::move(gpu));
  out.context_ = current.context();
  const Driver& driver = out.gpu_->driver();
  TARSIA_CHECK(
      driver.Check(driver.StreamCreate(&out.handle_, kStreamNonBlocking), "cuStreamCreate"));
  return out;
}

Stream::Stream(Stream&& other) noexcept
    : gpu_(std::move(other.gpu_)),
      context_(other.context_),
      handle_(std::exchange(other.handle_, nullptr)) {}

Stream::~Stream() {
  if (handle_ == nullptr) return;
  (void)InContext(*gpu_, context_, "cuStreamDestroy", [&](const Driver& driver) {
    return driver.StreamDestroy(handle_);
  }).ok();
}

CuStream Stream::Release() { return std::exchange(handle_, nullptr); }

Status DestroyStream(const Gpu& gpu, CuStream stream) {
  CuContext owner = nullptr;
  TARSIA_CHECK(InContext(gpu, "cuStreamGetCtx", [&](const Driver& driver) {
    return driver.StreamGetCtx(stream, &owner);
  }));
  return InContext(gpu, owner, "cuStreamDestroy",
                   [&](const Driver& driver) { return driver.StreamDestroy(stream); });
}

Status Synchronize(const Gpu& gpu, CuStream stream) {
  return InContext(gpu, "cuStreamSynchronize",
                   [&](const Driver& driver) { return driver.StreamSynchronize(stream); });
}

Result<bool> IsDone(const Gpu& gpu, CuStream stream) {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(gpu));
  return ToBool(gpu, gpu.driver().StreamQuery(stream), "cuStreamQuery");
}

Result<bool> IsCapturing(const Gpu& gpu, CuStream stream) {
  CuStreamCaptureStatus status = kCaptureNone;
  TARSIA_CHECK(InContext(gpu, "cuStreamIsCapturing", [&](const Driver& driver) {
    return driver.StreamIsCapturing(stream, &status);
  }));
  return status != kCaptureNone;
}

Result<Event> Event::Create(std::shared_ptr<const Gpu> gpu, bool timing) {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(*gpu));
  Event out(std::move(gpu));
  out.context_ = current.context();
  const Driver& driver = out.gpu_->driver();
  TARSIA_CHECK(
      driver.Check(driver.EventCreate(&out.handle_, timing ? kEventDefault : kEventDisableTiming),
                   "cuEventCreate"));
  return out;
}

Event::Event(Event&& other) noexcept
    : gpu_(std::move(other.gpu_)),
      context_(other.context_),
      handle_(std::exchange(other.handle_, nullptr)) {}

Event::~Event() {
  if (handle_ == nullptr) return;
  (void)InContext(*gpu_, context_, "cuEventDestroy", [&](const Driver& driver) {
    return driver.EventDestroy(handle_);
  }).ok();
}

Status Event::Record(CuStream stream) const {
  return InContext(*gpu_, context_, "cuEventRecord",
                   [&](const Driver& driver) { return driver.EventRecord(handle_, stream); });
}

Status Event::Synchronize() const {
  return InContext(*gpu_, context_, "cuEventSynchronize",
                   [&](const Driver& driver) { return driver.EventSynchronize(handle_); });
}

Result<bool> Event::IsDone() const {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(*gpu_, context_));
  return ToBool(*gpu_, gpu_->driver().EventQuery(handle_), "cuEventQuery");
}

Status Event::MakeWait(CuStream stream) const {
  return InContext(*gpu_, context_, "cuStreamWaitEvent", [&](const Driver& driver) {
    return driver.StreamWaitEvent(stream, handle_, 0);
  });
}

Result<double> Milliseconds(const Event& start, const Event& end) {
  float out = 0;
  TARSIA_CHECK(
      InContext(*start.gpu_, start.context_, "cuEventElapsedTime", [&](const Driver& driver) {
        return driver.EventElapsedTime(&out, start.handle_, end.handle_);
      }));
  return double{out};
}

Result<Graph> Graph::Capture(std::shared_ptr<const Gpu> gpu, CuStream stream,
                             const std::function<Status()>& enqueue) {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(*gpu));
  const Driver& driver = gpu->driver();
  // Calls of other threads do not affect this capture.
  TARSIA_CHECK(
      driver.Check(driver.StreamBeginCapture(stream, kCaptureThreadLocal), "cuStreamBeginCapture"));
  const Status enqueued = enqueue();
  CuGraph graph = nullptr;
  const CuResult ended = driver.StreamEndCapture(stream, &graph);
  Graph out(std::move(gpu));
  out.context_ = current.context();
  CuResult made = ended;
  if (ended == kSuccess && enqueued.ok()) made = driver.GraphInstantiate(&out.handle_, graph, 0);
  if (graph != nullptr) driver.GraphDestroy(graph);
  if (!enqueued.ok()) return enqueued.error();
  TARSIA_CHECK(driver.Check(ended, "cuStreamEndCapture"));
  TARSIA_CHECK(driver.Check(made, "cuGraphInstantiate"));
  return out;
}

Graph::Graph(Graph&& other) noexcept
    : gpu_(std::move(other.gpu_)),
      context_(other.context_),
      handle_(std::exchange(other.handle_, nullptr)) {}

Graph::~Graph() {
  if (handle_ == nullptr) return;
  (void)InContext(*gpu_, context_, "cuGraphExecDestroy", [&](const Driver& driver) {
    return driver.GraphExecDestroy(handle_);
  }).ok();
}

Status Graph::Launch(CuStream stream) const {
  return InContext(*gpu_, context_, "cuGraphLaunch",
                   [&](const Driver& driver) { return driver.GraphLaunch(handle_, stream); });
}

}  // namespace tarsia::cuda
