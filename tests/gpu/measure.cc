// Measures a GPU with kernels of Tarsia: copy bandwidth and matrix rate, each verified before it is
// timed. Prints one JSON object.
//
//   gpu_measure [--folder DIR] [--small]
//
// DIR holds copy.tsa and rate.tsa. `--small` is for the emulated driver: little work, whose times
// are not reported.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/cuda/stream.h"
#include "runtime/devices/cuda_device.h"
#include "tests/harness/program.h"

namespace tarsia {
namespace {

using nlohmann::ordered_json;
using runtime::Device;
using runtime::DevicePointer;

struct Options {
  std::string folder = ".";
  bool small = false;

  [[nodiscard]] int rounds() const { return small ? 1 : 9; }
  [[nodiscard]] int launches_a_round() const { return small ? 2 : 10; }
};

// The GPU and its objects for a measurement.
struct Bench {
  const cuda::Driver* driver = nullptr;
  std::shared_ptr<const cuda::Gpu> gpu;
  std::shared_ptr<Device> device;
  Options options;
};

// Device memory that is freed at the end.
class Memory {
 public:
  static Result<Memory> Allocate(Device& device, uint64_t bytes) {
    TARSIA_TRY(const DevicePointer pointer, device.Allocate(bytes));
    return Memory(&device, pointer, bytes);
  }
  Memory(Memory&& other) noexcept
      : device_(other.device_),
        pointer_(std::exchange(other.pointer_, nullptr)),
        bytes_(other.bytes_) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() {
    if (pointer_ != nullptr) (void)device_->Free(pointer_).ok();
  }
  [[nodiscard]] launch::Buffer Argument(bool writable) const {
    return {pointer_, bytes_, writable};
  }

