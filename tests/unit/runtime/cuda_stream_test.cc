// Streams, events, graphs: order, waits, and what a capture allows and forbids.
#include <thread>

#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::cuda::cuda_stream_test {
namespace {

class CudaStream : public CudaTest {
 protected:
  static CuStream Legacy() { return nullptr; }
  // Adds v to the first word.
  static Status Add(const Kernel& kernel, const Words& words, uint32_t v, CuStream stream) {
    return kernel.Launch({1, 1, 1}, Parameters(words.address(), 1, v), stream);
  }
};

TEST_F(CudaStream, RunsWhenWaitedFor) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto stream = Stream::Create(gpu);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 1, stream->handle())), "");
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 1, stream->handle())), "");
  EXPECT_EQ(ReadCounts().pending, 2U);
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{1});
  // Repeated queries finish the work.
  int asked = 0;
  for (Result<bool> done = false; !*done && asked < 10; ++asked) {
    done = IsDone(*gpu, stream->handle());
    ASSERT_TRUE(done.ok());
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{3});
}

TEST_F(CudaStream, IsDestroyedWithItsWork) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  {
    auto first = Stream::Create(gpu);
    const Stream stream(*std::move(first));
    EXPECT_EQ(ErrorOf(Add(*kernel, words, 1, stream.handle())), "");
  }
  EXPECT_EQ(ReadCounts().streams, 0U);
  EXPECT_EQ(ReadCounts().pending, 1U);
  const auto current = CurrentContext::Enter(*gpu);
  EXPECT_EQ(driver().CtxSynchronize(), kSuccess);
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{2});
  EXPECT_EQ(ReadCounts().pending, 0U);
}

TEST_F(CudaStream, IsGivenAway) {
  const auto gpu = OpenGpu();
  CuStream raw = nullptr;
  {
    auto stream = Stream::Create(gpu);
    ASSERT_TRUE(stream.ok());
    raw = stream->Release();
  }
  EXPECT_EQ(ReadCounts().streams, 1U);
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, raw)), "");
  EXPECT_EQ(ErrorOf(DestroyStream(*gpu, raw)), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, raw)),
            "cuStreamSynchronize: CUDA_ERROR_INVALID_HANDLE (invalid handle)");
}

TEST_F(CudaStream, EventsOrderStreams) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto first = Stream::Create(gpu);
  const auto second = Stream::Create(gpu);
  const auto event = Event::Create(gpu, false);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 10, first->handle())), "");
  EXPECT_EQ(ErrorOf(event->Record(first->handle())), "");
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 100, first->handle())), "");
  EXPECT_EQ(ErrorOf(event->MakeWait(second->handle())), "");
  uint32_t seen = 0;
  EXPECT_EQ(ErrorOf(CopyOut(*gpu, &seen, words.address(), 4, second->handle())), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, second->handle())), "");
  EXPECT_EQ(seen, 11U);  // what the event marks, and no more
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, first->handle())), "");
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{111});
}

// Without the event the second stream does not wait.
TEST_F(CudaStream, WithoutAnEventThereIsNoOrder) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto first = Stream::Create(gpu);
  const auto second = Stream::Create(gpu);
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 10, first->handle())), "");
  uint32_t seen = 0;
  EXPECT_EQ(ErrorOf(CopyOut(*gpu, &seen, words.address(), 4, second->handle())), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, second->handle())), "");
  EXPECT_EQ(seen, 1U);
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, first->handle())), "");
}

TEST_F(CudaStream, EventsTellTime) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto start = Event::Create(gpu);
  auto made = Event::Create(gpu);
  const Event end(*std::move(made));
  EXPECT_EQ(ErrorOf(Milliseconds(*start, end)),
            "cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE (invalid handle)");
  EXPECT_TRUE(*end.IsDone());
  EXPECT_EQ(ErrorOf(start->Record(Legacy())), "");
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 1, Legacy())), "");
  EXPECT_EQ(ErrorOf(end.Record(Legacy())), "");
  EXPECT_NE(ErrorOf(Milliseconds(*start, end)).find("NOT_READY"), std::string::npos);
  EXPECT_FALSE(*end.IsDone());
  EXPECT_EQ(ErrorOf(end.Synchronize()), "");
  EXPECT_TRUE(*end.IsDone());
  const auto milliseconds = Milliseconds(*start, end);
  ASSERT_TRUE(milliseconds.ok());
  EXPECT_GT(*milliseconds, 0.0);
  EXPECT_LT(*milliseconds, 60000.0);
  const auto untimed = Event::Create(gpu, false);
  EXPECT_EQ(ErrorOf(untimed->Record(Legacy())), "");
  EXPECT_EQ(ErrorOf(untimed->Synchronize()), "");
  EXPECT_FALSE(Milliseconds(*start, *untimed).ok());
}

