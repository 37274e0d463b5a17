// The cost of a launch on the device cpu besides its arithmetic: tarsia_execute of matmuls from the
// standard library that are as small as those in the steps of a decoder, on all threads.
//   bench_launch --benchmark_min_time=1
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tarsia/tarsia.h"

namespace {

// y[m, N] = x[m, K] * w[K, N] with K = N = 64 and tiles of one row, as a plan of the C API.
class Matmul {
 public:
  explicit Matmul(const char* type) {
    const std::array<tarsia_binding, 5> bindings = {{{sizeof(tarsia_binding), "K", "64"},
                                                     {sizeof(tarsia_binding), "N", "64"},
                                                     {sizeof(tarsia_binding), "BM", "1"},
                                                     {sizeof(tarsia_binding), "BN", "64"},
                                                     {sizeof(tarsia_binding), "W", type}}};
    tarsia_plan_options options = {};
    options.size = sizeof options;
    options.device = "cpu";
    options.bindings = bindings.data();
    options.binding_count = bindings.size();
    tarsia_module* module = nullptr;
    ok_ = tarsia_module_create_from_library("matmul", &module) == TARSIA_STATUS_OK &&
          tarsia_plan_create(module, &options, &plan_, nullptr) == TARSIA_STATUS_OK;
    tarsia_module_destroy(module);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  ~Matmul() { tarsia_plan_destroy(plan_); }

  [[nodiscard]] bool Run(std::vector<uint16_t>& x, std::vector<uint8_t>& w,
                         std::vector<uint16_t>& y) const {
    const tarsia_arg args[] = {tarsia_arg_const_pointer(x.data(), x.size() * 2),
                               tarsia_arg_const_pointer(w.data(), w.size()),
                               tarsia_arg_pointer(y.data(), y.size() * 2),
                               tarsia_arg_i32(static_cast<int32_t>(x.size() / 64))};
    return ok_ &&
           tarsia_execute(plan_, args, 4, nullptr, nullptr, nullptr, nullptr) == TARSIA_STATUS_OK;
  }

 private:
  tarsia_plan* plan_ = nullptr;
  bool ok_ = false;
};

void Execute(benchmark::State& state, const char* type) {
  const auto m = static_cast<size_t>(state.range(0));
  const Matmul matmul(type);
  std::vector<uint16_t> x(m * 64, 0x3C00);        // 1 in f16
  std::vector<uint8_t> w(size_t{64} * 64, 0x11);  // 1 in u4 and in i4; 17 in u8
  std::vector<uint16_t> y(m * 64);
  if (!matmul.Run(x, w, y)) return state.SkipWithError("tarsia_execute failed");
  const uint16_t wanted = std::string(type) == "u8" ? 0x6440 : 0x5400;  // 64 times 17 and 1
  for (const uint16_t code : y) {
    if (code != wanted) return state.SkipWithError("the product is wrong");
  }
  for (auto _ : state) {
    if (!matmul.Run(x, w, y)) return state.SkipWithError("tarsia_execute failed");
  }
}

BENCHMARK_CAPTURE(Execute, u4, "u4")->Arg(1)->Arg(4)->Arg(64)->UseRealTime();
BENCHMARK_CAPTURE(Execute, u8, "u8")->Arg(1)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
