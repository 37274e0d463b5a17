// Work of an emulated device: streams of operations that run only when a call waits for them, so
// that a result that is read too early is the old one; captures of streams as graphs.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_WORK_H_
#define TARSIA_TESTS_EMULATED_DRIVER_WORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/cuda/driver_types.h"

namespace tarsia::emulated {

struct Context;
struct Stream;
struct Capture;

// The work of an operation. An error stays in the context.
using Action = std::function<cuda::CuResult()>;

// A place in a stream: after its first `number` operations.
struct Point {
  std::shared_ptr<Stream> stream;
  uint64_t number = 0;
};

// The places at which a kernel and the next one in its stream may overlap (programmatic dependent
// launch): see ptx::LaunchConfig.
struct Overlap {
  std::function<void()> dependents_may_start;
  std::function<void()> dependency_wait;
};
using KernelAction = std::function<cuda::CuResult(const Overlap&)>;

struct Operation {
  std::vector<Point> after;  // besides the earlier operations of its stream
  Action run;
  KernelAction kernel;        // instead of `run`
  bool programmatic = false;  // a kernel that may begin before the previous one has ended
};

// Operations in an order in which they may run, and for each the ones it must follow.
struct Graph {
  struct Node {
    std::vector<size_t> after;
    Action run;
  };
  Context* context = nullptr;
  std::vector<Node> nodes;
};

// Whether every node must run before one of `last`, or is one of them.
bool LeadsTo(const Graph& graph, const std::vector<size_t>& last);

struct Capture {
  Context* context = nullptr;
  std::shared_ptr<Graph> graph;
  const Stream* origin = nullptr;
  cuda::CuStreamCaptureMode mode = cuda::kCaptureGlobal;
  std::thread::id thread;
  bool invalid = false;
};

struct Stream {
  Context* context = nullptr;
  bool blocking = true;  // waits for the legacy stream, which waits for it
  bool legacy = false;
  bool destroyed = false;  // removed once its work is done
  std::deque<Operation> pending;
  bool running = false;  // one of its operations runs
  uint64_t enqueued = 0;
  uint64_t done = 0;
  // While it is captured: the nodes that the next one follows.
  std::shared_ptr<Capture> capture;
  std::vector<size_t> frontier;
};

// A record of an event: the work before it, and the time when that was done (milliseconds of the
// host).
struct Record {
  bool done = false;
  double milliseconds = 0;
};

struct Event {
  Context* context = nullptr;
  bool timing = true;
  Point point;                     // of the last record
  std::shared_ptr<Record> record;  // null: never recorded
  // If the last record was captured:
  std::shared_ptr<Capture> capture;
  std::vector<size_t> nodes;
};

// Adds an operation, to the graph if the stream is captured. The legacy stream waits for all
// blocking ones, and they wait for it. Errors: a wait for a captured stream.
cuda::CuResult Enqueue(const std::shared_ptr<Stream>& stream, Action action,
                       std::vector<Point> after = {});
// Adds a kernel. If captured, it always waits for the previous one.
cuda::CuResult EnqueueKernel(const std::shared_ptr<Stream>& stream, KernelAction kernel,
                             bool programmatic);
// Runs a stream up to a place, and the work that this waits for.
void RunUpTo(const Point& point);
// Runs all work of a stream. Returns the context's error.
cuda::CuResult Drain(const std::shared_ptr<Stream>& stream);
// Runs all work of a context, including destroyed streams.
cuda::CuResult DrainAll(Context& context);
// Runs one operation and returns whether one could run; an operation cannot run while an earlier
// one of its stream is running and waits.
bool RunOne(const std::shared_ptr<Stream>& stream);

cuda::CuResult RecordEvent(const std::shared_ptr<Event>& event,
                           const std::shared_ptr<Stream>& stream);
cuda::CuResult WaitForEvent(const std::shared_ptr<Stream>& stream, const Event& event);

cuda::CuResult BeginCapture(const std::shared_ptr<Stream>& stream, cuda::CuStreamCaptureMode mode);
// Returns the graph, or an error and no graph; ends the capture in both cases.
cuda::CuResult EndCapture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph);
// Checks a call that may wait for the device or change its memory and is not enqueued. An error if
// a capture forbids it; the capture is then invalid.
cuda::CuResult CheckUncaptured(Context& context);

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_WORK_H_
