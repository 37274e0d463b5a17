#include "runtime/devices/cpu_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "dtypes/simd.h"
#include "runtime/diagnostics.h"
#include "support/align.h"
#include "support/elapsed.h"

namespace tarsia::runtime {
namespace {

constexpr size_t kAlignment = 256;

class CpuKernel final : public LoadedKernel {
 public:
  CpuKernel(Device& device, std::shared_ptr<const vm::Plan> plan)
      : device_(device), plan_(std::move(plan)) {}

  Result<LaunchResult> Launch(const LaunchRequest& request) const override {
    TARSIA_CHECK(device_.CheckNoStream(request.stream));
    const auto start = std::chrono::steady_clock::now();
    LaunchResult result;
    TARSIA_TRY(result.report, vm::Launch(*plan_, request.args, request.OptionsOrDefault()));
    result.nanoseconds = NanosecondsSince(start);
    return result;
  }

 private:
  Device& device_;
  const std::shared_ptr<const vm::Plan> plan_;
};

class CpuDevice final : public Device {
 public:
  [[nodiscard]] const std::string& name() const override {
    static const std::string name = "cpu";
    return name;
  }
  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kInterpreter; }
  [[nodiscard]] std::string Description() const override {
    return "the interpreter, on the processor";
  }
  [[nodiscard]] TargetLimits Limits() const override { return {}; }
  [[nodiscard]] DeviceModel Model() const override {
    return {true, static_cast<int>(CpuThreads()), 0, 0};
  }

  [[nodiscard]] std::optional<compiler::Target> CodeTarget() const override { return {}; }

  Result<std::unique_ptr<LoadedKernel>> LoadImage(const Program& program,
                                                  std::shared_ptr<const KernelImage>,
                                                  const LoadOptions&) override {
    TARSIA_TRY(std::shared_ptr<const vm::Plan> plan, vm::Prepare(program));
    return std::unique_ptr<LoadedKernel>(new CpuKernel(*this, std::move(plan)));
  }

  Result<DevicePointer> Allocate(uint64_t bytes) override {
    if (bytes == 0) return DevicePointer{nullptr};
    void* const memory = bytes > SIZE_MAX - kAlignment
                             ? nullptr
                             : std::aligned_alloc(kAlignment, AlignUp(bytes, kAlignment));
    if (memory == nullptr) return MakeDiagnostic(diag::kApiOutOfMemoryBytes, Location(), bytes);
    return memory;
  }
  Status Free(DevicePointer memory) override {
    std::free(memory);
    return OkStatus();
  }
  Status Write(DevicePointer to, const void* from, uint64_t bytes, StreamHandle stream) override {
    TARSIA_CHECK(CheckNoStream(stream));
    if (bytes != 0) std::memmove(to, from, bytes);
    return OkStatus();
  }
  Status Read(void* to, DevicePointer from, uint64_t bytes, StreamHandle stream) override {
    TARSIA_CHECK(CheckNoStream(stream));
    if (bytes != 0) std::memmove(to, from, bytes);
    return OkStatus();
  }
  Status Fill(DevicePointer to, uint8_t value, uint64_t bytes, StreamHandle stream) override {
    TARSIA_CHECK(CheckNoStream(stream));
    if (bytes != 0) std::memset(to, value, bytes);
    return OkStatus();
  }
  Status FillWords(DevicePointer to, uint32_t value, uint64_t words, StreamHandle stream) override {
    TARSIA_CHECK(CheckNoStream(stream));
    std::fill_n(static_cast<uint32_t*>(to), words, value);
    return OkStatus();
  }
};

}  // namespace

const char* VectorUnit() { return ChosenSimd().title; }

unsigned CpuThreads() {
  const unsigned threads = std::thread::hardware_concurrency();
  return threads != 0 ? threads : 1;
}

Result<std::shared_ptr<Device>> MakeCpuDevice() {
  TARSIA_CHECK(CheckSimd());
  return std::shared_ptr<Device>(std::make_shared<CpuDevice>());
}

}  // namespace tarsia::runtime