 private:
  Memory(Device* device, DevicePointer pointer, uint64_t bytes)
      : device_(device), pointer_(pointer), bytes_(bytes) {}
  Device* device_;
  DevicePointer pointer_;
  uint64_t bytes_;
};

Result<std::unique_ptr<runtime::LoadedKernel>> LoadKernel(const Bench& bench,
                                                          const std::string& name) {
  std::ifstream in(bench.options.folder + "/" + name + ".tsa", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const SourceFile source(name + ".tsa", text.str());
  harness::Made made = harness::MakeProgram(source, name, {});
  if (!made.program) {
    static constexpr DiagInfo kBad{"bad-kernel", "{}", ""};
    return MakeDiagnostic(kBad, {}, made.error);
  }
  return bench.device->Load(*made.program);
}

// The median over rounds of the milliseconds of a launch in a graph of launches.
Result<double> TimeLaunches(const Bench& bench, const std::function<Status(void*)>& launch) {
  const int launches = bench.options.launches_a_round();
  TARSIA_TRY(const cuda::Stream stream, cuda::Stream::Create(bench.gpu));
  const cuda::CuStream handle = stream.handle();
  TARSIA_TRY(const cuda::Graph graph, cuda::Graph::Capture(bench.gpu, handle, [&]() -> Status {
               for (int i = 0; i < launches; ++i) TARSIA_CHECK(launch(handle));
               return OkStatus();
             }));
  TARSIA_TRY(const cuda::Event start, cuda::Event::Create(bench.gpu));
  TARSIA_TRY(const cuda::Event end, cuda::Event::Create(bench.gpu));
  TARSIA_CHECK(graph.Launch(handle));  // warm
  std::vector<double> times;
  for (int round = 0; round < bench.options.rounds(); ++round) {
    TARSIA_CHECK(start.Record(handle));
    TARSIA_CHECK(graph.Launch(handle));
    TARSIA_CHECK(end.Record(handle));
    TARSIA_CHECK(cuda::Synchronize(*bench.gpu, handle));
    TARSIA_TRY(const double milliseconds, cuda::Milliseconds(start, end));
    times.push_back(milliseconds / launches);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

// Launches once and waits, then times further launches; the times with --small are meaningless.
Result<ordered_json> Run(const Bench& bench, const runtime::LoadedKernel& kernel,
                         const std::vector<launch::Argument>& args,
                         const std::function<Result<bool>()>& verify) {
  runtime::LaunchRequest request;
  request.args = args;
  const auto first = kernel.Launch(request);
  if (!first.ok()) return first.error();
  ordered_json out;
  TARSIA_TRY(out["verified"], verify());
  if (!out["verified"]) return out;
  request.wait = false;
  TARSIA_TRY(const double milliseconds, TimeLaunches(bench, [&](void* stream) -> Status {
               request.stream = stream;
               const auto launched = kernel.Launch(request);
               return launched.ok() ? OkStatus() : Status(launched.error());
             }));
  if (!bench.options.small) out["milliseconds"] = milliseconds;
  return out;
}

Result<ordered_json> MeasureCopy(const Bench& bench) {
  const int32_t words = bench.options.small ? 10'000 : 1 << 27;
  const uint64_t bytes = uint64_t{4} * static_cast<uint64_t>(words);
  TARSIA_TRY(const auto kernel, LoadKernel(bench, "copy"));
  TARSIA_TRY(const Memory x, Memory::Allocate(*bench.device, bytes));
  TARSIA_TRY(const Memory y, Memory::Allocate(*bench.device, bytes));
  std::vector<uint32_t> values(static_cast<size_t>(words));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i) * 2654435761U;
  TARSIA_CHECK(bench.device->Write(x.Argument(false).data, values.data(), bytes, nullptr));
  std::vector<launch::Argument> args = {x.Argument(false), y.Argument(true),
                                        launch::ScalarValue{kI32, static_cast<uint32_t>(words)}};
  TARSIA_TRY(
      ordered_json out, Run(bench, *kernel, args, [&]() -> Result<bool> {
        std::vector<uint32_t> copied(values.size());
        TARSIA_CHECK(bench.device->Read(copied.data(), y.Argument(false).data, bytes, nullptr));
        return copied == values;
      }));
  out["bytes"] = 2 * bytes;
  if (out.contains("milliseconds")) {
    out["gigabytes_per_second"] =
        2e-6 * static_cast<double>(bytes) / out["milliseconds"].get<double>();
  }
  return out;
}

constexpr int kM = 128;
constexpr int kN = 128;
constexpr int kK = 64;

int Element(int i, int j) { return (i + 2 * j) % 3 - 1; }

// Whether each block's tile is `turns` times the product; all sums are small integers, so exact.
bool IsProduct(const std::vector<float>& y, int turns) {
  for (size_t at = 0; at < y.size(); ++at) {
    const int i = static_cast<int>(at / kN % kM);
    const int j = static_cast<int>(at % kN);
    int sum = 0;
    for (int k = 0; k < kK; ++k) sum += Element(i, k) * Element(k, j);
    if (y[at] != static_cast<float>(sum * turns)) return false;
  }
  return true;
}

Result<ordered_json> MeasureRate(const Bench& bench) {
  const int blocks = bench.options.small ? 2 : bench.gpu->properties().multiprocessors * 2;
  const int turns = bench.options.small ? 3 : 4096;
  TARSIA_TRY(const auto kernel, LoadKernel(bench, "rate"));
  std::vector<uint16_t> x(kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      constexpr uint16_t kHalf[] = {0xBC00, 0x0000, 0x3C00};  // -1, 0, 1
      x[static_cast<size_t>(i * kN + j)] = kHalf[Element(i, j) + 1];
    }
  }
  std::vector<float> y(static_cast<size_t>(blocks) * kM * kN);
  TARSIA_TRY(const Memory from, Memory::Allocate(*bench.device, x.size() * 2));
  TARSIA_TRY(const Memory to, Memory::Allocate(*bench.device, y.size() * 4));
  TARSIA_CHECK(bench.device->Write(from.Argument(false).data, x.data(), x.size() * 2, nullptr));
  std::vector<launch::Argument> args = {from.Argument(false), to.Argument(true),
                                        launch::ScalarValue{kI32, static_cast<uint32_t>(blocks)},
                                        launch::ScalarValue{kI32, static_cast<uint32_t>(turns)}};
  TARSIA_TRY(
      ordered_json out, Run(bench, *kernel, args, [&]() -> Result<bool> {
        TARSIA_CHECK(bench.device->Read(y.data(), to.Argument(false).data, y.size() * 4, nullptr));
        return IsProduct(y, turns);
      }));
  const double operations = 2.0 * kM * kN * kK * turns * blocks;
  out["operations"] = operations;
  if (out.contains("milliseconds")) {
    out["teraflops"] = operations * 1e-9 / out["milliseconds"].get<double>();
  }
  return out;
}

ordered_json OrError(const Result<ordered_json>& result) {
  return result.ok() ? *result : ordered_json{{"error", result.error().message}};
}

Result<ordered_json> Measure(const Options& options) {
  Bench bench;
  bench.options = options;
  TARSIA_TRY(bench.driver, cuda::Driver::Get());
  TARSIA_TRY(bench.gpu, cuda::Gpu::Open(*bench.driver, 0));
  TARSIA_TRY(bench.device, runtime::OpenCudaDevice(*bench.driver, 0));
  const cuda::GpuProperties& gpu = bench.gpu->properties();
  ordered_json out;
  out["device"] = gpu.name;
  out["capability"] = fmt::format("{}.{}", gpu.major, gpu.minor);
  out["multiprocessors"] = gpu.multiprocessors;
  out["memory_bytes"] = gpu.memory_bytes;
  out["driver"] = cuda::VersionText(bench.driver->version());
  out["copy_i32"] = OrError(MeasureCopy(bench));
  out["mma_f16_f32"] = OrError(MeasureRate(bench));
  return out;
}

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--small") {
      options->small = true;
    } else if (word == "--folder" && i + 1 < argc) {
      options->folder = argv[++i];
    } else {
      return false;
    }
  }
  return true;
}

int Main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fputs("usage: gpu_measure [--folder DIR] [--small]\n", stderr);
    return 2;
  }
  const Result<ordered_json> out = Measure(options);
  if (!out.ok()) {
    std::fprintf(stderr, "error: %s\n", out.error().message.c_str());
    return 3;
  }
  std::puts(out->dump(2).c_str());
  const auto verified = [&](const char* name) { return (*out)[name].value("verified", false); };
  return verified("copy_i32") && verified("mma_f16_f32") ? 0 : 1;
}

}  // namespace
}  // namespace tarsia

int main(int argc, char** argv) { return tarsia::Main(argc, argv); }
