// The device cuda:N on the emulated driver: a program in, results out.
#include "runtime/devices/cuda_device.h"

#include <vector>

#include <fmt/format.h>

#include "runtime/devices/code.h"
#include "tests/harness/program.h"
#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::runtime::cuda_device_test {
namespace {

using cuda::ErrorOf;
using cuda::IdOf;
using cuda::ReadCounts;

constexpr const char* kText = R"(
kernel scale(%x: ptr<i32>, %y: ptr<i32>, %n: i32)
  const F: int
  grid (ceildiv(%n, 64))
  warps 1
{
  %b = block.x
  %gx = view %x : global<i32>[%n]
  %gy = view %y : global<i32>[%n]
  %t = load %gx[%b * 64] : [64]
  %t = mul %t, F
  store %gy[%b * 64], %t
}

kernel talk(%n: i32)
  grid (2)
  warps 1
{
  %b = block.x
  print "n", %n + %b
  assert %b < %n, "too many blocks"
}

// The first block comes last to its line, if it does not run alone.
kernel talk_late(%n: i32)
  grid (16)
  warps 1
{
  %b = block.x
  if %b == 0 {
    %s = mov 0
    for %i = 0 to %n {
      %s = mov %s + %i % 7
    }
    print "sum", %s
  } else {
    print "b", %b
  }
}

// Lets the next kernel begin before it stores.
kernel first(%p: ptr<i32>)
  warps 1
{
  %gp = view %p : global<i32>[32]
  griddep.launch
  %t = fill 7 : i32 [32]
  store %gp[0], %t
}

// Reads what `first` stores: before it waits for it, after, and without waiting.
kernel early(%p: ptr<i32>, %q: ptr<i32>)
  warps 1
{
  %gp = view %p : global<i32>[32]
  %gq = view %q : global<i32>[32]
  %t = load %gp[0] : [32]
  griddep.wait
  store %gq[0], %t
}

kernel waits(%p: ptr<i32>, %q: ptr<i32>)
  warps 1
{
  %gp = view %p : global<i32>[32]
  %gq = view %q : global<i32>[32]
  griddep.wait
  %t = load %gp[0] : [32]
  store %gq[0], %t
}

kernel plain(%p: ptr<i32>, %q: ptr<i32>)
  warps 1
{
  %gp = view %p : global<i32>[32]
  %gq = view %q : global<i32>[32]
  %t = load %gp[0] : [32]
  store %gq[0], %t
}
)";

class CudaDevice : public cuda::CudaTest {
 protected:
  // The driver compiles: an assembler may be there or not.
  void SetUp() override {
    CudaTest::SetUp();
    setenv(kCudaCodeVariable, "ptx", 1);
  }
  void TearDown() override {
    unsetenv(kCudaCodeVariable);
    CudaTest::TearDown();
  }

  std::shared_ptr<Device> Open(int ordinal = 0) {
    auto device = OpenCudaDevice(driver(), ordinal);
    EXPECT_TRUE(device.ok()) << ErrorOf(device);
    return device.ok() ? *device : nullptr;
  }

  static Program MakeProgram(const std::string& kernel, const std::vector<Binding>& constants) {
    harness::Made made = harness::MakeProgram(SourceFile("device.tsa", kText), kernel, constants);
    EXPECT_TRUE(made.program.has_value()) << made.error;
    return *std::move(made.program);
  }

  static std::unique_ptr<LoadedKernel> Load(Device& device, const Program& program) {
    auto kernel = device.Load(program);
    EXPECT_TRUE(kernel.ok()) << ErrorOf(kernel);
    return kernel.ok() ? *std::move(kernel) : nullptr;
  }

  static launch::ScalarValue Int(int32_t value) { return {kI32, static_cast<uint32_t>(value)}; }
};

