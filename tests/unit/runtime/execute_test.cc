// tarsia_execute in a serving loop: allocations, workspaces for many sizes, graphs, limits, and
// invalid arguments. The device cuda is the emulated driver.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "tarsia/tarsia.h"
#include "tests/unit/runtime/cuda_testing.h"
#include "tests/unit/runtime/failing_memory.h"
#include "tools/handles.h"

namespace execute_test {
namespace {

using tarsia::testing_memory::BeginExempt;
using tarsia::testing_memory::EndExempt;
using tarsia::testing_memory::Failures;
using tarsia::testing_memory::MallocCanFail;
using tarsia::testing_memory::MemoryFails;
using tarsia::testing_memory::RequestsAreCounted;
using tarsia::tools::Sized;

constexpr std::string_view kText = R"(
kernel scale(%x: ptr<i32>, %y: ptr<i32>, %m: i32, %f: i32)
  assume %m % 2 == 0
  assume %x align 16
  grid (ceildiv(%m, 16))
  warps 1
{
  %b = block.x
  %gx = view %x : global<i32>[%m, 8]
  %gy = view %y : global<i32>[%m, 8]
  %t = load %gx[%b * 16, 0] : [16, 8]
  %t = mul %t, %f
  store %gy[%b * 16, 0], %t
}

// Counts that are zero between launches, and beside them scratch that nobody tidies up.
kernel tidy(%x: ptr<i32>, %y: ptr<i32>, %n: i32)
  grid (%n)
  warps 1
{
  %b = block.x
  %gx = view %x : global<i32>[%n]
  %gy = view %y : global<i32>[%n]
  %keep = alloc.global : i32 [%n]
  %count = alloc.global zeroed : i32 [%n]
  %t = load %gx[%b] : [1]
  store %keep[%b], %t
  assert %n > 0, "no blocks"
  red.add %count[%b], %t
  sync
  %zero = fill 0 : i32 [1]
  %sum = atomic.exch %count[%b], %zero
  store %gy[%b], %sum
}

kernel talk(%n: i32)
  grid (%n)
  warps 1
{
  %b = block.x
  print "b", %b
}

kernel fixed(%y: ptr<i32>)
  warps 1
{
  %gy = view %y : global<i32>[1]
  %keep = alloc.global : i32 [1024]
  %t = fill 7 : i32 [1]
  store %keep[5], %t
  sync
  %u = load %keep[5] : [1]
  store %gy[0], %u
}

kernel with_constants(%y: ptr<i32>)
  const K: int
  const T: dtype
  warps 1
{
  %gy = view %y : global<i32>[K]
  %t = fill 7 : i32 [1]
  store %gy[0], %t
}
)";

class Execute : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (Device() == std::string_view("cuda")) tarsia::cuda::InitialiseDriver();
    ASSERT_EQ(tarsia_module_create(kText.data(), kText.size(), nullptr, &module_, nullptr),
              TARSIA_STATUS_OK)
        << tarsia_last_error();
    ASSERT_EQ(tarsia_device_open(Device(), &device_), TARSIA_STATUS_OK) << tarsia_last_error();
    ASSERT_EQ(tarsia_stream_create(device_, &stream_), TARSIA_STATUS_OK);
    x_ = Memory();
    y_ = Memory();
    values_.resize(kBytes / 4);
    std::iota(values_.begin(), values_.end(), 1);
    ASSERT_EQ(tarsia_memory_write(device_, x_, values_.data(), kBytes, nullptr), TARSIA_STATUS_OK);
  }
  void TearDown() override {
    LeaveDriverOut(false);
    for (void* const memory : memory_) {
      EXPECT_EQ(tarsia_memory_free(device_, memory), TARSIA_STATUS_OK) << tarsia_last_error();
    }
    for (tarsia_plan* const plan : plans_) tarsia_plan_destroy(plan);
    EXPECT_EQ(tarsia_stream_destroy(device_, stream_), TARSIA_STATUS_OK);
    tarsia_device_close(device_);
    tarsia_module_destroy(module_);
  }

  [[nodiscard]] virtual const char* Device() const { return GetParam(); }

  void* Memory(uint64_t bytes = kBytes) {
    void* out = nullptr;
    EXPECT_EQ(tarsia_memory_alloc(device_, bytes, &out), TARSIA_STATUS_OK) << tarsia_last_error();
    memory_.push_back(out);
    return out;
  }

  tarsia_status TryPlan(const char* kernel, tarsia_plan** out, uint64_t workspace_limit = 0,
                        const std::vector<tarsia_binding>& bindings = {}) {
    auto options = Sized<tarsia_plan_options>();
    options.device = Device();
    options.kernel = kernel;
    options.workspace_limit = workspace_limit;
    options.bindings = bindings.data();
    options.binding_count = bindings.size();
    *out = nullptr;
    const auto status = tarsia_plan_create(module_, &options, out, nullptr);
    if (*out != nullptr) plans_.push_back(*out);
    return status;
  }
  tarsia_plan* Plan(const char* kernel, uint64_t workspace_limit = 0) {
    tarsia_plan* plan = nullptr;
    EXPECT_EQ(TryPlan(kernel, &plan, workspace_limit), TARSIA_STATUS_OK) << tarsia_last_error();
    return plan;
  }

  [[nodiscard]] std::vector<tarsia_arg> Scale(int32_t m, int32_t f = 3) const {
    return {tarsia_arg_const_pointer(x_, kBytes), tarsia_arg_pointer(y_, kBytes), tarsia_arg_i32(m),
            tarsia_arg_i32(f)};
  }
  [[nodiscard]] std::vector<tarsia_arg> Tidy(int32_t n) const {
    return {tarsia_arg_const_pointer(x_, kBytes), tarsia_arg_pointer(y_, kBytes),
            tarsia_arg_i32(n)};
  }
  // The bytes of workspace for these arguments; 0 and a test failure if the query fails.
  static uint64_t WorkspaceOf(const tarsia_plan* plan, const std::vector<tarsia_arg>& args) {
    tarsia_query* query = nullptr;
    EXPECT_EQ(tarsia_query_create(plan, args.data(), args.size(), &query), TARSIA_STATUS_OK)
        << tarsia_last_error();
    auto geometry = Sized<tarsia_geometry>();
    EXPECT_EQ(tarsia_query_geometry(query, &geometry), TARSIA_STATUS_OK);
    tarsia_query_destroy(query);
    return geometry.workspace_bytes;
  }
  tarsia_status Run(const tarsia_plan* plan, const std::vector<tarsia_arg>& args,
                    void* workspace = nullptr, const tarsia_execute_options* options = nullptr,
                    tarsia_report** report = nullptr) {
    return tarsia_execute(plan, args.data(), args.size(), workspace, stream_, options, report);
  }
  std::vector<int32_t> Read(size_t count) {
    std::vector<int32_t> out(count);
    EXPECT_EQ(tarsia_memory_read(device_, out.data(), y_, count * 4, stream_), TARSIA_STATUS_OK)
        << tarsia_last_error();
    return out;
  }
  [[nodiscard]] std::vector<int32_t> Expected(size_t count, int32_t factor) const {
    std::vector<int32_t> out(values_.begin(), values_.begin() + static_cast<ptrdiff_t>(count));
    for (int32_t& value : out) value *= factor;
    return out;
  }

  // Allocations of the emulated driver itself are not counted.
  static void LeaveDriverOut(bool out) {
    using namespace tarsia::emulated;
    tarsia::cuda::Symbol<AroundCallsHook>(kAroundCallsHook)(out ? BeginExempt : nullptr,
                                                            out ? EndExempt : nullptr);
  }

  static constexpr size_t kBytes = size_t{1} << 16;
  tarsia_module* module_ = nullptr;
  tarsia_device* device_ = nullptr;
  void* stream_ = nullptr;
  void* x_ = nullptr;
  void* y_ = nullptr;
  std::vector<int32_t> values_;
  std::vector<void*> memory_;
  std::vector<tarsia_plan*> plans_;
};

