// Cancelled calls, and code that is compiled only once.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/devices/code_cache.h"
#include "support/stop.h"
#include "tarsia/tarsia.h"
#include "tools/handles.h"

namespace cancel_test {
namespace {

using tarsia::tools::Sized;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The most that a busy machine delays us.
constexpr milliseconds kAtOnce{5000};

constexpr std::string_view kEndless = R"(
kernel endless(%y: ptr<i32>)
  grid (8)
  warps 1
{
  %g = view %y : global<i32>[8]
  %b = block.x
  for %i = 0 to 2000000000 {
    for %j = 0 to 2000000000 {
      %t = load %g[%b] : [1]
      %t = add %t, %j
      store %g[%b], %t
    }
  }
}
)";

tarsia_module* ModuleOf(std::string_view text) {
  tarsia_module* module = nullptr;
  EXPECT_EQ(tarsia_module_create(text.data(), text.size(), nullptr, &module, nullptr),
            TARSIA_STATUS_OK)
      << tarsia_last_error();
  return module;
}

// Requests a stop after a while, and counts its calls.
struct Caller {
  explicit Caller(milliseconds after) : until(Clock::now() + after) {}
  static bool Ask(void* user) {
    auto* const self = static_cast<Caller*>(user);
    EXPECT_FALSE(self->asking.exchange(true)) << "by two threads at once";
    ++self->asked;
    const bool stop = Clock::now() >= self->until;
    self->asking = false;
    return stop;
  }
  const Clock::time_point until;
  std::atomic<int> asked{0};
  std::atomic<bool> asking{false};
};
constexpr milliseconds kNever{1'000'000'000};

// ---- launches --------------------------------------------------------------------------------

class Cancel : public testing::TestWithParam<const char*> {};

TEST_P(Cancel, EndsALaunch) {
  tarsia_module* const module = ModuleOf(kEndless);
  auto plan_options = Sized<tarsia_plan_options>();
  plan_options.device = GetParam();
  tarsia_plan* plan = nullptr;
  ASSERT_EQ(tarsia_plan_create(module, &plan_options, &plan, nullptr), TARSIA_STATUS_OK)
      << tarsia_last_error();
  tarsia_device* device = nullptr;
  ASSERT_EQ(tarsia_device_open(GetParam(), &device), TARSIA_STATUS_OK);
  void* y = nullptr;
  ASSERT_EQ(tarsia_memory_alloc(device, 64, &y), TARSIA_STATUS_OK);
  const tarsia_arg arg = tarsia_arg_pointer(y, 64);
  for (const uint32_t threads : {1u, 2u}) {
    for (const int after : {0, 50}) {
      Caller caller{milliseconds(after)};
      auto options = Sized<tarsia_execute_options>();
      options.threads = threads;
      options.cancel = Caller::Ask;
      options.cancel_user = &caller;
      const auto begin = Clock::now();
      tarsia_report* report = nullptr;
      EXPECT_EQ(tarsia_execute(plan, &arg, 1, nullptr, nullptr, &options, &report),
                TARSIA_STATUS_CANCELLED)
          << tarsia_last_error();
      EXPECT_EQ(report, nullptr);
      EXPECT_LT(Clock::now() - begin, milliseconds(after) + kAtOnce);
      EXPECT_GT(caller.asked, 0);
      EXPECT_NE(std::string(tarsia_last_error()).find("the launch of `endless` was cancelled"),
                std::string::npos)
          << tarsia_last_error();
    }
  }
  EXPECT_EQ(tarsia_memory_free(device, y), TARSIA_STATUS_OK);
  tarsia_device_close(device);
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
}

INSTANTIATE_TEST_SUITE_P(On, Cancel, testing::Values("cpu", "ptx"),
                         [](const auto& of) { return std::string(of.param); });

// ---- compiling -------------------------------------------------------------------------------

// Mathematics on 512 elements per thread: minutes of work for LLVM.
std::string LongText() {
  std::string text =
      "kernel long(%x: ptr<f32>)\n  warps 4\n{\n  %g = view %x : global<f32>[65536]\n"
      "  %t = load %g[0] : [65536]\n";
  for (int i = 0; i < 400; ++i) text += i % 2 == 0 ? "  %t = sin %t\n" : "  %t = exp %t\n";
  return text + "  store %g[0], %t\n}\n";
}

tarsia_status MakeCode(const tarsia_module* module, Caller* caller, uint64_t limit_ms,
                       tarsia_code** out) {
  auto options = Sized<tarsia_code_options>();
  options.target = "sm_90a";
  options.cancel = caller != nullptr ? Caller::Ask : nullptr;
  options.cancel_user = caller;
  options.compile_limit_ms = limit_ms;
  return tarsia_code_create(module, &options, out, nullptr);
}

TEST(Cancel, EndsACompilation) {
  tarsia_module* const module = ModuleOf(LongText());
  for (const int after : {0, 100}) {
    Caller caller{milliseconds(after)};
    tarsia_code* code = nullptr;
    const auto begin = Clock::now();
    EXPECT_EQ(MakeCode(module, &caller, 0, &code), TARSIA_STATUS_CANCELLED) << tarsia_last_error();
    EXPECT_LT(Clock::now() - begin, milliseconds(after) + kAtOnce);
    EXPECT_EQ(code, nullptr);
    EXPECT_NE(std::string(tarsia_last_error()).find("compiling kernel `long` was cancelled"),
              std::string::npos)
        << tarsia_last_error();
  }
  // A plan compiles, too.
  Caller caller{milliseconds(50)};
  auto options = Sized<tarsia_plan_options>();
  options.device = "ptx";
  options.cancel = Caller::Ask;
  options.cancel_user = &caller;
  tarsia_plan* plan = nullptr;
  EXPECT_EQ(tarsia_plan_create(module, &options, &plan, nullptr), TARSIA_STATUS_CANCELLED);
  tarsia_module_destroy(module);
}

TEST(Cancel, ACompilationHasALimitOfTime) {
  tarsia_module* const module = ModuleOf(LongText());
  tarsia_code* code = nullptr;
  const auto begin = Clock::now();
  EXPECT_EQ(MakeCode(module, nullptr, 300, &code), TARSIA_STATUS_CANCELLED) << tarsia_last_error();
  EXPECT_GE(Clock::now() - begin, milliseconds(300));
  EXPECT_LT(Clock::now() - begin, milliseconds(300) + kAtOnce);
  EXPECT_NE(std::string(tarsia_last_error()).find("took longer than the limit of 300 ms"),
            std::string::npos)
      << tarsia_last_error();
  tarsia_module_destroy(module);
}

// ---- what was compiled before ----------------------------------------------------------------

constexpr std::string_view kSmall = R"(
kernel small(%y: ptr<i32>)
  const V: int = 3
  warps 1
{
  %g = view %y : global<i32>[1]
  %t = fill V : i32 [1]
  store %g[0], %t
}
)";

// The callback is called only if a kernel is compiled.
int TimesAsked(const tarsia_module* module, const char* value, const char* device,
               tarsia_plan** out) {
  Caller caller{kNever};
  const tarsia_binding binding = {sizeof binding, "V", value};
  auto options = Sized<tarsia_plan_options>();
  options.device = device;
  options.bindings = &binding;
  options.binding_count = 1;
  options.cancel = Caller::Ask;
  options.cancel_user = &caller;
  EXPECT_EQ(tarsia_plan_create(module, &options, out, nullptr), TARSIA_STATUS_OK)
      << tarsia_last_error();
  return caller.asked;
}

TEST(CompiledOnce, AnIdenticalPlanIsNotCompiledAgain) {
  tarsia::runtime::CodeCache::Get().Clear();
  tarsia_module* const module = ModuleOf(kSmall);
  tarsia_module* const same = ModuleOf(kSmall);
  std::vector<tarsia_plan*> plans(5);
  EXPECT_GT(TimesAsked(module, "3", "ptx", &plans[0]), 0);
  EXPECT_EQ(TimesAsked(module, "3", "ptx", &plans[1]), 0);
  EXPECT_EQ(TimesAsked(same, "2 + 1", "ptx", &plans[2]), 0);
  EXPECT_GT(TimesAsked(module, "4", "ptx", &plans[3]), 0);        // another value
  EXPECT_GT(TimesAsked(module, "3", "ptx:sm_80", &plans[4]), 0);  // another target
  for (tarsia_plan* const plan : plans) tarsia_plan_destroy(plan);
  // Nor when no plan is left.
  EXPECT_EQ(TimesAsked(module, "3", "ptx", &plans[0]), 0);
  tarsia_plan_destroy(plans[0]);
  tarsia::runtime::CodeCache::Get().Clear();
  EXPECT_GT(TimesAsked(module, "3", "ptx", &plans[0]), 0);
  tarsia_plan_destroy(plans[0]);
  tarsia_module_destroy(module);
  tarsia_module_destroy(same);
}

// Places in the text are part of the code.
TEST(CompiledOnce, OtherPlacesAreOtherCode) {
  tarsia_module* const module = ModuleOf(kSmall);
  tarsia_module* const moved = ModuleOf("\n" + std::string(kSmall));
  tarsia_plan* plans[2] = {};
  TimesAsked(module, "3", "ptx", &plans[0]);
  EXPECT_GT(TimesAsked(moved, "3", "ptx", &plans[1]), 0);
  for (tarsia_plan* const plan : plans) tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
  tarsia_module_destroy(moved);
}

// Threads that need the same code at the same time get the same code.
TEST(CompiledOnce, ByManyThreads) {
  tarsia::runtime::CodeCache::Get().Clear();
  tarsia_module* const module = ModuleOf(kSmall);
  constexpr size_t kThreads = 8;
  std::vector<tarsia_plan*> plans(kThreads);
  std::vector<const char*> entries(kThreads);
  std::vector<tarsia_code*> codes(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      auto options = Sized<tarsia_plan_options>();
      options.device = "ptx";
      EXPECT_EQ(tarsia_plan_create(module, &options, &plans[i], nullptr), TARSIA_STATUS_OK);
      EXPECT_EQ(tarsia_plan_code(plans[i], &codes[i]), TARSIA_STATUS_OK);
      auto info = Sized<tarsia_code_info>();
      EXPECT_EQ(tarsia_code_get(codes[i], &info), TARSIA_STATUS_OK);
      entries[i] = info.entry;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(entries[i], entries[0]) << "code of its own";
    tarsia_code_destroy(codes[i]);
    tarsia_plan_destroy(plans[i]);
  }
  tarsia_module_destroy(module);
}

// A cancelled compilation leaves nothing that others would use as code.
TEST(CompiledOnce, WhatWasGivenUpIsTriedAgain) {
  tarsia::runtime::CodeCache::Get().Clear();
  tarsia_module* const module = ModuleOf(kSmall);
  Caller at_once{milliseconds(0)};
  tarsia_code* code = nullptr;
  EXPECT_EQ(MakeCode(module, &at_once, 0, &code), TARSIA_STATUS_CANCELLED);
  EXPECT_EQ(MakeCode(module, nullptr, 0, &code), TARSIA_STATUS_OK) << tarsia_last_error();
  tarsia_code_destroy(code);
  tarsia_module_destroy(module);
}

// A thread that waits for another's code makes it itself when the other fails.
TEST(CompiledOnce, WhoWaitedForWhatFailedTriesAgain) {
  using tarsia::runtime::CodeCache;
  std::atomic<bool> begun = false;
  std::atomic<bool> wanted = false;
  std::thread first([&] {
    const auto fail = [&]() -> CodeCache::Made {
      begun = true;
      while (!wanted) std::this_thread::yield();
      std::this_thread::sleep_for(milliseconds(100));
      return tarsia::Diagnostic{};
    };
    EXPECT_FALSE(CodeCache::Get().Find("never made", nullptr, fail).ok());
  });
  while (!begun) std::this_thread::yield();
  bool tried = false;
  tarsia::StopCheck stop(nullptr, std::chrono::seconds(30));
  const auto begin = Clock::now();
  wanted = true;
  const auto try_again = [&]() -> CodeCache::Made {
    tried = true;
    return tarsia::Diagnostic{};
  };
  EXPECT_FALSE(CodeCache::Get().Find("never made", &stop, try_again).ok());
  EXPECT_TRUE(tried);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
  first.join();
}

// ---- programs made for the library of before ------------------------------------------------

TEST(Cancel, StructsWithoutTheNewMembersAreTaken) {
  tarsia_module* const module = ModuleOf(kSmall);
  tarsia_plan_options options = {};
  options.size = offsetof(tarsia_plan_options, cancel);
  options.device = "cpu";
  options.cancel = [](void*) { return true; };  // not read
  options.compile_limit_ms = 1;
  tarsia_plan* plan = nullptr;
  EXPECT_EQ(tarsia_plan_create(module, &options, &plan, nullptr), TARSIA_STATUS_OK)
      << tarsia_last_error();
  alignas(16) int32_t value = 0;
  const tarsia_arg arg = tarsia_arg_pointer(&value, sizeof value);
  tarsia_execute_options execute = {};
  execute.size = offsetof(tarsia_execute_options, cancel);
  execute.cancel = options.cancel;
  EXPECT_EQ(tarsia_execute(plan, &arg, 1, nullptr, nullptr, &execute, nullptr), TARSIA_STATUS_OK)
      << tarsia_last_error();
  EXPECT_EQ(value, 3);
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
}

TEST(Cancel, HasAStatus) {
  EXPECT_EQ(static_cast<int>(TARSIA_STATUS_CANCELLED), 11);
  EXPECT_STREQ(tarsia_status_name(TARSIA_STATUS_CANCELLED), "TARSIA_STATUS_CANCELLED");
}

}  // namespace
}  // namespace cancel_test
