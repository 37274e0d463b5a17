// Work of an emulated device: streams of operations that run when somebody waits for them and no
// sooner, so that a result that is read too early is the old one; captures of streams as graphs.
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

// What an operation does when its turn comes. An error stays with the context.
using Action = std::function<cuda::CuResult()>;

// A place in a stream: behind its first `number` operations.
struct Point {
  std::shared_ptr<Stream> stream;
  uint64_t number = 0;
};

// The places at which a kernel and the one behind it in its stream may overlap (programmatic
// dependent launch): see ptx::LaunchConfig.
struct Overlap {
  std::function<void()> dependents_may_start;
  std::function<void()> dependency_wait;
};
using KernelAction = std::function<cuda::CuResult(const Overlap&)>;

struct Operation {
  std::vector<Point> after;  // besides what stands before it in its stream
  Action run;
  KernelAction kernel;        // instead of `run`
  bool programmatic = false;  // a kernel that may begin before the one before it has ended
};

// Operations in an order in which they may run, and which of them each has to follow.
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
  bool destroyed = false;  // goes once its work is done
  std::deque<Operation> pending;
  bool running = false;  // an operation of it
  uint64_t enqueued = 0;
  uint64_t done = 0;
  // While it is captured: the nodes that the next one follows.
  std::shared_ptr<Capture> capture;
  std::vector<size_t> frontier;
};

// A record of an event: what it stands behind, and when that had run (milliseconds of the host).
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
// blocking ones, and they for it. Errors: a capture that would be waited for.
cuda::CuResult Enqueue(const std::shared_ptr<Stream>& stream, Action action,
                       std::vector<Point> after = {});
// Likewise a kernel. Captured, it waits for the one before it in any case.
cuda::CuResult EnqueueKernel(const std::shared_ptr<Stream>& stream, KernelAction kernel,
                             bool programmatic);
// Runs a stream up to a place, and what that waits for.
void RunUpTo(const Point& point);
// Runs all that is in a stream. Returns the context's error.
cuda::CuResult Drain(const std::shared_ptr<Stream>& stream);
// Runs all that is in a context, of destroyed streams as well.
cuda::CuResult DrainAll(Context& context);
// Runs one operation; whether there was one that can run: not one behind another that is just being
// run and waits.
bool RunOne(const std::shared_ptr<Stream>& stream);

cuda::CuResult RecordEvent(const std::shared_ptr<Event>& event,
                           const std::shared_ptr<Stream>& stream);
cuda::CuResult WaitForEvent(const std::shared_ptr<Stream>& stream, const Event& event);

cuda::CuResult BeginCapture(const std::shared_ptr<Stream>& stream, cuda::CuStreamCaptureMode mode);
// Gives the graph, or an error and no graph; either way the capture is over.
cuda::CuResult EndCapture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph);
// A call that may wait for the device or change its memory, and is not enqueued. An error if a
// capture forbids it, which then comes to nothing.
cuda::CuResult CheckUncaptured(Context& context);

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_WORK_H_