// The legacy stream waits for blocking streams, and they wait for it; ours are not blocking.
TEST_F(CudaStream, TheLegacyStreamHasItsRule) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto current = CurrentContext::Enter(*gpu);
  const Driver& d = driver();
  CuStream blocking = nullptr;
  ASSERT_EQ(d.StreamCreate(&blocking, 0), kSuccess);
  const auto own = Stream::Create(gpu);
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 10, blocking)), "");
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 100, own->handle())), "");
  const auto read = Symbol<CuResult (*)(void*, CuDevicePtr, size_t)>("cuMemcpyDtoH_v2");
  uint32_t seen = 0;
  EXPECT_EQ(read(&seen, words.address(), 4), kSuccess);
  EXPECT_EQ(seen, 11U);
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 1000, Legacy())), "");
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 10000, blocking)), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, blocking)), "");
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{11011});
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, own->handle())), "");
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{11111});
  EXPECT_EQ(d.StreamDestroy(blocking), kSuccess);
}

// Synchronous copies and fills of another client of the driver.
TEST_F(CudaStream, CallsWithoutAStreamWait) {
  const auto gpu = OpenGpu();
  const Words words(gpu, {1, 2});
  const auto current = CurrentContext::Enter(*gpu);
  const uint32_t three = 3;
  EXPECT_EQ(Symbol<CuResult (*)(CuDevicePtr, const void*, size_t)>("cuMemcpyHtoD_v2")(
                words.address(), &three, 4),
            kSuccess);
  EXPECT_EQ(words.Peek(), (std::vector<uint32_t>{3, 2}));
  EXPECT_EQ(Symbol<CuResult (*)(CuDevicePtr, CuDevicePtr, size_t)>("cuMemcpyDtoD_v2")(
                words.address() + 4, words.address(), 4),
            kSuccess);
  EXPECT_EQ(words.Peek(), (std::vector<uint32_t>{3, 2}));  // this one is only enqueued
  EXPECT_EQ(
      Symbol<CuResult (*)(CuDevicePtr, unsigned, size_t)>("cuMemsetD32_v2")(words.address(), 9, 1),
      kSuccess);
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, Legacy())), "");
  EXPECT_EQ(words.Peek(), (std::vector<uint32_t>{9, 3}));
}

TEST_F(CudaStream, IsCapturedAndReplayed) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto stream = Stream::Create(gpu);
  const auto graph = Graph::Capture(gpu, stream->handle(), [&]() -> Status {
    EXPECT_TRUE(*IsCapturing(*gpu, stream->handle()));
    TARSIA_CHECK(Fill(*gpu, words.address(), uint32_t{5}, 1, stream->handle()));
    return Add(*kernel, words, 1, stream->handle());
  });
  ASSERT_TRUE(graph.ok()) << ErrorOf(graph);
  EXPECT_FALSE(*IsCapturing(*gpu, stream->handle()));
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, stream->handle())), "");
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{1});  // a capture runs nothing
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ErrorOf(Add(*kernel, words, 100, stream->handle())), "");
    EXPECT_EQ(ErrorOf(graph->Launch(stream->handle())), "");
  }
  EXPECT_EQ(ErrorOf(Add(*kernel, words, 10, stream->handle())), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, stream->handle())), "");
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{16});
}

TEST_F(CudaStream, ACaptureForks) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto stream = Stream::Create(gpu);
  const auto side = Stream::Create(gpu);
  const auto fork = Event::Create(gpu, false);
  const auto join = Event::Create(gpu, false);
  const auto capture = [&](bool joined) {
    return Graph::Capture(gpu, stream->handle(), [&]() -> Status {
      TARSIA_CHECK(Add(*kernel, words, 1, stream->handle()));
      TARSIA_CHECK(fork->Record(stream->handle()));
      TARSIA_CHECK(fork->MakeWait(side->handle()));
      TARSIA_CHECK(Add(*kernel, words, 10, side->handle()));
      TARSIA_CHECK(join->Record(side->handle()));
      if (joined) TARSIA_CHECK(join->MakeWait(stream->handle()));
      return Add(*kernel, words, 100, stream->handle());
    });
  };
  EXPECT_NE(ErrorOf(capture(false)).find("STREAM_CAPTURE_UNJOINED"), std::string::npos);
  const auto graph = capture(true);
  ASSERT_TRUE(graph.ok()) << ErrorOf(graph);
  EXPECT_FALSE(*IsCapturing(*gpu, side->handle()));
  EXPECT_EQ(ErrorOf(graph->Launch(side->handle())), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, side->handle())), "");
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{112});
}