class ExecuteOnGpu : public Execute {
 protected:
  // The caller's own calls of the driver need a current context.
  void SetUp() override {
    using namespace tarsia::cuda;
    Execute::SetUp();
    CuContext context = nullptr;
    ASSERT_EQ(
        Symbol<decltype(Driver::DevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, 0),
        kSuccess);
    ASSERT_EQ(Symbol<decltype(Driver::CtxPushCurrent)>("cuCtxPushCurrent_v2")(context), kSuccess);
  }
  void TearDown() override {
    using namespace tarsia::cuda;
    CuContext context = nullptr;
    Symbol<decltype(Driver::CtxPopCurrent)>("cuCtxPopCurrent_v2")(&context);
    Execute::TearDown();
    Symbol<decltype(Driver::DevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease_v2")(0);
  }
  [[nodiscard]] const char* Device() const override { return "cuda"; }

  template <typename Call>
  int64_t Allocations(const Call& call) {
    LeaveDriverOut(true);
    Failures none;
    none.with_malloc = MallocCanFail();
    const MemoryFails count(none);
    EXPECT_EQ(call(), TARSIA_STATUS_OK) << tarsia_last_error();
    const int64_t requests = count.requests();
    LeaveDriverOut(false);
    return requests;
  }

  void BeginCapture() {
    const auto begin = tarsia::cuda::Symbol<decltype(tarsia::cuda::Driver::StreamBeginCapture)>(
        "cuStreamBeginCapture_v2");
    ASSERT_EQ(
        begin(static_cast<tarsia::cuda::CuStream>(stream_), tarsia::cuda::kCaptureThreadLocal),
        tarsia::cuda::kSuccess);
  }
  // Ends a capture and runs its graph this many times; returns whether it succeeded.
  bool EndCapture(int runs) {
    using namespace tarsia::cuda;
    CuGraph graph = nullptr;
    const auto stream = static_cast<CuStream>(stream_);
    const bool whole = Symbol<decltype(Driver::StreamEndCapture)>("cuStreamEndCapture")(
                           stream, &graph) == kSuccess;
    if (whole) {
      CuGraphExec exec = nullptr;
      EXPECT_EQ(Symbol<decltype(Driver::GraphInstantiate)>("cuGraphInstantiateWithFlags")(&exec,
                                                                                          graph, 0),
                kSuccess);
      for (int i = 0; i < runs; ++i) {
        EXPECT_EQ(Symbol<decltype(Driver::GraphLaunch)>("cuGraphLaunch")(exec, stream), kSuccess);
      }
      EXPECT_EQ(tarsia_stream_synchronize(device_, stream_), TARSIA_STATUS_OK);
      Symbol<decltype(Driver::GraphExecDestroy)>("cuGraphExecDestroy")(exec);
    }
    if (graph != nullptr) Symbol<decltype(Driver::GraphDestroy)>("cuGraphDestroy")(graph);
    return whole;
  }
};

// ---- allocations -----------------------------------------------------------------------------

TEST_F(ExecuteOnGpu, ALaunchAllocatesNothing) {
  if (!RequestsAreCounted()) GTEST_SKIP() << "the sanitizer has its own operator new";
  tarsia_plan* const plan = Plan("scale");
  const auto args = Scale(64);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Allocations([&] { return Run(plan, args); }), 0);
  EXPECT_EQ(Read(64 * 8), Expected(64 * 8, 3));
  // Checks the counter: a query makes a handle.
  EXPECT_GT(Allocations([&] {
              tarsia_query* query = nullptr;
              const auto status = tarsia_query_create(plan, args.data(), args.size(), &query);
              tarsia_query_destroy(query);
              return status;
            }),
            0);
}

