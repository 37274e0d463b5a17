// Which candidate a plan of the quantised matmul takes where a driver says that the code of the
// best keeps numbers in local memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/devices/cuda_device.h"
#include "runtime/matmul/candidates.h"
#include "runtime/matmul/matmul_plan.h"
#include "runtime/matmul/workspace.h"
#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::runtime::matmul_choice_test {
namespace {

using cuda::ErrorOf;

constexpr int64_t kRows = 16;

class MatmulChoice : public cuda::CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    setenv("TARSIA_CUDA_CODE", "ptx", 1);  // the emulated driver does not take machine code
    problem_.m_min = problem_.m_max = kRows;
    problem_.weights.type = kU4;
    problem_.weights.compute = kF16;
    problem_.weights.k = problem_.weights.whole_k = 8192;
    problem_.weights.n = problem_.weights.whole_n = 8192;
    problem_.weights.group = 128;
  }
  void TearDown() override {
    unsetenv("TARSIA_CUDA_CODE");
    CudaTest::TearDown();
  }

  // The device, whose first `count` functions have local memory.
  std::shared_ptr<Device> WithLocalMemory(int count) {
    Reset({{"LOCAL", std::to_string(count)}});
    auto device = OpenCudaDevice(driver(), 0);
    EXPECT_TRUE(device.ok()) << ErrorOf(device);
    return *device;
  }
  // The choice of a plan if its first `count` functions have local memory.
  std::string ChosenAfter(int count, const MatmulOptions& options = {}) {
    const auto plan = MatmulPlan::Make(problem_, WithLocalMemory(count), options);
    EXPECT_TRUE(plan.ok()) << ErrorOf(plan);
    return plan.ok() ? (*plan)->ranges()[0].candidate.Text() : "";
  }
  std::vector<MatmulCandidate> Ranked() {
    const auto device = WithLocalMemory(0);
    return RankMatmul(problem_, device->Model(), device->Limits().shared_bytes, {}, kRows);
  }

  MatmulProblem problem_;
};

TEST_F(MatmulChoice, IsTheBestWhoseNumbersFitIntoRegisters) {
  const auto all = Ranked();
  // The problem is chosen so.
  ASSERT_LT(all.at(2).microseconds, 1.05 * all[0].microseconds);
  EXPECT_EQ(ChosenAfter(0), all[0].Text());
  EXPECT_EQ(ChosenAfter(1), all[1].Text());
  EXPECT_EQ(ChosenAfter(2), all[2].Text());
}

TEST_F(MatmulChoice, StaysWithTheBestWhereOthersTakeLonger) {
  problem_.weights.k = problem_.weights.whole_k = 1024;
  problem_.weights.n = problem_.weights.whole_n = 4096;
  const auto all = Ranked();
  ASSERT_GT(all.at(1).microseconds, 1.05 * all[0].microseconds);  // the problem is chosen so
  EXPECT_EQ(ChosenAfter(1), all[0].Text());
}

TEST_F(MatmulChoice, StaysWithTheBestWhereNoneFits) {
  EXPECT_EQ(ChosenAfter(1000), Ranked()[0].Text());
  EXPECT_EQ(cuda::ReadCounts().modules, 0u) << "kernels that were not taken are unloaded";
}

TEST_F(MatmulChoice, IsWhatTheCallerNames) {
  MatmulOptions options;
  options.candidate = Ranked()[0].Text();
  EXPECT_EQ(ChosenAfter(1, options), *options.candidate);
}

// A stream has sums of its blocks in the workspace.
TEST_F(MatmulChoice, IsTheBestThatHasRoomInTheWorkspace) {
  problem_.m_min = problem_.m_max = 12;
  problem_.weights.n = problem_.weights.whole_n = 10240;
  const auto all = Ranked();
  ASSERT_TRUE(all.at(0).tile.stream);  // the problem is chosen so
  const auto other = std::ranges::find_if(all, [](const auto& one) { return !one.tile.stream; });
  ASSERT_NE(other, all.end());
  MatmulOptions options;
  options.choice.workspace_limit = WorkspaceOf(problem_, all[0], 12).Bytes();
  EXPECT_EQ(ChosenAfter(0, options), all[0].Text());
  options.choice.workspace_limit = 1;
  EXPECT_EQ(ChosenAfter(0, options), other->Text());
}

TEST_F(MatmulChoice, NamesTheSmallestWorkspace) {
  problem_.weights.gathers = true;
  MatmulOptions options;
  options.choice.workspace_limit = 4096;
  const auto plan = MatmulPlan::Make(problem_, WithLocalMemory(0), options);
  ASSERT_FALSE(plan.ok());
  // 16 MiB, and x [16, 8192] in f16 in the order of the weights.
  EXPECT_EQ(
      ErrorOf(plan),
      "a product of 16 to 16 rows needs a workspace of at least 17039360 bytes, and the limit "
      "is 4096");
}

// However large the GPU is, up to 250 processors.
TEST_F(MatmulChoice, HasStreamsWhoseSumsFitBeforeScratch) {
  DeviceModel model = WithLocalMemory(0)->Model();
  model.processors = 250;
  for (const bool gated : {false, true}) {
    problem_.gated = gated;
    for (const int64_t m : {1, 16, 32, 64, 128, 4096}) {
      size_t streams = 0;
      for (const MatmulCandidate& one : RankMatmul(problem_, model, 232448, {}, m)) {
        streams += one.tile.stream;
        EXPECT_LE(WorkspaceOf(problem_, one, m).zero, MatmulWorkspace::kMostZero);
      }
      EXPECT_GT(streams, 0U);
    }
  }
}

// A driver that fails to say is an error of the plan.
TEST_F(MatmulChoice, ReportsAFailingDriver) {
  auto device = WithLocalMemory(0);
  ASSERT_TRUE(MatmulPlan::Make(problem_, device, {}).ok());
  device.reset();
  Reset({{"FAULTS", "cuFuncGetAttribute@2+=999"}});
  auto again = OpenCudaDevice(driver(), 0);
  ASSERT_TRUE(again.ok()) << ErrorOf(again);
  const auto plan = MatmulPlan::Make(problem_, *again, {});
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(ErrorOf(plan).find("cuFuncGetAttribute"), std::string::npos) << ErrorOf(plan);
}

}  // namespace
}  // namespace tarsia::runtime::matmul_choice_test