// 100 words that count, one and a half blocks of them, and as many zeros.
struct Arrays {
  explicit Arrays(Device& on) : device(on) {
    std::vector<int32_t> values(100);
    for (int32_t i = 0; i < 100; ++i) values[static_cast<size_t>(i)] = i;
    x = Take(on.Allocate(400));
    y = Take(on.Allocate(400));
    EXPECT_EQ(ErrorOf(on.Write(x, values.data(), 400, nullptr)), "");
    EXPECT_EQ(ErrorOf(on.Fill(y, 0, 400, nullptr)), "");
    EXPECT_EQ(ErrorOf(on.Synchronize(nullptr)), "");
  }
  ~Arrays() {
    EXPECT_EQ(ErrorOf(device.Free(x)), "");
    EXPECT_EQ(ErrorOf(device.Free(y)), "");
  }
  static DevicePointer Take(const Result<DevicePointer>& pointer) {
    EXPECT_TRUE(pointer.ok()) << ErrorOf(pointer);
    return pointer.ok() ? *pointer : nullptr;
  }
  [[nodiscard]] std::vector<launch::Argument> Args(int32_t n) const {
    return {launch::Buffer{x, 400, false}, launch::Buffer{y, 400, true},
            launch::ScalarValue{kI32, static_cast<uint32_t>(n)}};
  }
  // The sum of y: 0 until the kernel ran, then factor * (0 + 1 + .. + n - 1).
  [[nodiscard]] int32_t Sum(StreamHandle stream = nullptr) const {
    std::vector<int32_t> values(100);
    EXPECT_EQ(ErrorOf(device.Read(values.data(), y, 400, stream)), "");
    int32_t sum = 0;
    for (const int32_t value : values) sum += value;
    return sum;
  }

  Device& device;
  DevicePointer x = nullptr;
  DevicePointer y = nullptr;
};

// What the kernel sees in the first word of the memory that `first`, which runs before it, fills
// with 7.
int32_t SeenBy(Device& device, const LoadedKernel& first, const LoadedKernel& second) {
  const Arrays arrays(device);
  EXPECT_EQ(ErrorOf(device.Fill(arrays.x, 0, 400, nullptr)), "");
  LaunchRequest request;
  request.wait = false;
  const launch::Buffer x{arrays.x, 400, true};
  const std::vector<launch::Argument> one = {x};
  const std::vector<launch::Argument> two = {x, launch::Buffer{arrays.y, 400, true}};
  request.args = one;
  EXPECT_EQ(ErrorOf(first.Launch(request)), "");
  request.args = two;
  EXPECT_EQ(ErrorOf(second.Launch(request)), "");
  EXPECT_EQ(ErrorOf(device.Synchronize(nullptr)), "");
  return arrays.Sum() / 32;
}

// Programmatic dependent launch.
TEST_F(CudaDevice, AKernelThatWaitsBeginsEarly) {
  for (const char* capability : {"9.0", "8.0"}) {
    SCOPED_TRACE(capability);
    Reset({{"CAPABILITY", capability}, {"TOLERATE", "race"}});
    const auto device = Open();
    const auto first = Load(*device, MakeProgram("first", {}));
    const bool hopper = std::string(capability) == "9.0";
    const auto seen = [&](const char* kernel) {
      return SeenBy(*device, *first, *Load(*device, MakeProgram(kernel, {})));
    };
    EXPECT_EQ(seen("early"), hopper ? 0 : 7);
    EXPECT_EQ(seen("waits"), 7);
    EXPECT_EQ(seen("plain"), 7);
  }
}

TEST_F(CudaDevice, DescribesItself) {
  Reset({{"CAPABILITY", "8.6"}, {"DEVICES", "2"}, {"MEMORY", "1610612736"}});
  const auto device = Open(1);
  EXPECT_EQ(device->name(), "cuda:1");
  EXPECT_EQ(device->Description(),
            "Emulated GPU 8.6: compute capability 8.6, 128 multiprocessors, 1.5 GiB");
  EXPECT_EQ(device->Limits().name, "sm_80");
  EXPECT_EQ(device->Limits().shared_bytes, 99 * 1024);  // not the 163 of an A100
}

TEST_F(CudaDevice, ChoosesATarget) {
  const auto target = [](int major, int minor) {
    cuda::GpuProperties gpu;
    gpu.name = "X";
    gpu.major = major;
    gpu.minor = minor;
    const auto found = TargetFor(gpu);
    return found.ok() ? std::string(Row(*found).name) : found.error().message;
  };
  EXPECT_EQ(target(8, 0), "sm_80");
  EXPECT_EQ(target(8, 6), "sm_80");
  EXPECT_EQ(target(8, 7), "sm_80");
  EXPECT_EQ(target(8, 9), "sm_89");
  EXPECT_EQ(target(9, 0), "sm_90a");
  EXPECT_EQ(target(10, 0), "sm_89");
  EXPECT_EQ(target(12, 1), "sm_89");
  EXPECT_EQ(target(7, 5), "cuda:0 (X) has compute capability 7.5, and 8.0 or later is required");
}

TEST_F(CudaDevice, RefusesOldGpus) {
  Reset({{"CAPABILITY", "7.5"}});
  EXPECT_EQ(IdOf(OpenCudaDevice(driver(), 0)), "gpu-too-old");
  EXPECT_EQ(IdOf(OpenCudaDevice(driver(), 1)), "no-cuda-device");
}

