// Streams, events, captures and graphs.
#include "tests/emulated_driver/api.h"

namespace tarsia::emulated {
namespace {

template <typename T>
CuResult Erase(Table<T>* table, const void* handle) {
  return table->erase(reinterpret_cast<uintptr_t>(handle)) == 1 ? kSuccess : kErrorInvalidHandle;
}

// Calls `body` with the caller's stream.
template <typename F>
CuResult WithStream(const char* symbol, CuStream stream, F body) {
  return CallInContext(symbol, [&](Machine& machine, Context& context) -> CuResult {
    const std::shared_ptr<Stream> queue = FindStream(machine, context, stream);
    return queue != nullptr ? body(machine, queue) : +kErrorInvalidHandle;
  });
}

template <typename F>
CuResult WithEvent(const char* symbol, CuEvent event, F body) {
  return CallInContext(symbol, [&](Machine& machine, Context& /*context*/) -> CuResult {
    const std::shared_ptr<Event> found = Find(machine.events, event);
    return found != nullptr ? body(machine, found) : +kErrorInvalidHandle;
  });
}

// A wait for a captured stream is an error and ends the capture.
CuResult CheckWaitable(const Stream& stream) {
  if (!stream.capture) return kSuccess;
  stream.capture->invalid = true;
  return kErrorStreamCaptureUnsupported;
}

// The legacy stream waits for all blocking streams, including captured ones.
CuResult CheckWaitable(const std::shared_ptr<Stream>& stream) {
  if (!stream->legacy) return CheckWaitable(*stream);
  for (const std::shared_ptr<Stream>& other : stream->context->queues) {
    if (!other->blocking || !other->capture) continue;
    other->capture->invalid = true;
    return kErrorStreamCaptureImplicit;
  }
  return kSuccess;
}

}  // namespace

CuResult StreamCreate(CuStream* stream, unsigned flags) {
  return CallInContext(symbols::kStreamCreate, [&](Machine& machine, Context& context) {
    if (flags > kStreamNonBlocking) return kErrorInvalidValue;
    *stream = Add<CuStream>(machine, &machine.streams, context.NewQueue(flags == 0));
    return kSuccess;
  });
}

// The work of the stream is still done.
CuResult StreamDestroy(CuStream stream) {
  return CallInContext(symbols::kStreamDestroy, [&](Machine& machine, Context& /*context*/) {
    const std::shared_ptr<Stream> queue = Find(machine.streams, stream);
    if (queue == nullptr) return +kErrorInvalidHandle;
    if (queue->capture) queue->capture->invalid = true;
    queue->destroyed = true;
    if (queue->pending.empty()) std::erase(queue->context->queues, queue);
    return Erase(&machine.streams, stream);
  });
}

CuResult StreamSynchronize(CuStream stream) {
  return WithStream(symbols::kStreamSynchronize, stream, [](Machine& /*machine*/, auto& queue) {
    const CuResult error = CheckWaitable(queue);
    return error != kSuccess ? error : Drain(queue);
  });
}

// Runs one operation, so that repeated queries finish the work.
CuResult StreamQuery(CuStream stream) {
  return WithStream(symbols::kStreamQuery, stream, [](Machine& /*machine*/, auto& queue) {
    if (const CuResult error = CheckWaitable(queue)) return error;
    const bool ran = RunOne(queue);
    const CuResult error = queue->context->error;
    return error == kSuccess && ran ? +kErrorNotReady : error;
  });
}

CuResult StreamWaitEvent(CuStream stream, CuEvent event, unsigned /*flags*/) {
  return WithStream(symbols::kStreamWaitEvent, stream, [&](Machine& machine, auto& queue) {
    const std::shared_ptr<Event> found = Find(machine.events, event);
    return found != nullptr ? WaitForEvent(queue, *found) : +kErrorInvalidHandle;
  });
}

// The context of a stream with an object; the default streams belong to the current context.
CuResult StreamGetCtx(CuStream stream, CuContext* context) {
  return Call(symbols::kStreamGetCtx, [&](Machine& machine) {
    const std::shared_ptr<Stream> queue = Find(machine.streams, stream);
    const Context* owner = queue != nullptr ? queue->context : nullptr;
    if (reinterpret_cast<uintptr_t>(stream) <= kStreamPerThread) owner = machine.Current();
    if (owner == nullptr) return kErrorInvalidHandle;
    *context = ToHandle<CuContext>(owner->handle);
    return kSuccess;
  });
}

CuResult StreamBeginCapture(CuStream stream, CuStreamCaptureMode mode) {
  return WithStream(symbols::kStreamBeginCapture, stream,
                    [&](Machine& /*machine*/, auto& queue) { return BeginCapture(queue, mode); });
}

CuResult StreamEndCapture(CuStream stream, CuGraph* graph) {
  *graph = nullptr;
  return WithStream(symbols::kStreamEndCapture, stream, [&](Machine& machine, auto& queue) {
    std::shared_ptr<Graph> made;
    const CuResult error = EndCapture(queue, &made);
    if (error == kSuccess) *graph = Add<CuGraph>(machine, &machine.graphs, std::move(made));
    return error;
  });
}

CuResult StreamIsCapturing(CuStream stream, CuStreamCaptureStatus* status) {
  return WithStream(symbols::kStreamIsCapturing, stream, [&](Machine& /*machine*/, auto& queue) {
    *status = kCaptureNone;
    if (queue->capture) *status = queue->capture->invalid ? kCaptureInvalidated : kCaptureActive;
    return kSuccess;
  });
}

CuResult EventCreate(CuEvent* event, unsigned flags) {
  return CallInContext(symbols::kEventCreate, [&](Machine& machine, Context& context) {
    auto object = std::make_shared<Event>();
    object->context = &context;
    object->timing = (flags & kEventDisableTiming) == 0;
    *event = Add<CuEvent>(machine, &machine.events, std::move(object));
    return kSuccess;
  });
}

CuResult EventDestroy(CuEvent event) {
  return CallInContext(symbols::kEventDestroy, [&](Machine& machine, Context& /*context*/) {
    return Erase(&machine.events, event);
  });
}

CuResult EventRecord(CuEvent event, CuStream stream) {
  return WithEvent(symbols::kEventRecord, event, [&](Machine& machine, auto& found) -> CuResult {
    const std::shared_ptr<Stream> queue = FindStream(machine, *found->context, stream);
    return queue != nullptr ? RecordEvent(found, queue) : +kErrorInvalidHandle;
  });
}

CuResult EventQuery(CuEvent event) {
  return WithEvent(symbols::kEventQuery, event, [](Machine& /*machine*/, auto& found) -> CuResult {
    if (found->capture) return kErrorCapturedEvent;
    if (found->record == nullptr || found->record->done) return kSuccess;
    RunOne(found->point.stream);
    return found->context->error != kSuccess ? found->context->error : +kErrorNotReady;
  });
}

CuResult EventSynchronize(CuEvent event) {
  return WithEvent(symbols::kEventSynchronize, event, [](Machine& /*machine*/, auto& found) {
    if (found->capture) return +kErrorCapturedEvent;
    if (found->record != nullptr) RunUpTo(found->point);
    return found->context->error;
  });
}

CuResult EventElapsedTime(float* milliseconds, CuEvent start, CuEvent end) {
  return WithEvent(symbols::kEventElapsedTime, start, [&](Machine& machine, auto& first) {
    const std::shared_ptr<Event> last = Find(machine.events, end);
    if (last == nullptr || !first->timing || !last->timing || first->record == nullptr ||
        last->record == nullptr) {
      return kErrorInvalidHandle;
    }
    if (!first->record->done || !last->record->done) return kErrorNotReady;
    *milliseconds = static_cast<float>(last->record->milliseconds - first->record->milliseconds);
    return kSuccess;
  });
}

CuResult GraphInstantiate(CuGraphExec* graph_exec, CuGraph graph, unsigned long long /*flags*/) {
  return CallInContext(symbols::kGraphInstantiate, [&](Machine& machine, Context& /*context*/) {
    const std::shared_ptr<Graph> found = Find(machine.graphs, graph);
    if (found == nullptr) return kErrorInvalidHandle;
    *graph_exec = Add<CuGraphExec>(machine, &machine.graph_execs, std::make_shared<Graph>(*found));
    return kSuccess;
  });
}

CuResult GraphLaunch(CuGraphExec graph_exec, CuStream stream) {
  return WithStream(symbols::kGraphLaunch, stream, [&](Machine& machine, auto& queue) {
    const std::shared_ptr<Graph> found = Find(machine.graph_execs, graph_exec);
    if (found == nullptr) return +kErrorInvalidHandle;
    return Enqueue(queue, [found] {
      for (const Graph::Node& node : found->nodes) {
        if (const CuResult error = node.run()) return error;
      }
      return +kSuccess;
    });
  });
}

CuResult GraphExecDestroy(CuGraphExec graph_exec) {
  return CallInContext(symbols::kGraphExecDestroy, [&](Machine& machine, Context& /*context*/) {
    return Erase(&machine.graph_execs, graph_exec);
  });
}

CuResult GraphDestroy(CuGraph graph) {
  return CallInContext(symbols::kGraphDestroy, [&](Machine& machine, Context& /*context*/) {
    return Erase(&machine.graphs, graph);
  });
}

}  // namespace tarsia::emulated
