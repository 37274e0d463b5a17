// Compiling is deterministic: the same bytes on every run, and on any number of threads at once.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "compiler/compile.h"
#include "tests/costs/small_programs.h"
#include "tests/data/test_data.h"
#include "tests/harness/program.h"

namespace tarsia::costs {
namespace {

struct Example {
  std::string name;
  std::vector<Binding> constants;
};

std::vector<Program> Programs() {
  const std::vector<Example> examples = {
      {"softmax.tsa", {}},
      {"matmul.tsa", {{"K", "128"}, {"N", "128"}, {"W", "u4"}}},
      {"matmul_scaled.tsa", {{"K", "128"}, {"N", "128"}, {"G", "64"}, {"W", "u4"}}},
      {"gemm.tsa", {{"M", "128"}, {"N", "128"}, {"K", "64"}}},
      {"attention.tsa", {{"D", "64"}, {"LENGTH", "128"}}},
  };
  std::vector<Program> out;
  for (const Example& example : examples) {
    harness::Made made =
        harness::MakeProgram(harness::ReadExample(example.name), "", example.constants);
    if (made.program) out.push_back(*std::move(made.program));
    EXPECT_TRUE(made.error.empty()) << made.error;
  }
  for (const SmallProgram& program : SmallPrograms()) out.push_back(Compiled(program));
  return out;
}

std::vector<std::string> CompileAll(const std::vector<Program>& programs) {
  std::vector<std::string> out;
  for (const Program& program : programs) {
    const auto kernel = compiler::Compile(program, compiler::Target::kSm90a);
    out.push_back(kernel.ok() ? kernel->ptx : kernel.error().message);
  }
  return out;
}

TEST(Compilation, MakesTheSameBytesOnEveryRunAndThreadCount) {
  const std::vector<Program> programs = Programs();
  const std::vector<std::string> once = CompileAll(programs);
  EXPECT_EQ(CompileAll(programs), once);
  std::vector<std::vector<std::string>> together(3);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& result : together) {
    threads.emplace_back([&] { result = CompileAll(programs); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::string>& result : together) EXPECT_EQ(result, once);
}

}  // namespace
}  // namespace tarsia::costs
