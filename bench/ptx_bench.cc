// Thread instructions per second of the PTX emulator on one core: compiled kernels of the language,
// and a hand-written mix, with all checks, with checks and counts, and with neither.
//   bench_ptx --benchmark_min_time=1
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "launch/launch_template.h"
#include "ptx/machine/emulator.h"
#include "runtime/devices/workspace_plan.h"
#include "vm/interpreter.h"

namespace tarsia {
namespace {

using compiler::KernelParameter;

// Integers, floats, a conversion, shared and global memory in a loop.
constexpr char kMix[] = R"(.version 8.4
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[4096];
.visible .entry mix(.param .u64 p) {
.reg .pred q; .reg .b32 r<16>; .reg .b64 rd<4>; .reg .f32 f<8>;
ld.param.u64 rd0, [p];
mov.u32 r0, %tid.x; mov.u32 r1, tile; shl.b32 r2, r0, 2; add.u32 r1, r1, r2;
mov.u32 r12, %ctaid.x; mad.lo.u32 r12, r12, 256, r0;
mul.wide.u32 rd1, r12, 4; add.u64 rd1, rd1, rd0;
mov.u32 r3, 0; mov.f32 f1, 0f3F800000; mov.f32 f2, 0f3F000000; mov.u32 r4, r0;
loop:
mad.lo.u32 r4, r4, 1664525, 1013904223;
xor.b32 r5, r4, r3; shr.u32 r6, r5, 7; and.b32 r7, r6, 1023;
fma.rn.f32 f1, f1, f2, f2; mul.f32 f3, f1, f2; add.f32 f2, f3, 0f3E800000;
st.shared.u32 [r1], r7; ld.shared.u32 r8, [r1];
add.u32 r4, r4, r8;
prmt.b32 r9, r4, r5, 0x5410; lop3.b32 r10, r9, r4, r5, 0x96; add.u32 r4, r4, r10;
cvt.rzi.u32.f32 r11, f2; add.u32 r4, r4, r11;
st.global.u32 [rd1], r4;
add.u32 r3, r3, 1; setp.lt.u32 q, r3, 1000;
@q bra loop;
ret; }
)";

// A kernel on the emulator; the launches of one share its memory.
class Device {
 public:
  bool Load(const std::string& text) {
    const SourceFile source("kernel.ptx", text);
    Diagnostics diagnostics;
    module_ = ptx::ParseModule(source, &diagnostics);
    if (module_ == nullptr) return false;
    auto image = ptx::Image::Load(module_, &memory_);
    if (!image.ok()) return false;
    image_ = *std::move(image);
    return true;
  }

  void Put(size_t offset, uint64_t value, size_t bytes) {
    parameters_.resize(std::max(parameters_.size(), offset + bytes));
    std::memcpy(parameters_.data() + offset, &value, bytes);
  }
  uint64_t Zeros(uint64_t bytes) {
    const auto address = memory_.Allocate(bytes);
    return address.ok() && memory_.Fill(*address, 0, 1, bytes).ok() ? *address : 0;
  }

  void Time(benchmark::State& state, const std::string& entry, ptx::LaunchConfig config) {
    config.parameters = parameters_;
    uint64_t threads = 0;
    uint64_t warps = 0;
    double shadow = 0;
    for (auto _ : state) {
      const auto report = ptx::Launch(*image_, entry, config);
      if (!report.ok() || !report->ok()) {
        state.SkipWithError("the launch failed");
        return;
      }
      threads += report->thread_instructions;
      warps += report->warp_instructions;
      if (report->shadowed_bytes == 0) continue;
      shadow =
          static_cast<double>(report->shadow_bytes) / static_cast<double>(report->shadowed_bytes);
    }
    state.SetItemsProcessed(static_cast<int64_t>(threads));
    state.counters["warps"] =
        benchmark::Counter(static_cast<double>(warps), benchmark::Counter::kIsRate);
    state.counters["shadow"] = benchmark::Counter(shadow);
  }

 private:
  std::shared_ptr<const ptx::Module> module_;
  ptx::Memory memory_;
  std::unique_ptr<ptx::Image> image_;
  std::vector<uint8_t> parameters_;
};

// What an emulated launch does besides running.
enum class Mode : uint8_t { kChecked, kCounted, kPlain };

void Set(Mode mode, ptx::LaunchConfig* config) {
  config->counts = mode == Mode::kCounted;
  config->checks = mode != Mode::kPlain;
}

void Mix(benchmark::State& state, Mode mode) {
  Device device;
  if (!device.Load(kMix)) return state.SkipWithError("the text does not parse");
  device.Put(0, device.Zeros(4096), 8);
  ptx::LaunchConfig config;
  config.grid = {4};
  config.block = {256};
  Set(mode, &config);
  device.Time(state, "mix", config);
}
BENCHMARK_CAPTURE(Mix, checked, Mode::kChecked)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Mix, counted, Mode::kCounted)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Mix, plain, Mode::kPlain)->Unit(benchmark::kMillisecond);

