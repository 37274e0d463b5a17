// Out of memory: allocations of the C API fail alone, in pairs, or all from one on, on this thread
// and on all. Each time the call must report it, leak nothing, and work when it is called again.
// compile_memory_test.cc tests failures in LLVM.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/devices/code_cache.h"
#include "tarsia/tarsia.h"
#include "tests/settings.h"
#include "tests/unit/runtime/cuda_testing.h"
#include "tests/unit/runtime/failing_memory.h"
#include "tests/unit/runtime/out_of_memory.h"

namespace allocation_test {
namespace {

using tarsia::testing_memory::Call;
using tarsia::testing_memory::FailAll;
using tarsia::testing_memory::FailSome;
using tarsia::testing_memory::Failures;
using tarsia::testing_memory::MallocCanFail;
using tarsia::testing_memory::With;

constexpr char kProgram[] = R"(kernel k(%x: ptr<f32>, %y: ptr<f32>, %n: i32)
  const B: int = 8 tune {8, 16}
  const L: reglayout = replicate(16) * spatial(8)
  grid (ceildiv(%n, B))
{
  %gx = view %x : global<f32>[%n]
  %gy = view %y : global<f32>[%n]
  %b = block.x
  %t = load %gx[%b * B] : [B] L
  %u = mul %t, 2.0
  store %gy[%b * B], %u
}
)";

tarsia_module* Module() {
  tarsia_module* module = nullptr;
  EXPECT_EQ(tarsia_module_create(kProgram, sizeof kProgram - 1, nullptr, &module, nullptr),
            TARSIA_STATUS_OK)
      << tarsia_last_error();
  return module;
}

TEST(OutOfMemory, ModuleCreate) {
  FailAll(
      [] {
        tarsia_module* module = nullptr;
        const auto status =
            tarsia_module_create(kProgram, sizeof kProgram - 1, nullptr, &module, nullptr);
        EXPECT_EQ(module != nullptr, status == TARSIA_STATUS_OK);
        tarsia_module_destroy(module);
        return status;
      },
      10);
}

TEST(OutOfMemory, EncodeAndPrint) {
  tarsia_module* const module = Module();
  ASSERT_NE(module, nullptr);
  FailAll(
      [&] {
        tarsia_blob* blob = nullptr;
        auto status = tarsia_module_encode(module, nullptr, &blob);
        tarsia_blob_destroy(blob);
        if (status != TARSIA_STATUS_OK) return status;
        status = tarsia_module_print(module, &blob);
        tarsia_blob_destroy(blob);
        return status;
      },
      2);
  tarsia_module_destroy(module);
}

// ---- on every kind of device ----------------------------------------------------------------

class DeviceMemory : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    LeaveDriverOut(true);
    if (GetParam() == std::string("cuda")) tarsia::cuda::InitialiseDriver();
    module_ = Module();
    ASSERT_NE(module_, nullptr);
    ASSERT_EQ(tarsia_device_open(GetParam(), &device_), TARSIA_STATUS_OK) << tarsia_last_error();
    ASSERT_EQ(MakePlan(&plan_), TARSIA_STATUS_OK) << tarsia_last_error();
    ASSERT_EQ(tarsia_memory_alloc(device_, kBytes, &x_), TARSIA_STATUS_OK);
    ASSERT_EQ(tarsia_memory_alloc(device_, kBytes, &y_), TARSIA_STATUS_OK);
    std::array<float, kCount> values{};
    for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i + 1);
    ASSERT_EQ(tarsia_memory_write(device_, x_, values.data(), kBytes, nullptr), TARSIA_STATUS_OK);
    args_ = {tarsia_arg_const_pointer(x_, kBytes), tarsia_arg_pointer(y_, kBytes),
             tarsia_arg_i32(kCount)};
  }
  void TearDown() override {
    EXPECT_EQ(tarsia_memory_free(device_, x_), TARSIA_STATUS_OK);
    EXPECT_EQ(tarsia_memory_free(device_, y_), TARSIA_STATUS_OK);
    tarsia_plan_destroy(plan_);
    tarsia_device_close(device_);
    tarsia_module_destroy(module_);
    LeaveDriverOut(false);
  }

  // The emulated driver simulates a GPU, which runs kernels without memory of the host.
  static void LeaveDriverOut(bool out) {
    if (GetParam() != std::string("cuda")) return;
    using namespace tarsia::emulated;
    tarsia::cuda::Symbol<AroundCallsHook>(kAroundCallsHook)(
        out ? tarsia::testing_memory::BeginExempt : nullptr,
        out ? tarsia::testing_memory::EndExempt : nullptr);
  }

  tarsia_status MakePlan(tarsia_plan** plan) {
    tarsia_plan_options options = {};
    options.size = sizeof options;
    options.device = GetParam();
    options.compile_limit_ms = compile_limit_ms_;
    return tarsia_plan_create(module_, &options, plan, nullptr);
  }

  tarsia_status MakeAndDestroyPlan() {
    tarsia_plan* plan = nullptr;
    const auto status = MakePlan(&plan);
    EXPECT_EQ(plan != nullptr, status == TARSIA_STATUS_OK);
    tarsia_plan_destroy(plan);
    return status;
  }

  tarsia_status Execute(const tarsia_execute_options* options, tarsia_report** report) {
    return tarsia_execute(plan_, args_.data(), args_.size(), nullptr, nullptr, options, report);
  }

  // Fills y with other values, runs, and checks y.
  void ExpectDoubles() {
    std::array<float, kCount> values{};
    ASSERT_EQ(tarsia_memory_fill(device_, y_, 0xFF, kBytes, nullptr), TARSIA_STATUS_OK);
    ASSERT_EQ(Execute(nullptr, nullptr), TARSIA_STATUS_OK) << tarsia_last_error();
    ASSERT_EQ(tarsia_memory_read(device_, values.data(), y_, kBytes, nullptr), TARSIA_STATUS_OK);
    for (size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(values[i], static_cast<float>(2 * (i + 1))) << i;
    }
  }

  static constexpr size_t kCount = 36;
  static constexpr size_t kBytes = kCount * sizeof(float);
  uint64_t compile_limit_ms_ = 0;
  tarsia_module* module_ = nullptr;
  tarsia_device* device_ = nullptr;
  tarsia_plan* plan_ = nullptr;
  void* x_ = nullptr;
  void* y_ = nullptr;
  std::array<tarsia_arg, 3> args_{};
};