TEST_F(ExecuteOnGpu, ALaunchWithAWorkspaceAllocatesNothing) {
  if (!RequestsAreCounted()) GTEST_SKIP() << "the sanitizer has its own operator new";
  tarsia_plan* const plan = Plan("tidy");
  const uint64_t bytes = WorkspaceOf(plan, Tidy(1000));
  void* const workspace = Memory(bytes);
  const auto args = Tidy(1000);
  EXPECT_EQ(Allocations([&] {
              return tarsia_workspace_init(plan, args.data(), args.size(), workspace, bytes,
                                           stream_);
            }),
            0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Allocations([&] { return Run(plan, args, workspace); }), 0);
  auto options = Sized<tarsia_execute_options>();
  options.cancel = [](void*) { return false; };
  EXPECT_EQ(Allocations([&] { return Run(plan, args, workspace, &options); }), 0);
  EXPECT_EQ(Read(1000), Expected(1000, 1));
}

// ---- workspaces ------------------------------------------------------------------------------

class ExecuteCompiled : public Execute {};

// Initialised once, for one size, and used for larger and smaller ones.
TEST_P(ExecuteCompiled, AWorkspaceServesEverySize) {
  tarsia_plan* const plan = Plan("tidy");
  const uint64_t bytes = WorkspaceOf(plan, Tidy(1000));
  void* const workspace = Memory(bytes);
  ASSERT_EQ(tarsia_memory_fill(device_, workspace, 0xA5, bytes, stream_), TARSIA_STATUS_OK);
  const auto first = Tidy(7);
  ASSERT_EQ(tarsia_workspace_init(plan, first.data(), first.size(), workspace, bytes, stream_),
            TARSIA_STATUS_OK);
  for (const int n : {1000, 7, 300, 1, 999}) {
    ASSERT_EQ(tarsia_memory_fill(device_, y_, 0xFF, kBytes, stream_), TARSIA_STATUS_OK);
    tarsia_report* report = nullptr;
    ASSERT_EQ(Run(plan, Tidy(n), workspace, nullptr, &report), TARSIA_STATUS_OK)
        << n << ": " << tarsia_last_error();
    tarsia_report_destroy(report);
    EXPECT_EQ(Read(static_cast<size_t>(n)), Expected(static_cast<size_t>(n), 1)) << n;
  }
}