TEST_F(CudaDevice, RunsAProgramOnEveryGeneration) {
  for (const char* const capability : {"8.0", "8.6", "8.9", "9.0", "10.0", "12.0"}) {
    Reset({{"CAPABILITY", capability}});
    const auto device = Open();
    const auto kernel = Load(*device, MakeProgram("scale", {{"F", "3"}}));
    const Arrays arrays(*device);
    const std::vector<launch::Argument> args = arrays.Args(100);
    LaunchRequest request;
    request.args = args;
    const auto result = kernel->Launch(request);
    ASSERT_TRUE(result.ok()) << ErrorOf(result);
    EXPECT_EQ(result->report.grid, (std::array<int64_t, 3>{2, 1, 1}));
    EXPECT_EQ(result->report.blocks, 2U);
    EXPECT_GT(result->nanoseconds, 0U);
    EXPECT_EQ(arrays.Sum(), 3 * 4950) << capability;
  }
}

// Machine code is made where an assembler is found; this driver takes PTX only, so it falls back.
TEST_F(CudaDevice, PrefersMachineCode) {
  unsetenv(kCudaCodeVariable);
  const auto device = Open();
  const auto kernel = Load(*device, MakeProgram("scale", {{"F", "2"}}));
  ASSERT_NE(kernel->image(), nullptr);
  const Arrays arrays(*device);
  const std::vector<launch::Argument> args = arrays.Args(10);
  LaunchRequest request;
  request.args = args;
  EXPECT_TRUE(kernel->Launch(request).ok());
  EXPECT_EQ(arrays.Sum(), 90);
}

TEST_F(CudaDevice, EnqueuesOnStreams) {
  const auto device = Open();
  const auto kernel = Load(*device, MakeProgram("scale", {{"F", "1"}}));
  const Arrays arrays(*device);
  const auto stream = device->CreateStream();
  const auto other = device->CreateStream();
  ASSERT_TRUE(stream.ok() && other.ok());
  const std::vector<launch::Argument> args = arrays.Args(100);
  LaunchRequest request;
  request.args = args;
  request.stream = *stream;
  request.wait = false;
  EXPECT_TRUE(kernel->Launch(request).ok());
  EXPECT_EQ(arrays.Sum(*other), 0);  // the first has not been waited for
  EXPECT_TRUE(kernel->Collect(request).ok());
  EXPECT_EQ(arrays.Sum(*other), 4950);
  EXPECT_EQ(ErrorOf(device->DestroyStream(*stream)), "");
  EXPECT_EQ(ErrorOf(device->DestroyStream(*other)), "");
  EXPECT_EQ(ErrorOf(device->DestroyStream(nullptr)), "");
  EXPECT_EQ(IdOf(device->DestroyStream(*other)), "cuda-error");
}

TEST_F(CudaDevice, IsCaptured) {
  const auto device = Open();
  const auto gpu = OpenGpu();
  const auto kernel = Load(*device, MakeProgram("scale", {{"F", "1"}}));
  const Arrays arrays(*device);
  const auto stream = cuda::Stream::Create(gpu);
  const std::vector<launch::Argument> args = arrays.Args(100);
  LaunchRequest request;
  request.args = args;
  request.stream = stream->handle();
  request.wait = false;
  const auto graph = cuda::Graph::Capture(gpu, stream->handle(), [&]() -> Status {
    TARSIA_CHECK(device->Fill(arrays.y, 0, 400, request.stream));
    const auto launched = kernel->Launch(request);
    return launched.ok() ? OkStatus() : Status(launched.error());
  });
  ASSERT_TRUE(graph.ok()) << ErrorOf(graph);
  EXPECT_EQ(arrays.Sum(), 0);
  EXPECT_EQ(ErrorOf(graph->Launch(stream->handle())), "");
  EXPECT_EQ(arrays.Sum(stream->handle()), 4950);
}

TEST_F(CudaDevice, PrintsAndAsserts) {
  const auto device = Open();
  const auto kernel = Load(*device, MakeProgram("talk", {}));
  const std::vector<uint64_t> none(1);
  const auto bytes = kernel->WorkspaceBytes(none);
  ASSERT_TRUE(bytes.ok());
  ASSERT_GT(*bytes, 0U);
  const auto workspace = device->Allocate(*bytes);
  ASSERT_TRUE(workspace.ok());
  EXPECT_EQ(ErrorOf(kernel->InitWorkspace(none, *workspace, *bytes, nullptr)), "");
  std::vector<std::string> lines;
  vm::LaunchOptions options;
  options.print = [&](std::string_view line) { lines.emplace_back(line); };
  std::vector<launch::Argument> args = {Int(2)};
  LaunchRequest request;
  request.args = args;
  request.workspace = *workspace;
  request.options = &options;
  EXPECT_TRUE(kernel->Launch(request).ok());
  EXPECT_EQ(lines, (std::vector<std::string>{"(0, 0, 0) n = 2", "(1, 0, 0) n = 3"}));
  args = {Int(1)};
  EXPECT_EQ(IdOf(kernel->Launch(request)), "assert-failed");
  // Later, for a launch without a wait; then the workspace is as new.
  request.wait = false;
  EXPECT_TRUE(kernel->Launch(request).ok());
  EXPECT_EQ(IdOf(kernel->Collect(request)), "assert-failed");
  EXPECT_TRUE(kernel->Collect(request).ok());
  EXPECT_EQ(ErrorOf(device->Free(*workspace)), "");
}

