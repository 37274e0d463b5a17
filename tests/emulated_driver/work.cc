#include "tests/emulated_driver/work.h"

#include <algorithm>
#include <chrono>

#include "tests/emulated_driver/machine.h"
#include "tests/emulated_driver/overlap.h"

namespace tarsia::emulated {
namespace {

using namespace tarsia::cuda;

double Now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

CuResult Invalidate(Capture& capture, CuResult error) {
  capture.invalid = true;
  return error;
}

void AddTail(const std::shared_ptr<Stream>& stream, std::vector<Point>* after) {
  if (!stream->pending.empty()) after->push_back({stream, stream->enqueued});
}

// Adds the points that the rule of the legacy stream makes a stream wait for.
CuResult AddImplicit(const std::shared_ptr<Stream>& stream, std::vector<Point>* after) {
  Context& context = *stream->context;
  if (!stream->legacy) {
    if (stream->blocking) AddTail(context.legacy, after);
    return kSuccess;
  }
  for (const std::shared_ptr<Stream>& other : context.queues) {
    if (!other->blocking || other == stream) continue;
    if (other->capture) return Invalidate(*other->capture, kErrorStreamCaptureImplicit);
    AddTail(other, after);
  }
  return kSuccess;
}

void Merge(const std::vector<size_t>& from, std::vector<size_t>* into) {
  for (const size_t node : from) {
    if (std::ranges::find(*into, node) == into->end()) into->push_back(node);
  }
}

CuResult AddNode(Stream& stream, Action action) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return kErrorStreamCaptureInvalidated;
  std::vector<Graph::Node>& nodes = capture.graph->nodes;
  nodes.push_back({stream.frontier, std::move(action)});
  stream.frontier = {nodes.size() - 1};
  return kSuccess;
}

// Runs the operations that the stream's next operation must follow. False: there is no next one, or
// one that it follows cannot run.
bool ReachFront(Stream& stream) {
  if (stream.pending.empty()) return false;
  for (const Point& point : std::vector<Point>(stream.pending.front().after)) {
    RunUpTo(point);
    if (point.stream->done < point.number) return false;
  }
  return !stream.pending.empty();
}

Operation TakeFront(Stream& stream) {
  Operation out = std::move(stream.pending.front());
  stream.pending.pop_front();
  return out;
}

}  // namespace

CuResult Enqueue(const std::shared_ptr<Stream>& stream, Action action, std::vector<Point> after) {
  if (stream->capture) return AddNode(*stream, std::move(action));
  if (const CuResult error = AddImplicit(stream, &after)) return error;
  stream->pending.push_back({std::move(after), std::move(action), nullptr, false});
  ++stream->enqueued;
  return kSuccess;
}

CuResult EnqueueKernel(const std::shared_ptr<Stream>& stream, KernelAction kernel,
                       bool programmatic) {
  if (stream->capture) return AddNode(*stream, [kernel] { return kernel({}); });
  std::vector<Point> after;
  if (const CuResult error = AddImplicit(stream, &after)) return error;
  stream->pending.push_back({std::move(after), nullptr, std::move(kernel), programmatic});
  ++stream->enqueued;
  return kSuccess;
}

bool RunOne(const std::shared_ptr<Stream>& stream) {
  if (stream->running || !ReachFront(*stream)) return false;
  std::vector<KernelAction> kernels;
  stream->running = true;
  CuResult& error = stream->context->error;
  Operation operation = TakeFront(*stream);
  uint64_t count = 1;
  if (operation.kernel == nullptr) {
    if (error == kSuccess) error = operation.run();
  } else {
    kernels.push_back(std::move(operation.kernel));
    while (!stream->pending.empty() && stream->pending.front().programmatic &&
           ReachFront(*stream)) {
      kernels.push_back(TakeFront(*stream).kernel);
    }
    count = kernels.size();
    if (error == kSuccess) error = RunOverlapped(kernels);
  }
  stream->running = false;
  stream->done += count;
  return true;
}

void RunUpTo(const Point& point) {
  while (point.stream->done < point.number && RunOne(point.stream)) {
  }
}

