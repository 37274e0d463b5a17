// How long a plan takes to be loaded from bytes: tarsia_plan_load of a matmul that splits k over
// blocks. On `cuda` it includes the driver's load of the module (on the emulated driver that reads
// the PTX, which takes longer than all the rest), on `ptx` the emulator's reading of the PTX; `cpu`
// is what both do besides.
//   bench_plan_load --benchmark_min_time=1
#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "tarsia/tarsia.h"

namespace {

std::string SavedPlan(const char* device) {
  const std::array<tarsia_binding, 2> bindings = {
      {{sizeof(tarsia_binding), "K", "4096"}, {sizeof(tarsia_binding), "N", "4096"}}};
  tarsia_plan_options options = {};
  options.size = sizeof options;
  options.device = device;
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  tarsia_module* module = nullptr;
  tarsia_plan* plan = nullptr;
  tarsia_blob* blob = nullptr;
  std::string out;
  if (tarsia_module_create_from_library("stream_k", &module) == TARSIA_STATUS_OK &&
      tarsia_plan_create(module, &options, &plan, nullptr) == TARSIA_STATUS_OK &&
      tarsia_plan_save(plan, &blob) == TARSIA_STATUS_OK) {
    out.assign(tarsia_blob_data(blob), tarsia_blob_size(blob));
  }
  tarsia_blob_destroy(blob);
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
  return out;
}

void Load(benchmark::State& state, const char* made_for, const char* name) {
  tarsia_device* device = nullptr;
  if (tarsia_device_open(name, &device) != TARSIA_STATUS_OK) {
    return state.SkipWithError(tarsia_last_error());
  }
  const std::string bytes = SavedPlan(made_for);
  for (auto _ : state) {
    tarsia_plan* plan = nullptr;
    if (tarsia_plan_load(device, bytes.data(), bytes.size(), &plan) != TARSIA_STATUS_OK) {
      state.SkipWithError(tarsia_last_error());
      break;
    }
    tarsia_plan_destroy(plan);
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes.size()) * state.iterations());
  tarsia_device_close(device);
}

BENCHMARK_CAPTURE(Load, cpu, "ptx:sm_80", "cpu")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Load, ptx, "ptx:sm_80", "ptx:sm_80")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Load, cuda, "cuda", "cuda")->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
