#include "runtime/cuda/stream.h"

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

template <typename Handle, typename F>
Status InContext(const Owned<Handle>& handle, const char* name, F call) {
  return InContext(handle.gpu(), handle.context(), name, call);
}

Result<bool> ToBool(const Gpu& gpu, CuResult result, const char* name) {
  if (result == kErrorNotReady) return false;
  TARSIA_CHECK(gpu.driver().Check(result, name));
  return true;
}

}  // namespace

Status DestroyIn(const Gpu& gpu, CuContext context, CuStream stream) {
  return InContext(gpu, context, "cuStreamDestroy",
                   [&](const Driver& driver) { return driver.StreamDestroy(stream); });
}

Status DestroyIn(const Gpu& gpu, CuContext context, CuEvent event) {
  return InContext(gpu, context, "cuEventDestroy",
                   [&](const Driver& driver) { return driver.EventDestroy(event); });
}

Status DestroyIn(const Gpu& gpu, CuContext context, CuGraphExec graph) {
  return InContext(gpu, context, "cuGraphExecDestroy",
                   [&](const Driver& driver) { return driver.GraphExecDestroy(graph); });
}

Result<Stream> Stream::Create(std::shared_ptr<const Gpu> gpu) {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(*gpu));
  Owned<CuStream> handle(std::move(gpu), current.context());
  const Driver& driver = handle.gpu().driver();
  TARSIA_CHECK(
      driver.Check(driver.StreamCreate(handle.out(), kStreamNonBlocking), "cuStreamCreate"));
  return Stream(std::move(handle));
}

Status DestroyStream(const Gpu& gpu, CuStream stream) {
  CuContext owner = nullptr;
  TARSIA_CHECK(InContext(gpu, "cuStreamGetCtx", [&](const Driver& driver) {
    return driver.StreamGetCtx(stream, &owner);
  }));
  return DestroyIn(gpu, owner, stream);
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
  Owned<CuEvent> handle(std::move(gpu), current.context());
  const Driver& driver = handle.gpu().driver();
  TARSIA_CHECK(
      driver.Check(driver.EventCreate(handle.out(), timing ? kEventDefault : kEventDisableTiming),
                   "cuEventCreate"));
  return Event(std::move(handle));
}

Status Event::Record(CuStream stream) const {
  return InContext(handle_, "cuEventRecord",
                   [&](const Driver& driver) { return driver.EventRecord(handle(), stream); });
}

Status Event::Synchronize() const {
  return InContext(handle_, "cuEventSynchronize",
                   [&](const Driver& driver) { return driver.EventSynchronize(handle()); });
}

Result<bool> Event::IsDone() const {
  const Gpu& gpu = handle_.gpu();
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(gpu, handle_.context()));
  return ToBool(gpu, gpu.driver().EventQuery(handle()), "cuEventQuery");
}

Status Event::MakeWait(CuStream stream) const {
  return InContext(handle_, "cuStreamWaitEvent", [&](const Driver& driver) {
    return driver.StreamWaitEvent(stream, handle(), 0);
  });
}

Result<double> Milliseconds(const Event& start, const Event& end) {
  float out = 0;
  TARSIA_CHECK(InContext(start.handle_, "cuEventElapsedTime", [&](const Driver& driver) {
    return driver.EventElapsedTime(&out, start.handle(), end.handle());
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
  Owned<CuGraphExec> handle(gpu, current.context());
  CuResult made = ended;
  if (ended == kSuccess && enqueued.ok()) made = driver.GraphInstantiate(handle.out(), graph, 0);
  if (graph != nullptr) driver.GraphDestroy(graph);
  if (!enqueued.ok()) return enqueued.error();
  TARSIA_CHECK(driver.Check(ended, "cuStreamEndCapture"));
  TARSIA_CHECK(driver.Check(made, "cuGraphInstantiate"));
  return Graph(std::move(handle));
}

Status Graph::Launch(CuStream stream) const {
  return InContext(handle_, "cuGraphLaunch",
                   [&](const Driver& driver) { return driver.GraphLaunch(handle_.get(), stream); });
}

}  // namespace tarsia::cuda