TEST_P(ExecuteCompiled, AWorkspaceBeyondItsLimitIsRefused) {
  tarsia_plan* plan = nullptr;
  EXPECT_EQ(TryPlan("fixed", &plan, 4095), TARSIA_STATUS_REJECTED);
  EXPECT_NE(std::string(tarsia_last_error()).find("needs a workspace of 4096 bytes, and the limit"),
            std::string::npos)
      << tarsia_last_error();
  EXPECT_EQ(TryPlan("fixed", &plan, 4096), TARSIA_STATUS_OK);

  plan = Plan("tidy", 3000);
  const auto small = Tidy(64);
  const uint64_t bytes = WorkspaceOf(plan, small);
  EXPECT_LE(bytes, 3000u);
  void* const workspace = Memory(bytes);
  ASSERT_EQ(tarsia_workspace_init(plan, small.data(), small.size(), workspace, bytes, stream_),
            TARSIA_STATUS_OK);
  EXPECT_EQ(Run(plan, small, workspace), TARSIA_STATUS_OK) << tarsia_last_error();
  const auto large = Tidy(1000);
  tarsia_query* query = nullptr;
  EXPECT_EQ(tarsia_query_create(plan, large.data(), large.size(), &query), TARSIA_STATUS_REJECTED);
  EXPECT_EQ(Run(plan, large, workspace), TARSIA_STATUS_REJECTED);
  EXPECT_EQ(tarsia_workspace_init(plan, large.data(), large.size(), workspace, bytes, stream_),
            TARSIA_STATUS_REJECTED);
}