TEST_F(CudaStream, ACaptureForbids) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto stream = Stream::Create(gpu);
  const auto event = Event::Create(gpu);
  EXPECT_EQ(ErrorOf(event->Record(Legacy())), "");
  const auto capture = [&](auto call) {
    return ErrorOf(Graph::Capture(gpu, stream->handle(), [&]() -> Status {
      TARSIA_CHECK(Add(*kernel, words, 1, stream->handle()));
      Status status = call();
      EXPECT_FALSE(status.ok());
      return OkStatus();  // even if the error is ignored, there is no graph
    }));
  };
  const std::string invalidated =
      "cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (the capture failed before)";
  const auto to_status = [](const auto& result) {
    return result.ok() ? OkStatus() : Status(result.error());
  };
  EXPECT_EQ(capture([&] { return Synchronize(*gpu, stream->handle()); }), invalidated);
  EXPECT_EQ(capture([&] { return to_status(AllocateMemory(*gpu, 4)); }), invalidated);
  EXPECT_EQ(capture([&] { return to_status(IsDone(*gpu, stream->handle())); }), invalidated);
  EXPECT_EQ(capture([&] { return event->MakeWait(stream->handle()); }), invalidated);
  EXPECT_EQ(capture([&] { return to_status(Kernel::Load(gpu, TestCode("add"))); }), invalidated);
  EXPECT_NE(ErrorOf(Graph::Capture(gpu, Legacy(), [] { return OkStatus(); }))
                .find("STREAM_CAPTURE_UNSUPPORTED"),
            std::string::npos);
  // An error of captured calls is an error of the capture.
  EXPECT_NE(ErrorOf(Graph::Capture(gpu, stream->handle(),
                                   [&] { return Fill(*gpu, 4, uint8_t{0}, 1, stream->handle()); }))
                .find("cuMemsetD8Async"),
            std::string::npos);
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, stream->handle())), "");
  EXPECT_EQ(ReadCounts().graphs, 0U);
}

TEST_F(CudaStream, CapturedEventsCannotBeWaitedFor) {
  const auto gpu = OpenGpu();
  const auto stream = Stream::Create(gpu);
  const auto event = Event::Create(gpu);
  const auto graph =
      Graph::Capture(gpu, stream->handle(), [&] { return event->Record(stream->handle()); });
  ASSERT_TRUE(graph.ok()) << ErrorOf(graph);
  EXPECT_NE(ErrorOf(event->Synchronize()).find("CAPTURED_EVENT"), std::string::npos);
  EXPECT_NE(ErrorOf(event->IsDone()).find("CAPTURED_EVENT"), std::string::npos);
}

// The capture of a blocking stream, which the legacy stream would have to wait for.
TEST_F(CudaStream, TheLegacyStreamBreaksACapture) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto current = CurrentContext::Enter(*gpu);
  const Driver& d = driver();
  CuStream blocking = nullptr;
  CuGraph graph = nullptr;
  ASSERT_EQ(d.StreamCreate(&blocking, 0), kSuccess);
  ASSERT_EQ(d.StreamBeginCapture(blocking, kCaptureGlobal), kSuccess);
  EXPECT_NE(ErrorOf(Add(*kernel, words, 1, Legacy())).find("STREAM_CAPTURE_IMPLICIT"),
            std::string::npos);
  CuStreamCaptureStatus status = kCaptureNone;
  EXPECT_EQ(d.StreamIsCapturing(blocking, &status), kSuccess);
  EXPECT_EQ(status, kCaptureInvalidated);
  EXPECT_EQ(d.StreamEndCapture(blocking, &graph), kErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(d.StreamDestroy(blocking), kSuccess);
}

