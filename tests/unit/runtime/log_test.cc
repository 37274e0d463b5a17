// The log when the library falls back: each time one line, with the reason.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/devices/code_cache.h"
#include "runtime/devices/device.h"
#include "tarsia/tarsia.h"
#include "tests/unit/runtime/cuda_testing.h"

namespace log_test {
namespace {

constexpr char kProgram[] = R"(kernel k(%x: ptr<f32>)
{
  %g = view %x : global<f32>[1]
  %t = load %g[0] : [1]
}
)";

struct Line {
  tarsia_log_level level{};
  std::string text;
};

class FallBack : public tarsia::cuda::CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    tarsia::cuda::InitialiseDriver();
    Unset("TARSIA_CUDA_CODE");
    tarsia::runtime::CodeCache::Get().Clear();  // assembled each time
    ASSERT_EQ(tarsia_set_log_callback(Take, &lines_, TARSIA_LOG_INFO), TARSIA_STATUS_OK);
  }
  void TearDown() override {
    tarsia_set_log_callback(nullptr, nullptr, TARSIA_LOG_OFF);
    for (const auto& [name, value] : before_) {
      if (value.empty()) {
        unsetenv(name);
      } else {
        setenv(name, value.c_str(), 1);
      }
    }
    if (!ptxas_.empty()) std::filesystem::remove(ptxas_);
    CudaTest::TearDown();
  }
  void Unset(const char* name) {
    const char* const value = std::getenv(name);
    before_.emplace_back(name, value != nullptr ? value : "");
    unsetenv(name);
  }
  void Set(const char* name, const std::string& value) {
    Unset(name);
    setenv(name, value.c_str(), 1);
  }

  // Replaces ptxas by a script.
  void SetPtxas(const std::string& script) {
    ptxas_ = testing::TempDir() + "tarsia-fall-back-ptxas";
    std::ofstream(ptxas_) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(ptxas_, std::filesystem::perms::owner_all);
    Set("TARSIA_PTXAS", ptxas_);
  }

  // The log of a plan on the emulated GPU.
  std::vector<Line> LinesOfPlan() {
    tarsia_module* module = nullptr;
    EXPECT_EQ(tarsia_module_create(kProgram, sizeof kProgram - 1, nullptr, &module, nullptr),
              TARSIA_STATUS_OK)
        << tarsia_last_error();
    tarsia_plan_options options = {};
    options.size = sizeof options;
    options.device = "cuda";
    tarsia_plan* plan = nullptr;
    EXPECT_EQ(tarsia_plan_create(module, &options, &plan, nullptr), TARSIA_STATUS_OK)
        << tarsia_last_error();
    tarsia_plan_destroy(plan);
    tarsia_module_destroy(module);
    return lines_;
  }

  std::vector<Line> lines_;

 private:
  static void Take(void* user, tarsia_log_level level, const char* message) {
    static_cast<std::vector<Line>*>(user)->push_back({level, message});
  }
  std::vector<std::pair<const char*, std::string>> before_;
  std::string ptxas_;
};

TEST_F(FallBack, WithoutAnAssembler) {
  Set("TARSIA_PTXAS", "/nowhere/ptxas");
  const std::vector<Line> lines = LinesOfPlan();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].level, TARSIA_LOG_WARNING);
  EXPECT_TRUE(lines[0].text.starts_with(
      "k for cuda:0: the driver compiles the PTX, since there is no machine code: ptxas is not "
      "found; searched TARSIA_PTXAS=/nowhere/ptxas"))
      << lines[0].text;
}

TEST_F(FallBack, WithAnAssemblerThatFails) {
  SetPtxas("echo no luck >&2\nexit 1");
  const std::vector<Line> lines = LinesOfPlan();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].level, TARSIA_LOG_WARNING);
  EXPECT_EQ(lines[0].text,
            "k for cuda:0: the driver compiles the PTX, since there is no machine code: ptxas "
            "refuses the code: no luck");
}

// The next plan tries again after a failure.
TEST_F(FallBack, IsNotRemembered) {
  Set("TARSIA_PTXAS", "/nowhere/ptxas");
  EXPECT_EQ(LinesOfPlan().size(), 1U);
  Unset("TARSIA_PTXAS");
  const std::vector<Line> lines = LinesOfPlan();
  ASSERT_EQ(lines.size(), 2U);  // the emulated driver does not accept machine code
  EXPECT_NE(lines[1].text.find("since it refuses the machine code"), std::string::npos)
      << lines[1].text;
}

// A slow ptxas is ended with the plan that needs its result.
TEST_F(FallBack, NoneAfterACancel) {
  SetPtxas("exec sleep 60");
  tarsia_module* module = nullptr;
  ASSERT_EQ(tarsia_module_create(kProgram, sizeof kProgram - 1, nullptr, &module, nullptr),
            TARSIA_STATUS_OK);
  const auto begin = std::chrono::steady_clock::now();
  tarsia_plan_options options = {};
  options.size = sizeof options;
  options.device = "cuda";
  options.compile_limit_ms = 2000;
  tarsia_plan* plan = nullptr;
  EXPECT_EQ(tarsia_plan_create(module, &options, &plan, nullptr), TARSIA_STATUS_CANCELLED)
      << tarsia_last_error();
  EXPECT_EQ(plan, nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_NE(std::string(tarsia_last_error()).find("took longer than the limit of 2000 ms"),
            std::string::npos)
      << tarsia_last_error();
  for (const Line& line : lines_) EXPECT_NE(line.level, TARSIA_LOG_WARNING) << line.text;
  tarsia_module_destroy(module);
}

// The emulated driver does not accept machine code, like a driver older than the assembler.
TEST_F(FallBack, WithADriverThatRefusesTheMachineCode) {
  SetPtxas("while [ \"$1\" != -o ]; do shift; done\ncp /bin/sh \"$2\"");
  const std::vector<Line> lines = LinesOfPlan();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].level, TARSIA_LOG_WARNING);
  EXPECT_NE(lines[0].text.find("k for "), std::string::npos) << lines[0].text;
  EXPECT_NE(lines[0].text.find("the driver compiles the PTX, since it refuses the machine code: "
                               "CUDA_ERROR_NO_BINARY_FOR_GPU"),
            std::string::npos)
      << lines[0].text;
}

TEST_F(FallBack, OfTheDefaultDevice) {
  Reset({{"FAULTS", "cuDevicePrimaryCtxRetain@1=2"}});
  tarsia::cuda::InitialiseDriver();
  const auto device = tarsia::runtime::OpenDevice("");
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->name(), "cpu");
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0].level, TARSIA_LOG_WARNING);
  EXPECT_TRUE(lines_[0].text.starts_with(
      "the default device is cpu, since the GPU cannot be used: cuDevicePrimaryCtxRetain: "))
      << lines_[0].text;
}

}  // namespace
}  // namespace log_test
