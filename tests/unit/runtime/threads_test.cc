// Eight threads that plan, save, load and execute at once, with a cache of compiled code that is
// pruned meanwhile: for the thread sanitizer, and for right results.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tarsia/tarsia.h"
#include "tests/unit/runtime/cuda_testing.h"
#include "tools/handles.h"

namespace threads_test {
namespace {

using tarsia::tools::Handle;
using tarsia::tools::Sized;

constexpr char kText[] = R"(kernel scale(%x: ptr<i32>, %y: ptr<i32>, %n: i32)
  const F: int
  grid (ceildiv(%n, 32))
  warps 1
{
  %b = block.x
  %gx = view %x : global<i32>[%n]
  %gy = view %y : global<i32>[%n]
  %t = load %gx[%b * 32] : [32]
  %t = mul %t, F
  store %gy[%b * 32], %t
}
)";
constexpr int kThreads = 8;
constexpr int kRounds = 6;
constexpr int32_t kCount = 40;

Handle<tarsia_plan> MakePlan(const tarsia_module* module, const char* device, int factor) {
  const std::string value = std::to_string(factor);
  const tarsia_binding binding = {sizeof binding, "F", value.c_str()};
  auto options = Sized<tarsia_plan_options>();
  options.device = device;
  options.bindings = &binding;
  options.binding_count = 1;
  tarsia_plan* plan = nullptr;
  EXPECT_EQ(tarsia_plan_create(module, &options, &plan, nullptr), TARSIA_STATUS_OK)
      << tarsia_last_error();
  return Handle<tarsia_plan>(plan);
}

// The plan after it was saved and loaded.
Handle<tarsia_plan> Copy(const tarsia_plan* plan, tarsia_device* device) {
  tarsia_blob* bytes = nullptr;
  EXPECT_EQ(tarsia_plan_save(plan, &bytes), TARSIA_STATUS_OK) << tarsia_last_error();
  tarsia_plan* copy = nullptr;
  EXPECT_EQ(tarsia_plan_load(device, tarsia_blob_data(bytes), tarsia_blob_size(bytes), &copy),
            TARSIA_STATUS_OK)
      << tarsia_last_error();
  tarsia_blob_destroy(bytes);
  return Handle<tarsia_plan>(copy);
}

// Whether every plan scales by its factor.
class Worker {
 public:
  explicit Worker(const char* name) : name_(name) {
    EXPECT_EQ(tarsia_device_open(name, &device_), TARSIA_STATUS_OK) << tarsia_last_error();
    EXPECT_EQ(tarsia_stream_create(device_, &stream_), TARSIA_STATUS_OK);
    for (void** const memory : {&x_, &y_}) {
      EXPECT_EQ(tarsia_memory_alloc(device_, kCount * 4, memory), TARSIA_STATUS_OK);
    }
    for (int32_t i = 0; i < kCount; ++i) values_.push_back(i);
    EXPECT_EQ(tarsia_memory_write(device_, x_, values_.data(), kCount * 4, stream_),
              TARSIA_STATUS_OK);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    tarsia_memory_free(device_, x_);
    tarsia_memory_free(device_, y_);
    tarsia_stream_destroy(device_, stream_);
    tarsia_device_close(device_);
  }
  void Check(const tarsia_module* module, const tarsia_plan* shared, int factor) const {
    const Handle<tarsia_plan> plan = MakePlan(module, name_, factor);
    const Handle<tarsia_plan> copy = Copy(plan.get(), device_);
    EXPECT_EQ(Run(plan.get()), factor);
    EXPECT_EQ(Run(copy.get()), factor);
    EXPECT_EQ(Run(shared), 7);
  }

 private:
  // y[i] / i for the last i, if all are alike.
  [[nodiscard]] int Run(const tarsia_plan* plan) const {
    const tarsia_arg args[] = {tarsia_arg_const_pointer(x_, kCount * 4),
                               tarsia_arg_pointer(y_, kCount * 4), tarsia_arg_i32(kCount)};
    EXPECT_EQ(tarsia_execute(plan, args, 3, nullptr, stream_, nullptr, nullptr), TARSIA_STATUS_OK)
        << tarsia_last_error();
    std::vector<int32_t> y(kCount);
    EXPECT_EQ(tarsia_memory_read(device_, y.data(), y_, kCount * 4, stream_), TARSIA_STATUS_OK);
    const int factor = y.back() / (kCount - 1);
    for (int32_t i = 0; i < kCount; ++i) {
      if (y[static_cast<size_t>(i)] != factor * i) return -1;
    }
    return factor;
  }

  const char* name_;
  tarsia_device* device_ = nullptr;
  void* stream_ = nullptr;
  void* x_ = nullptr;
  void* y_ = nullptr;
  std::vector<int32_t> values_;
};

class Threads : public tarsia::cuda::CudaTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    tarsia::cuda::InitialiseDriver();
    setenv("TARSIA_CUDA_CODE", "ptx", 1);
    folder_ = testing::TempDir() + "threads_" + std::to_string(getpid());
    auto options = Sized<tarsia_cache_options>();
    options.path = folder_.c_str();
    ASSERT_EQ(tarsia_cache_configure(&options), TARSIA_STATUS_OK);
  }
  void TearDown() override {
    EXPECT_EQ(tarsia_cache_configure(nullptr), TARSIA_STATUS_OK);
    std::filesystem::remove_all(folder_);
    unsetenv("TARSIA_CUDA_CODE");
    CudaTest::TearDown();
  }
  std::string folder_;
};

TEST_P(Threads, PlanAndExecuteAtOnce) {
  tarsia_module* made = nullptr;
  ASSERT_EQ(tarsia_module_create(kText, sizeof kText - 1, nullptr, &made, nullptr),
            TARSIA_STATUS_OK);
  const Handle<tarsia_module> module(made);
  const Handle<tarsia_plan> shared = MakePlan(made, GetParam(), 7);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Worker worker(GetParam());
      // Neighbours want the same plans.
      for (int i = 0; i < kRounds; ++i) worker.Check(made, shared.get(), 10 + t / 2 + i);
      auto info = Sized<tarsia_cache_info>();
      EXPECT_EQ(tarsia_cache_get(&info), TARSIA_STATUS_OK);
      EXPECT_EQ(info.path, folder_);
      EXPECT_EQ(tarsia_cache_prune(info.bytes / 2, nullptr), TARSIA_STATUS_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Devices, Threads, testing::Values("cpu", "ptx", "cuda"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace threads_test