// `print` uses the room that the limit leaves, and reports what did not fit.
TEST_P(ExecuteCompiled, ALimitCutsWhatIsPrinted) {
  tarsia_plan* const plan = Plan("talk", 512);
  const std::vector<tarsia_arg> args = {tarsia_arg_i32(100)};
  const uint64_t bytes = WorkspaceOf(plan, args);
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, 512u);
  void* const workspace = Memory(bytes);
  ASSERT_EQ(tarsia_workspace_init(plan, args.data(), args.size(), workspace, bytes, stream_),
            TARSIA_STATUS_OK);
  std::vector<std::string> lines;
  auto options = Sized<tarsia_execute_options>();
  options.print = [](void* user, const char* text, size_t) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text);
  };
  options.print_user = &lines;
  EXPECT_EQ(Run(plan, args, workspace, &options), TARSIA_STATUS_OK) << tarsia_last_error();
  ASSERT_GT(lines.size(), 2u);
  EXPECT_LT(lines.size(), 100u);
  EXPECT_NE(lines.back().find("did not fit"), std::string::npos) << lines.back();
}

INSTANTIATE_TEST_SUITE_P(On, ExecuteCompiled, testing::Values("ptx", "cuda"),
                         [](const auto& of) { return std::string(of.param); });

// ---- graphs ----------------------------------------------------------------------------------

TEST_F(ExecuteOnGpu, AGraphMakesItsWorkspaceReady) {
  tarsia_plan* const plan = Plan("tidy");
  const auto args = Tidy(500);
  const uint64_t bytes = WorkspaceOf(plan, args);
  void* const workspace = Memory(bytes);
  ASSERT_EQ(tarsia_memory_fill(device_, workspace, 0xA5, bytes, stream_), TARSIA_STATUS_OK);
  BeginCapture();
  EXPECT_EQ(tarsia_workspace_init(plan, args.data(), args.size(), workspace, bytes, stream_),
            TARSIA_STATUS_OK)
      << tarsia_last_error();
  EXPECT_EQ(Run(plan, args, workspace), TARSIA_STATUS_OK) << tarsia_last_error();
  ASSERT_TRUE(EndCapture(2));
  EXPECT_EQ(Read(500), Expected(500, 1));
}