CuResult Drain(const std::shared_ptr<Stream>& stream) {
  RunUpTo({stream, stream->enqueued});
  return stream->context->error;
}

CuResult DrainAll(Context& context) {
  for (const std::shared_ptr<Stream>& stream : context.queues) Drain(stream);
  std::erase_if(context.queues, [](const auto& stream) { return stream->destroyed; });
  return context.error;
}

CuResult RecordEvent(const std::shared_ptr<Event>& event, const std::shared_ptr<Stream>& stream) {
  if (stream->capture) {
    if (stream->capture->invalid) return kErrorStreamCaptureInvalidated;
    event->capture = stream->capture;
    event->nodes = stream->frontier;
    return kSuccess;
  }
  auto record = std::make_shared<Record>();
  const CuResult error = Enqueue(stream, [record] {
    record->done = true;
    record->milliseconds = Now();
    return kSuccess;
  });
  if (error != kSuccess) return error;
  event->capture = nullptr;
  event->point = {stream, stream->enqueued};
  event->record = std::move(record);
  return kSuccess;
}

CuResult WaitForEvent(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (event.capture) {
    if (event.capture->invalid) return kErrorStreamCaptureInvalidated;
    if (stream->capture && stream->capture != event.capture) {
      event.capture->invalid = true;
      return Invalidate(*stream->capture, kErrorStreamCaptureMerge);
    }
    if (stream->legacy) return Invalidate(*event.capture, kErrorStreamCaptureImplicit);
    stream->capture = event.capture;
    Merge(event.nodes, &stream->frontier);
    return kSuccess;
  }
  if (stream->capture) {
    if (event.record == nullptr) return kSuccess;
    return Invalidate(*stream->capture, kErrorStreamCaptureIsolation);
  }
  if (event.record == nullptr) return kSuccess;
  return Enqueue(stream, [] { return kSuccess; }, {event.point});
}

bool LeadsTo(const Graph& graph, const std::vector<size_t>& last) {
  std::vector<bool> reached(graph.nodes.size(), false);
  for (const size_t node : last) reached[node] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!reached[i]) return false;
    for (const size_t before : graph.nodes[i].after) reached[before] = true;
  }
  return true;
}

CuResult BeginCapture(const std::shared_ptr<Stream>& stream, CuStreamCaptureMode mode) {
  if (stream->legacy) return kErrorStreamCaptureUnsupported;
  if (stream->capture) return Invalidate(*stream->capture, kErrorStreamCaptureUnsupported);
  auto capture = std::make_shared<Capture>();
  capture->context = stream->context;
  capture->graph = std::make_shared<Graph>();
  capture->graph->context = stream->context;
  capture->origin = stream.get();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  stream->capture = std::move(capture);
  stream->frontier.clear();
  return kSuccess;
}

CuResult EndCapture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return kErrorInvalidValue;
  if (capture->origin != stream.get()) return Invalidate(*capture, kErrorStreamCaptureUnmatched);
  if (capture->mode != kCaptureRelaxed && capture->thread != std::this_thread::get_id()) {
    return Invalidate(*capture, kErrorStreamCaptureWrongThread);
  }
  const bool joined = LeadsTo(*capture->graph, stream->frontier);
  for (const std::shared_ptr<Stream>& other : stream->context->queues) {
    if (other->capture != capture) continue;
    other->capture = nullptr;
    other->frontier.clear();
  }
  if (capture->invalid) return kErrorStreamCaptureInvalidated;
  capture->invalid = true;  // for events that were recorded in it
  if (!joined) return kErrorStreamCaptureUnjoined;
  *graph = capture->graph;
  return kSuccess;
}

CuResult CheckUncaptured(Context& context) {
  for (const std::shared_ptr<Stream>& stream : context.queues) {
    const std::shared_ptr<Capture>& capture = stream->capture;
    if (!capture || capture->mode == kCaptureRelaxed) continue;
    const bool own = capture->thread == std::this_thread::get_id();
    if (own || capture->mode == kCaptureGlobal) {
      return Invalidate(*capture, kErrorStreamCaptureUnsupported);
    }
  }
  return kSuccess;
}

}  // namespace tarsia::emulated