// After a failure in LLVM its memory is lost (compile_memory_test.cc), and there are too many
// allocations to try each.
TEST_P(DeviceMemory, PlanCreate) {
  tarsia_plan_destroy(std::exchange(plan_, nullptr));  // so that its code is not in use
  const Call call = [&] {
    tarsia::runtime::CodeCache::Get().Clear();
    return MakeAndDestroyPlan();
  };
  if (GetParam() == std::string("cpu")) return FailAll(call, 10);
  tarsia::testing_memory::LeaksAreMeant();
  for (const int kind : {0, 1, 2, 3}) {
    Failures failures;
    failures.with_malloc = kind % 2 != 0;
    if (failures.with_malloc && !MallocCanFail()) continue;
    failures.all_threads = kind >= 2;
    compile_limit_ms_ = kind >= 2 ? 3'600'000 : 0;  // with a limit a separate thread compiles
    const int64_t requests = With(failures, call).requests;
    EXPECT_GT(requests, 1000);
    FailSome(call, requests, failures);
  }
}

// A plan that was compiled before.
TEST_P(DeviceMemory, PlanCreateAgain) {
  FailAll([&] { return MakeAndDestroyPlan(); }, 10);
}

TEST_P(DeviceMemory, Query) {
  FailAll(
      [&] {
        tarsia_query* query = nullptr;
        const auto status = tarsia_query_create(plan_, args_.data(), args_.size(), &query);
        EXPECT_EQ(query != nullptr, status == TARSIA_STATUS_OK);
        tarsia_query_destroy(query);
        return status;
      },
      2);
}

TEST_P(DeviceMemory, Execute) {
  FailAll([&] { return Execute(nullptr, nullptr); }, 0);
  ExpectDoubles();
}

// With a report, which waits for the end; in all threads, so that workers fail repeatedly.
TEST_P(DeviceMemory, ExecuteOnManyThreads) {
  tarsia_execute_options options = {};
  options.size = sizeof options;
  options.threads = 4;
  FailAll(
      [&] {
        tarsia_report* report = nullptr;
        const auto status = Execute(&options, &report);
        EXPECT_EQ(report != nullptr, status == TARSIA_STATUS_OK);
        tarsia_report_destroy(report);
        return status;
      },
      1, /*all_threads=*/true);
  ExpectDoubles();
}

TEST_P(DeviceMemory, ExecuteWithChecks) {
  if (GetParam() == std::string("cuda")) GTEST_SKIP() << "a GPU checks nothing";
  tarsia_execute_options options = {};
  options.size = sizeof options;
  options.flags = TARSIA_EXECUTE_CHECK;
  FailAll([&] { return Execute(&options, nullptr); }, 10, /*all_threads=*/true);
  ExpectDoubles();
}

TEST_P(DeviceMemory, Copies) {
  FailAll(
      [&] {
        std::array<float, kCount> values{};
        auto status = tarsia_memory_fill(device_, y_, 1, kBytes, nullptr);
        if (status != TARSIA_STATUS_OK) return status;
        status = tarsia_memory_read(device_, values.data(), y_, kBytes, nullptr);
        if (status != TARSIA_STATUS_OK) return status;
        return tarsia_memory_write(device_, y_, values.data(), kBytes, nullptr);
      },
      0);
  ExpectDoubles();
}

TEST_P(DeviceMemory, AllocateAndFree) {
  std::vector<void*> kept;  // memory that could not be freed during the failure
  kept.reserve(1'000'000);
  FailAll(
      [&] {
        void* memory = nullptr;
        auto status = tarsia_memory_alloc(device_, kBytes, &memory);
        EXPECT_EQ(memory != nullptr, status == TARSIA_STATUS_OK);
        if (status == TARSIA_STATUS_OK) status = tarsia_memory_free(device_, memory);
        if (memory != nullptr && status != TARSIA_STATUS_OK) kept.push_back(memory);
        return status;
      },
      0);
  for (void* const memory : kept) {
    EXPECT_EQ(tarsia_memory_free(device_, memory), TARSIA_STATUS_OK) << tarsia_last_error();
  }
}

INSTANTIATE_TEST_SUITE_P(OutOfMemory, DeviceMemory, testing::Values("cpu", "ptx", "cuda"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace allocation_test