struct Case {
  const char* file;
  const char* kernel;
  std::vector<Binding> constants;
  std::vector<uint64_t> scalars;  // by parameter; 0 for a pointer
  uint64_t bytes;                 // at every pointer
  Mode mode = Mode::kChecked;
};

std::optional<Program> MakeProgram(const Case& item, compiler::Target target) {
  std::ifstream file(std::string(TARSIA_EXAMPLES "/") + item.file);
  const SourceFile source(item.file, {std::istreambuf_iterator<char>(file), {}});
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  if (!module) return std::nullopt;
  const std::optional<ValidModule> valid = Validate(*std::move(module), diagnostics);
  if (!valid) return std::nullopt;
  return Specialise(*valid, item.kernel, item.constants, compiler::LimitsOf(target), diagnostics);
}

void Compiled(benchmark::State& state, const Case& item, compiler::Target target) {
  const std::optional<Program> program = MakeProgram(item, target);
  if (!program) return state.SkipWithError("the example does not parse");
  const auto kernel = compiler::Compile(*program, target);
  int64_t grid[3];
  Device device;
  if (!kernel.ok() || !device.Load(kernel->ptx) ||
      !launch::ResolveGrid(*program, item.scalars, grid).ok()) {
    return state.SkipWithError("the example does not compile");
  }
  const auto workspace = runtime::WorkspacePlan::Make(*program, *kernel, 0);
  runtime::WorkspaceLayout layout;
  if (!workspace.ok() || !workspace->LayOut(*program, item.scalars.data(), &layout).ok()) {
    return state.SkipWithError("the example has no workspace");
  }
  size_t workspaces = 0;
  uint64_t scratch = 0;
  for (size_t i = 0; i < kernel->parameters.size(); ++i) {
    const KernelParameter& parameter = kernel->parameters[i];
    uint64_t value = 0;
    switch (parameter.kind) {
      case KernelParameter::Kind::kScalar:
        value = item.scalars[i];
        break;
      case KernelParameter::Kind::kPointer:
        value = device.Zeros(item.bytes);
        break;
      case KernelParameter::Kind::kWorkspace:
        if (scratch == 0) scratch = device.Zeros(layout.bytes);
        value = scratch + layout.offsets[workspaces++];
        break;
      case KernelParameter::Kind::kReport:
        value = device.Zeros(1 << 16);
        break;
    }
    device.Put(parameter.offset, value, parameter.bytes);
  }
  ptx::LaunchConfig config;
  config.grid = {static_cast<uint32_t>(grid[0]), static_cast<uint32_t>(grid[1]),
                 static_cast<uint32_t>(grid[2])};
  config.block = {static_cast<uint32_t>(kernel->threads)};
  config.dynamic_shared = kernel->shared_bytes;
  Set(item.mode, &config);
  device.Time(state, kernel->name, config);
}

Case MatmulOf(const char* type, Mode mode = Mode::kChecked) {
  return {"matmul.tsa",  "matmul", {{"K", "512"}, {"N", "512"}, {"W", type}},
          {0, 0, 0, 64}, 1 << 18,  mode};
}
Case SoftmaxOf(Mode mode) {
  return {"softmax.tsa", "softmax", {{"D", "256"}}, {0, 0, 256}, 1 << 17, mode};
}

void Sm80(benchmark::State& state, const Case& item) {
  Compiled(state, item, compiler::Target::kSm80);
}
void Sm90a(benchmark::State& state, const Case& item) {
  Compiled(state, item, compiler::Target::kSm90a);
}
BENCHMARK_CAPTURE(Sm80, matmul_u4, MatmulOf("u4"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sm80, matmul_u4_counted, MatmulOf("u4", Mode::kCounted))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sm80, matmul_u4_plain, MatmulOf("u4", Mode::kPlain))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sm80, matmul_f6e3m2, MatmulOf("f6e3m2"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sm80, matmul_f6e3m2_plain, MatmulOf("f6e3m2", Mode::kPlain))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sm80, softmax, SoftmaxOf(Mode::kChecked))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sm80, softmax_plain, SoftmaxOf(Mode::kPlain))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sm90a, matmul_u4, MatmulOf("u4"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sm90a, matmul_u4_plain, MatmulOf("u4", Mode::kPlain))
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tarsia

BENCHMARK_MAIN();