// Calls that have to wait fail with the same error, and the capture continues.
TEST_F(ExecuteOnGpu, CallsThatWaitAreRefusedWithinACapture) {
  tarsia_plan* const plan = Plan("scale");
  const auto args = Scale(32);
  std::vector<int32_t> host(4);
  tarsia_report* report = nullptr;
  auto printing = Sized<tarsia_execute_options>();
  printing.print = [](void*, const char*, size_t) {};
  BeginCapture();
  EXPECT_EQ(Run(plan, args, nullptr, nullptr, &report), TARSIA_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tarsia_last_error()).find("captured"), std::string::npos)
      << tarsia_last_error();
  EXPECT_EQ(Run(plan, args, nullptr, &printing), TARSIA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(
      tarsia_workspace_report(plan, args.data(), args.size(), nullptr, stream_, nullptr, nullptr),
      TARSIA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(tarsia_memory_read(device_, host.data(), x_, 16, stream_),
            TARSIA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(tarsia_memory_write(device_, x_, host.data(), 16, stream_),
            TARSIA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(tarsia_stream_synchronize(device_, stream_), TARSIA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(Run(plan, args), TARSIA_STATUS_OK) << tarsia_last_error();
  ASSERT_TRUE(EndCapture(1));
  EXPECT_EQ(Read(32 * 8), Expected(32 * 8, 3));
}

// The driver refuses these itself, and ends the capture.
TEST_F(ExecuteOnGpu, WhatTheDriverRefusesWithinACaptureHasTheSameStatus) {
  void* memory = nullptr;
  BeginCapture();
  EXPECT_EQ(tarsia_memory_alloc(device_, 64, &memory), TARSIA_STATUS_INVALID_ARGUMENT)
      << tarsia_last_error();
  EXPECT_FALSE(EndCapture(0));
  tarsia_plan* plan = nullptr;
  BeginCapture();
  EXPECT_EQ(TryPlan("fixed", &plan), TARSIA_STATUS_INVALID_ARGUMENT) << tarsia_last_error();
  EXPECT_FALSE(EndCapture(0));
  BeginCapture();
  EXPECT_EQ(tarsia_memory_free(device_, x_), TARSIA_STATUS_INVALID_ARGUMENT) << tarsia_last_error();
  EXPECT_FALSE(EndCapture(0));
}

// ---- arguments -------------------------------------------------------------------------------

class ExecuteEverywhere : public Execute {};

// ceildiv(-1, 16) is 0, which is a valid grid; -1 rows are not valid.
TEST_P(ExecuteEverywhere, ANegativeCountIsRefused) {
  tarsia_plan* const plan = Plan("scale");
  EXPECT_EQ(Run(plan, Scale(-2)), TARSIA_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tarsia_last_error()).find("is -2"), std::string::npos)
      << tarsia_last_error();
  EXPECT_EQ(Run(plan, Scale(0)), TARSIA_STATUS_OK) << tarsia_last_error();
}

TEST_P(ExecuteEverywhere, MessagesDoNotSpeakOfTheCommand) {
  const tarsia_binding wrong_kind = {sizeof wrong_kind, "K", "f16"};
  const tarsia_binding no_text = {sizeof no_text, "K", "("};
  const tarsia_binding unknown = {sizeof unknown, "Z", "1"};
  for (const std::vector<tarsia_binding>& bindings :
       {std::vector<tarsia_binding>{}, {wrong_kind}, {no_text}, {unknown}, {no_text, no_text}}) {
    tarsia_plan* plan = nullptr;
    EXPECT_EQ(TryPlan("with_constants", &plan, 0, bindings), TARSIA_STATUS_REJECTED);
    const std::string text = tarsia_last_error();
    EXPECT_NE(text, "");
    EXPECT_EQ(text.find("--"), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(On, ExecuteEverywhere, testing::Values("cpu", "ptx", "cuda"),
                         [](const auto& of) { return std::string(of.param); });

class ExecuteChecked : public Execute {};

TEST_P(ExecuteChecked, OverlapsAreFound) {
  tarsia_plan* const plan = Plan("scale");
  auto options = Sized<tarsia_execute_options>();
  options.flags = TARSIA_EXECUTE_CHECK;
  const auto run = [&](size_t x, size_t y, size_t bytes) {
    auto* const base = static_cast<char*>(x_);
    const std::vector<tarsia_arg> args = {tarsia_arg_const_pointer(base + x, bytes),
                                          tarsia_arg_pointer(base + y, bytes), tarsia_arg_i32(16),
                                          tarsia_arg_i32(1)};
    tarsia_report* report = nullptr;
    const auto status = Run(plan, args, nullptr, &options, &report);
    std::string ids;
    const tarsia_diagnostics* const found = tarsia_report_findings(report);
    for (size_t i = 0; i < tarsia_diagnostics_count(found); ++i) {
      auto diagnostic = Sized<tarsia_diagnostic>();
      tarsia_diagnostics_get(found, i, &diagnostic);
      if (diagnostic.id == std::string("buffers-overlap")) ids += diagnostic.message;
    }
    EXPECT_EQ(status, ids.empty() ? TARSIA_STATUS_OK : TARSIA_STATUS_FINDINGS)
        << tarsia_last_error();
    tarsia_report_destroy(report);
    return ids;
  };
  const std::string found = "the kernel writes to `%y`, whose buffer overlaps that of `%x`";
  EXPECT_EQ(run(0, 0, 512), found);
  EXPECT_EQ(run(0, 496, 512), found);
  EXPECT_EQ(run(496, 0, 512), found);
  EXPECT_EQ(run(0, 512, 513), found);  // one byte
  EXPECT_EQ(run(512, 0, 513), found);
  EXPECT_EQ(run(0, 512, 512), "");
  EXPECT_EQ(run(512, 0, 512), "");
}

INSTANTIATE_TEST_SUITE_P(On, ExecuteChecked, testing::Values("cpu", "ptx"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace execute_test