TEST_F(CudaDevice, PrintsInTheOrderOfTheBlocks) {
  const auto device = Open();
  const auto kernel = Load(*device, MakeProgram("talk_late", {}));
  const std::vector<uint64_t> none(1);
  const auto bytes = kernel->WorkspaceBytes(none);
  ASSERT_TRUE(bytes.ok());
  const auto workspace = device->Allocate(*bytes);
  ASSERT_TRUE(workspace.ok());
  EXPECT_EQ(ErrorOf(kernel->InitWorkspace(none, *workspace, *bytes, nullptr)), "");
  std::vector<std::string> lines;
  vm::LaunchOptions options;
  options.print = [&](std::string_view line) { lines.emplace_back(line); };
  std::vector<launch::Argument> args = {Int(7000)};
  LaunchRequest request;
  request.args = args;
  request.workspace = *workspace;
  request.options = &options;
  EXPECT_TRUE(kernel->Launch(request).ok());
  std::vector<std::string> expected = {"(0, 0, 0) sum = 21000"};
  for (int block = 1; block < 16; ++block) {
    expected.push_back(fmt::format("({}, 0, 0) b = {}", block, block));
  }
  EXPECT_EQ(lines, expected);
  EXPECT_EQ(ErrorOf(device->Free(*workspace)), "");
}

TEST_F(CudaDevice, RefusesWhatItLacks) {
  const auto device = Open();
  const auto kernel = Load(*device, MakeProgram("scale", {{"F", "1"}}));
  const Arrays arrays(*device);
  std::vector<launch::Argument> args = arrays.Args(100);
  vm::LaunchOptions options;
  LaunchRequest request;
  request.args = args;
  request.options = &options;
  options.check = true;
  EXPECT_EQ(IdOf(kernel->Launch(request)), "option-of-interpreter");
  options.check = false;
  options.max_instructions = 5;
  EXPECT_EQ(IdOf(kernel->Launch(request)), "option-of-interpreter");
  request.options = nullptr;
  std::get<launch::Buffer>(args[0]).bytes = 396;
  EXPECT_EQ(IdOf(kernel->Launch(request)), "buffer-too-small");
  args = arrays.Args(0);
  request.args = args;
  EXPECT_TRUE(kernel->Launch(request).ok());
  EXPECT_EQ(ReadCounts().launches, 0U);
}

TEST_F(CudaDevice, SaysThatTheDeviceIsLost) {
  ExpectLost();
  Reset({{"FAULTS", "kernel@1=719"}});
  const auto device = Open();
  const auto kernel = Load(*device, MakeProgram("scale", {{"F", "1"}}));
  DevicePointer x = Arrays::Take(device->Allocate(400));
  std::vector<launch::Argument> args = {launch::Buffer{x, 400, true}, launch::Buffer{x, 400, true},
                                        Int(100)};
  LaunchRequest request;
  request.args = args;
  EXPECT_EQ(IdOf(kernel->Launch(request)), "device-lost");
  EXPECT_EQ(IdOf(device->Allocate(4)), "device-lost");
  EXPECT_EQ(IdOf(kernel->Launch(request)), "device-lost");
}

TEST_F(CudaDevice, GivesAndTakesMemory) {
  Reset({{"MEMORY", "1000"}});
  const auto device = Open();
  EXPECT_EQ(IdOf(device->Allocate(1001)), "out-of-memory");
  EXPECT_EQ(Arrays::Take(device->Allocate(0)), nullptr);
  EXPECT_EQ(ErrorOf(device->Free(nullptr)), "");
  int local = 0;
  EXPECT_EQ(IdOf(device->Free(&local)), "not-device-memory");
  EXPECT_EQ(ErrorOf(device->Write(nullptr, nullptr, 0, nullptr)), "");
}

}  // namespace
}  // namespace tarsia::runtime::cuda_device_test