TEST_F(CudaStream, ACaptureIsItsThreads) {
  const auto gpu = OpenGpu();
  const auto current = CurrentContext::Enter(*gpu);
  const Driver& d = driver();
  const auto stream = Stream::Create(gpu);
  ASSERT_EQ(d.StreamBeginCapture(stream->handle(), kCaptureThreadLocal), kSuccess);
  std::thread([&] {
    const auto inner = CurrentContext::Enter(*gpu);
    EXPECT_TRUE(Buffer::Allocate(gpu, 4).ok());  // forbidden only to the other thread
    CuGraph graph = nullptr;
    EXPECT_EQ(d.StreamEndCapture(stream->handle(), &graph), kErrorStreamCaptureWrongThread);
  }).join();
  CuGraph graph = nullptr;
  EXPECT_EQ(d.StreamEndCapture(stream->handle(), &graph), kErrorStreamCaptureInvalidated);
  EXPECT_EQ(d.StreamEndCapture(stream->handle(), &graph), kErrorInvalidValue);
}

// In a context where it is not loaded, a kernel can be launched but not captured.
TEST_F(CudaStream, AKernelIsLoadedBeforeTheCapture) {
  const auto gpu = OpenGpu();
  auto kernel = LoadKernel(gpu, "add");
  CuContext own = nullptr;
  ASSERT_EQ(Symbol<CuResult (*)(CuContext*, unsigned, CuDevice)>("cuCtxCreate_v2")(&own, 0, 0),
            kSuccess);
  {
    const Words words(gpu, {1});
    const auto stream = Stream::Create(gpu);
    const auto capture = [&] {
      return Graph::Capture(gpu, stream->handle(),
                            [&] { return Add(*kernel, words, 1, stream->handle()); });
    };
    EXPECT_EQ(IdOf(capture()), "kernel-not-loaded");
    EXPECT_EQ(ErrorOf(kernel->Prepare()), "");
    const auto graph = capture();
    ASSERT_TRUE(graph.ok()) << ErrorOf(graph);
    EXPECT_EQ(ErrorOf(graph->Launch(stream->handle())), "");
    EXPECT_EQ(ErrorOf(Synchronize(*gpu, stream->handle())), "");
    EXPECT_EQ(words.Peek(), std::vector<uint32_t>{2});
  }
  kernel.reset();
  EXPECT_EQ(Symbol<CuResult (*)(CuContext)>("cuCtxDestroy_v2")(own), kSuccess);
}

TEST_F(CudaStream, ThreadsHaveTheirOwn) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const auto work = [&](uint32_t v) {
    const Words words(gpu, {v});
    const auto stream = Stream::Create(gpu);
    ASSERT_TRUE(stream.ok());
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(ErrorOf(Add(*kernel, words, v, stream->handle())), "");
      if (i % 10 != 9) continue;
      EXPECT_EQ(ErrorOf(Synchronize(*gpu, stream->handle())), "");
    }
    EXPECT_EQ(words.Peek(), std::vector<uint32_t>{51 * v});
  };
  std::thread first(work, 3);
  std::thread second(work, 7);
  first.join();
  second.join();
}

TEST_F(CudaStream, DefaultStreamsHaveNames) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  for (const uintptr_t number : {kStreamLegacy, kStreamPerThread}) {
    const auto stream = reinterpret_cast<CuStream>(number);
    EXPECT_EQ(ErrorOf(Add(*kernel, words, 1, stream)), "");
    EXPECT_EQ(ErrorOf(Synchronize(*gpu, stream)), "");
  }
  EXPECT_EQ(words.Peek(), std::vector<uint32_t>{3});
}

TEST_F(CudaStream, SaysWhatTheDriverSays) {
  Reset({{"FAULTS",
          "cuStreamCreate@1=2,cuEventCreate@1=2,cuEventRecord@1=1,cuStreamBeginCapture_v2@1=801,"
          "cuGraphInstantiateWithFlags@1=2,cuGraphLaunch@1=1"}});
  const auto gpu = OpenGpu();
  EXPECT_EQ(IdOf(Stream::Create(gpu)), "out-of-memory");
  EXPECT_EQ(IdOf(Event::Create(gpu)), "out-of-memory");
  const auto stream = Stream::Create(gpu);
  const auto event = Event::Create(gpu);
  EXPECT_EQ(IdOf(event->Record(Legacy())), "cuda-error");
  const auto capture = [&] {
    return Graph::Capture(gpu, stream->handle(), [] { return OkStatus(); });
  };
  EXPECT_EQ(ErrorOf(capture()),
            "cuStreamBeginCapture: CUDA_ERROR_NOT_SUPPORTED (operation not supported)");
  EXPECT_EQ(IdOf(capture()), "out-of-memory");
  const auto graph = capture();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(ErrorOf(graph->Launch(stream->handle())),
            "cuGraphLaunch: CUDA_ERROR_INVALID_VALUE (invalid argument)");
}

}  // namespace
}  // namespace tarsia::cuda::cuda_stream_test
