// The estimate of registers before LLVM, against ptxas: how many a thread takes for tiles, and how
// many the machine code has. Needs the pinned ptxas and nvdisasm.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/pass.h"
#include "compiler/passes/live_words.h"
#include "tests/codegen/cast_costs.h"
#include "tests/codegen/machine_code.h"
#include "tests/harness/program.h"

namespace tarsia::harness::register_estimate_test {
namespace {

using compiler::Target;

struct Example {
  const char* name;
  std::vector<Binding> constants;
  bool has_dot = false;
};

std::vector<Example> Examples() {
  const Binding packed = {"PACK", PackOf(TileFor(4), "f16")};
  const Binding k = {"K", "4096"}, n = {"N", "4096"}, m = {"M", "4096"};
  return {{"softmax.tsa", {{"D", "4096"}, {"BM", "4"}}},
          {"rms_norm.tsa", {{"D", "4096"}}},
          {"gemm.tsa", {k, n, m}, true},
          {"gemm.tsa", {k, n, m, {"STAGES", "1"}}, true},
          {"matmul.tsa", {k, n, packed}, true},
          {"matmul_scaled.tsa", {k, n, packed, {"G", "128"}, {"BK", "128"}}, true},
          {"matmul_scaled.tsa", {k, n, packed, {"G", "128"}, {"BK", "128"}, {"BN", "256"}}, true},
          {"attention.tsa", {{"D", "64"}, {"LENGTH", "4096"}}, true},
          {"attention.tsa", {{"D", "128"}, {"LENGTH", "4096"}}, true},
          {"kernel_matvec.tsa", {}},
          {"kernel_matvec.tsa", {{"BN", "128"}}},
          {"transpose.tsa", {m, n}}};
}

class RegisterEstimate : public MachineCodeTest<Target> {};

// The sums and operands of products are in registers, and addresses, counters and what is decoded
// besides. Where elements are computed one by one, a tile may have fewer of them at a time than the
// estimate says, but no more, and 16 registers are left for the rest.
TEST_P(RegisterEstimate, BoundsWhatPtxasTakes) {
  const std::vector<Example> examples = Examples();
  std::vector<KernelText> kernels;
  for (const Example& example : examples) {
    kernels.push_back({ReadExample(example.name), example.constants});
  }
  const std::vector<compiler::KernelResources> resources = ResourcesOf(kernels, GetParam());
  for (size_t i = 0; i < examples.size(); ++i) {
    const Example& example = examples[i];
    SCOPED_TRACE(example.name);
    const Made made = MakeProgram(kernels[i].source, "", example.constants);
    ASSERT_TRUE(made.program) << made.error;
    compiler::PassOptions options;
    options.target = GetParam();
    const int64_t words =
        compiler::LiveWords(compiler::RunPasses(*made.program, options)).Most().words;
    const int64_t registers = resources[i].registers;
    EXPECT_GT(registers, 0);
    EXPECT_EQ(resources[i].spill_store_bytes, 0);
    EXPECT_LE(registers, words + (example.has_dot ? 100 : 16));
    EXPECT_GE(registers, example.has_dot ? words : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RegisterEstimate, testing::Values(Target::kSm80, Target::kSm90a),
                         [](const auto& of) { return std::string(Row(of.param).name); });

}  // namespace
}  // namespace tarsia::harness::register_estimate_test
