// CUDA C++ (cuda/kernels.cu) through nvcc, whose PTX nobody here wrote. nvcc is found by the
// variable TARSIA_NVCC, on PATH, or in .venv; it needs the wheels nvidia-cuda-nvcc, nvidia-nvvm,
// nvidia-cuda-crt and nvidia-cuda-runtime, or a toolkit. Without one that works the tests skip.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx {
namespace {

// The PTX of the kernels for a target, or "" and why.
struct Compiled {
  std::string ptx;
  std::string why;
};

std::string Nvcc() {
  if (const char* given = std::getenv("TARSIA_NVCC")) return given;
  return std::filesystem::exists(TARSIA_NVCC_WHEEL) ? TARSIA_NVCC_WHEEL : "nvcc";
}

Compiled Compile(const std::string& target) {
  std::string folder = (std::filesystem::temp_directory_path() / "tarsia-cuda-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return {"", "no temporary folder"};
  const std::string out = folder + "/kernels.ptx";
  const std::string log = folder + "/log";
  const std::string command = "'" + Nvcc() + "' -ptx -lineinfo -arch=" + target + " -o '" + out +
                              "' '" TARSIA_CUDA_KERNELS "' >'" + log + "' 2>&1";
  const int code = std::system(command.c_str());
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  Compiled compiled{code == 0 ? read(out) : "", "no nvcc that works: " + read(log)};
  std::filesystem::remove_all(folder);
  return compiled;
}

class Cuda : public testing::TestWithParam<std::string> {
 protected:
  // Once a target: nvcc takes a second.
  static const Compiled& Kernels() {
    static std::map<std::string, Compiled> compiled;
    const auto found = compiled.find(GetParam());
    if (found != compiled.end()) return found->second;
    return compiled.emplace(GetParam(), Compile(GetParam())).first->second;
  }
  void SetUp() override {
    if (Kernels().ptx.empty()) GTEST_SKIP() << Kernels().why;
    machine_ = std::make_unique<Machine>(Kernels().ptx);
  }
  // Two 32-bit parameters in one word of the parameter block.
  static uint64_t Pair(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

  std::unique_ptr<Machine> machine_;
};

std::vector<float> Floats(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 101) / 8 - 5;
  return values;
}

TEST_P(Cuda, Saxpy) {
  const uint32_t n = 1000;
  const std::vector<float> x = Floats(n);
  const std::vector<float> y(n, 1.5F);
  const uint64_t at_x = machine_->Put(x);
  const uint64_t at_y = machine_->Put(y);
  const auto a = std::bit_cast<uint32_t>(0.3F);
  EXPECT_EQ(Text(machine_->Run("saxpy", {8}, {128}, {Pair(n, a), at_x, at_y})), "");
  const auto got = machine_->Get<float>(at_y, n);
  for (size_t i = 0; i < n; ++i) EXPECT_EQ(got[i], std::fma(0.3F, x[i], 1.5F)) << i;
}

TEST_P(Cuda, BlockSum) {
  std::vector<int32_t> x(5003);
  int32_t sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<int32_t>(i * 7919 % 1000) - 400;
    sum += x[i];
  }
  const uint64_t at = machine_->Put(x);
  const uint64_t out = machine_->Put(std::vector<int32_t>{0});
  EXPECT_EQ(Text(machine_->Run("block_sum", {3}, {256}, {at, x.size(), out})), "");
  EXPECT_EQ(machine_->Get<int32_t>(out, 1)[0], sum);
}

TEST_P(Cuda, Matmul) {
  const uint32_t n = 37;
  const std::vector<float> a = Floats(size_t{n} * n);
  std::vector<float> b = Floats(size_t{n} * n);
  std::reverse(b.begin(), b.end());
  const uint64_t at_a = machine_->Put(a);
  const uint64_t at_b = machine_->Put(b);
  const uint64_t at_c = machine_->Room(uint64_t{n} * n * 4);
  EXPECT_EQ(Text(machine_->Run("matmul", {3, 3}, {16, 16}, {at_a, at_b, at_c, n})), "");
  const auto c = machine_->Get<float>(at_c, size_t{n} * n);
  for (size_t row = 0; row < n; ++row) {
    for (size_t column = 0; column < n; ++column) {
      float sum = 0;
      for (size_t k = 0; k < n; ++k) sum = std::fma(a[row * n + k], b[k * n + column], sum);
      EXPECT_EQ(c[row * n + column], sum) << row << " " << column;
    }
  }
}

TEST_P(Cuda, Collatz) {
  std::vector<uint32_t> start(100);
  for (uint32_t i = 0; i < 100; ++i) start[i] = i * i + 1;
  const uint64_t at = machine_->Put(start);
  const uint64_t out = machine_->Room(400);
  EXPECT_EQ(Text(machine_->Run("collatz", {2}, {64}, {at, out, 100})), "");
  const auto got = machine_->Get<uint32_t>(out, 100);
  for (size_t i = 0; i < 100; ++i) {
    uint32_t steps = 0;
    for (uint64_t x = start[i]; x != 1; x = x % 2 == 0 ? x / 2 : 3 * x + 1) ++steps;
    EXPECT_EQ(got[i], steps) << start[i];
  }
}

TEST_P(Cuda, Waves) {
  std::vector<float> x = {0.0F, 1e-3F, 1.0F, -2.5F, 100.0F, 12345.678F, 1e6F, -3e7F, 1e10F};
  const uint64_t at = machine_->Put(x);
  const uint64_t out = machine_->Room(x.size() * 4);
  EXPECT_EQ(Text(machine_->Run("waves", {1}, {32}, {at, out, x.size()})), "");
  const auto got = machine_->Get<float>(out, x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double power = static_cast<double>(-x[i] * x[i] / 1e12F);
    const double expected =
        std::sin(v) * std::exp(power) + std::sqrt(std::abs(v)) / (1 + std::log(1 + std::abs(v)));
    EXPECT_NEAR(got[i], expected, 1e-6 * (std::abs(expected) + 1)) << v;
  }
}

TEST_P(Cuda, FindsWhatNobodyWrote) {
  const uint64_t out = machine_->Room(256);
  const LaunchReport report = machine_->Run("uninitialised", {1}, {64}, {out});
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kUninitialised);
  EXPECT_GE(report.findings[0].thread.x, 32U);
  EXPECT_NE(report.findings[0].source_line, 0U);
}

INSTANTIATE_TEST_SUITE_P(Target, Cuda, testing::Values("sm_80", "sm_90a"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tarsia::ptx
