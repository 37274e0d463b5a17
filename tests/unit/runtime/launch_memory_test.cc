// Launches on the device cpu after the first of a plan: they allocate nothing in any thread, for
// all sizes; they start no threads; and a small one is fast.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/devices/cpu_device.h"
#include "support/environment.h"
#include "tarsia/tarsia.h"
#include "tests/unit/runtime/failing_memory.h"
#include "tools/handles.h"

namespace launch_memory_test {
namespace {

using tarsia::testing_memory::Failures;
using tarsia::testing_memory::MemoryFails;
using tarsia::tools::Handle;
using tarsia::tools::Sized;

// A kernel with one scalar parameter, its last one, which is the amount of work.
struct Case {
  const char* name;
  const char* standard;  // its module in the standard library, or null
  const char* text;
  std::vector<std::pair<const char*, const char*>> constants;
  bool scratch = false;  // it has alloc.global, whose size follows that parameter
};

constexpr char kReductions[] = R"(kernel k(%x: ptr<f16>, %y: ptr<f32>, %i: ptr<i32>, %n: i32)
  grid (ceildiv(%n, 2))
{
  %b = block.x
  %gx = view %x : global<f16>[%n, 80, 6]
  %gy = view %y : global<f32>[%n, 80]
  %gi = view %i : global<i32>[%n, 6]
  %t = load %gx[%b * 2, 0, 0] : [2, 80, 6]
  %s = reduce.sum %t axes [0, 2]
  %w = cast %s : f32
  %v = unsqueeze %w axes [0]
  %d = broadcast %v : [2, 80]
  store %gy[%b * 2, 0], %d
  %m, %a = reduce.argmax %t axis 1
  store %gi[%b * 2, 0], %a
}
)";

constexpr char kMemory[] = R"(kernel k(%x: ptr<i32>, %y: ptr<i32>, %n: i32)
  grid (ceildiv(%n, 16))
{
  %b = block.x
  %gx = view %x : global<i32>[%n]
  %gy = view %y : global<i32>[%n, 2] column_major
  %g = alloc.global zeroed : global<i32>[%n]
  %sm = alloc.shared : shared<i32>[16]
  copy.async %sm[0], %gx[%b * 16] : [16]
  copy.commit
  copy.wait 0
  sync
  %t = load %sm[0] : [16]
  %order = iota axis 0 : reg<i32>[16]
  %p = gather %gx, %order
  %u = add %t, %p
  red.add %g[%b * 16], %u
  red.add %g[%b * 16], %t
  for %i = 1 to 4 {
    %part = view %x : global<i32>[%n / %i]
    %q = load %part[%b] : [16]
    %u = add %u, %q
  }
  %z = fill 0 : reg<i32>[16]
  %old = atomic.exch %g[%b * 16], %z
  %c = unsqueeze %u axes [1]
  store %gy[%b * 16, 1], %c
}
)";

constexpr char kRegisters[] = R"(kernel k(%x: ptr<u8>, %y: ptr<i32>, %n: i32)
  const L: reglayout = spatial(8, 4) * local(2, 2)
  grid (%n)
  warps 1
{
  %b = block.x
  %gx = view %x : global<u4>[%n * 16, 8]
  %gy = view %y : global<i32>[%n * 16, 16]
  %codes = load %gx[%b * 16, 0] : [16, 8] L
  %t = cast %codes : u8
  %p = permute %t order [1, 0]
  %acc = fill 0 : reg<i32>[16, 16]
  %acc = dot %t, %p, %acc
  store %gy[%b * 16, 0], %acc
}
)";

std::vector<Case> Cases() {
  return {
      {"matmul_u4", "matmul", nullptr, {{"K", "96"}, {"N", "80"}, {"W", "u4"}, {"BN", "64"}}},
      {"matmul_f6e3m2", "matmul", nullptr, {{"K", "96"}, {"N", "80"}, {"W", "f6e3m2"}}},
      {"matmul_rows", "matmul", nullptr, {{"K", "64"}, {"N", "64"}, {"BM", "1"}, {"BN", "64"}}},
      {"matmul_scaled", "matmul_scaled", nullptr, {{"K", "128"}, {"N", "64"}, {"BN", "64"}}},
      {"softmax", "softmax", nullptr, {{"D", "100"}}},
      {"reductions", nullptr, kReductions, {}},
      {"memory", nullptr, kMemory, {}, true},
      {"registers", nullptr, kRegisters, {}},
  };
}

Handle<tarsia_plan> MakePlan(const Case& wanted) {
  tarsia_module* made = nullptr;
  const tarsia_status status =
      wanted.standard != nullptr
          ? tarsia_module_create_from_library(wanted.standard, &made)
          : tarsia_module_create(wanted.text, std::strlen(wanted.text), nullptr, &made, nullptr);
  EXPECT_EQ(status, TARSIA_STATUS_OK) << tarsia_last_error();
  const Handle<tarsia_module> module(made);
  std::vector<tarsia_binding> bindings;
  for (const auto& [name, value] : wanted.constants) {
    bindings.push_back({sizeof(tarsia_binding), name, value});
  }
  auto options = Sized<tarsia_plan_options>();
  options.device = "cpu";
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  tarsia_plan* plan = nullptr;
  if (module != nullptr) {
    EXPECT_EQ(tarsia_plan_create(module.get(), &options, &plan, nullptr), TARSIA_STATUS_OK)
        << tarsia_last_error();
  }
  return Handle<tarsia_plan>(plan);
}

// Arguments for one size, with memory for every pointer.
class Arguments {
 public:
  Arguments(const tarsia_plan* plan, int32_t size) {
    auto info = Sized<tarsia_plan_info>();
    EXPECT_EQ(tarsia_plan_get(plan, &info), TARSIA_STATUS_OK);
    for (size_t i = 0; i + 1 < info.param_count; ++i) {
      args_.push_back(tarsia_arg_pointer(nullptr, 0));
    }
    args_.push_back(tarsia_arg_i32(size));
    tarsia_query* made = nullptr;
    EXPECT_EQ(tarsia_query_create(plan, args_.data(), args_.size(), &made), TARSIA_STATUS_OK)
        << tarsia_last_error();
    const Handle<tarsia_query> query(made);
    for (size_t i = 0; i + 1 < info.param_count; ++i) {
      uint64_t bytes = 0;
      EXPECT_EQ(tarsia_query_pointer_bytes(query.get(), i, &bytes), TARSIA_STATUS_OK);
      memory_.emplace_back(bytes);
      args_[i] = tarsia_arg_pointer(memory_.back().data(), bytes);
    }
  }
  [[nodiscard]] tarsia_status Execute(const tarsia_plan* plan, uint32_t threads) const {
    auto options = Sized<tarsia_execute_options>();
    options.threads = threads;
    return tarsia_execute(plan, args_.data(), args_.size(), nullptr, nullptr, &options, nullptr);
  }

 private:
  std::vector<tarsia_arg> args_;
  std::vector<std::vector<uint8_t>> memory_;
};

size_t ThreadsOfProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

class Launches : public testing::TestWithParam<Case> {};

// The first launch is the smallest, so that all later ones have more to do and other extents; but
// scratch that grows is allocated. The threads exist already, for another plan.
TEST_P(Launches, AskForNoMemoryAfterTheFirst) {
  const Handle<tarsia_plan> other = MakePlan(Cases()[0]);
  ASSERT_EQ(Arguments(other.get(), 400).Execute(other.get(), 16), TARSIA_STATUS_OK);
  for (const uint32_t threads : {1u, 4u, 0u}) {
    const Handle<tarsia_plan> plan = MakePlan(GetParam());
    ASSERT_NE(plan, nullptr);
    std::vector<Arguments> sizes;
    for (const int32_t size : {1, 3, 40, 200, 17}) sizes.emplace_back(plan.get(), size);
    const Arguments& first = GetParam().scratch ? sizes[3] : sizes[0];
    ASSERT_EQ(first.Execute(plan.get(), threads), TARSIA_STATUS_OK) << tarsia_last_error();
    const size_t started = ThreadsOfProcess();
    for (int round = 0; round < 10; ++round) {
      for (const Arguments& arguments : sizes) {
        Failures count;
        count.all_threads = true;
        count.with_malloc = true;
        const MemoryFails memory(count);
        const tarsia_status status = arguments.Execute(plan.get(), threads);
        ASSERT_EQ(memory.requests(), 0) << threads << " threads, round " << round;
        ASSERT_EQ(status, TARSIA_STATUS_OK);
      }
    }
    EXPECT_TRUE(threads != 1 || ThreadsOfProcess() == started);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Launches, testing::ValuesIn(Cases()),
                         [](const auto& of) { return std::string(of.param.name); });

// The threads of the first launch that needs some are used by all later ones.
TEST(LaunchThreads, AreStartedOnce) {
  const Handle<tarsia_plan> plan = MakePlan(Cases()[0]);
  ASSERT_NE(plan, nullptr);
  const Arguments arguments(plan.get(), 400);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(arguments.Execute(plan.get(), 4), TARSIA_STATUS_OK);
  const size_t started = ThreadsOfProcess();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(arguments.Execute(plan.get(), 4), TARSIA_STATUS_OK);
  EXPECT_EQ(ThreadsOfProcess(), started);
}

// At most 5 us for y[1, 64] = x[1, 64] * w[64, 64], of which a matrix-vector product at the speed
// of the L2 cache is 1 us. One undisturbed round is enough: other programs may be running.
TEST(LaunchTime, OfASmallMatmul) {
  if (!tarsia::testing_memory::MallocCanFail()) GTEST_SKIP() << "sanitizers take their time";
  const std::string_view unit = tarsia::Environment("TARSIA_SIMD");
  const std::string_view used = !unit.empty() ? unit : tarsia::runtime::VectorUnit();
  if (used.substr(0, 3) != "AVX" && used.substr(0, 3) != "avx") {
    GTEST_SKIP() << used << " has no conversion from f16";
  }
  const Handle<tarsia_plan> plan = MakePlan(
      {"", "matmul", nullptr, {{"K", "64"}, {"N", "64"}, {"BM", "1"}, {"BN", "64"}, {"W", "u4"}}});
  ASSERT_NE(plan, nullptr);
  const Arguments arguments(plan.get(), 1);
  using Clock = std::chrono::steady_clock;
  constexpr int kLaunches = 20;
  double least = 1e9;
  for (const auto end = Clock::now() + std::chrono::seconds(20); least > 5 && Clock::now() < end;) {
    const auto start = Clock::now();
    for (int i = 0; i < kLaunches; ++i) {
      ASSERT_EQ(arguments.Execute(plan.get(), 0), TARSIA_STATUS_OK) << tarsia_last_error();
    }
    const std::chrono::duration<double, std::micro> spent = Clock::now() - start;
    least = std::min(least, spent.count() / kLaunches);
  }
  RecordProperty("microseconds", std::to_string(least));
  EXPECT_LE(least, 5.0) << "microseconds a launch";
}

}  // namespace
}  // namespace launch_memory_test
