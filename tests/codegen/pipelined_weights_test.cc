// The pipelined loops of examples/matmul_scaled.tsa and examples/matmul_unpack.tsa over weights of
// every type in packed order, held to what the cast of a weight costs, or its `unpack`. Needs the
// pinned ptxas and nvdisasm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/codegen/cast_costs.h"
#include "tests/codegen/machine_code.h"
#include "tests/harness/program.h"

namespace tarsia::harness::pipelined_weights_test {
namespace {

using compiler::SassClass;
using compiler::Target;

constexpr int64_t kThreads = 128;

struct Kernel {
  int64_t rows = 0;  // of a turn: those of a group
  int64_t columns = 0;
  int64_t stages = 0;
  MachineCode code;

  // Of a thread in a turn.
  [[nodiscard]] int64_t Weights() const { return rows * columns / kThreads; }
  // Turns that are one: those that pass its barriers.
  [[nodiscard]] int64_t Turns() const { return code.OpcodesInLoop("BAR"); }
};

// A program, and what its main loop may take.
struct Program {
  SourceFile source;
  bool raw = false;    // it multiplies what `unpack` makes
  double most_16 = 0;  // instructions a weight beside those that decode it, for 16 rows and for 8
  double most_8 = 0;
};

// A program with weights of a type, and how many rows of activations it has.
struct Case {
  Program program;
  CastCost cost;
  int64_t m = 0;
};

KernelText TextOf(const Case& of, int64_t group, int64_t columns, int64_t stages) {
  const PackedTile tile = group == 32 ? PackedTile{"2, 2", 32} : TileFor(of.cost.type[1] - '0');
  std::vector<Binding> constants = {{"K", "4096"},
                                    {"N", "4096"},
                                    {"G", std::to_string(group)},
                                    {"W", of.cost.type},
                                    {"X", of.cost.to},
                                    {"BM", std::to_string(of.m)},
                                    {"BN", std::to_string(columns)},
                                    {"BK", std::to_string(group)},
                                    {"STAGES", std::to_string(stages)}};
  if (!of.program.raw) constants.push_back({"PACK", PackOf(tile, of.cost.to)});
  return {of.program.source, constants};
}

// Two of the candidates that the program lists; the second where the first lacks registers.
std::vector<Kernel> KernelsOf(const std::vector<Case>& cases, int64_t group) {
  std::vector<Kernel> out(cases.size());
  for (const int64_t columns : {256, 128}) {
    std::vector<KernelText> texts;
    std::vector<size_t> left;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (columns == 128 && out[i].code.resources.spill_store_bytes == 0) continue;
      // The narrower the weights and the shorter the turns, the more stages it takes.
      const int64_t most = group == 128 ? 4 : cases[i].cost.type[1] == '1' ? 8 : 6;
      out[i] = {group, columns, columns == 256 ? most : 6, {}};
      texts.push_back(TextOf(cases[i], group, columns, out[i].stages));
      left.push_back(i);
    }
    if (texts.empty()) break;
    std::vector<MachineCode> codes = MachineCodesOf(texts, Target::kSm80);
    for (size_t i = 0; i < left.size(); ++i) out[left[i]].code = std::move(codes[i]);
  }
  return out;
}

// Bytes on their way to a processor of sm_80: weights, activations and scales of all stages but the
// one that computes, of the blocks that its registers and shared memory have room for.
int64_t BytesInFlight(const CastCost& cost, const Kernel& kernel, int64_t m) {
  const int64_t turn =
      kernel.rows * (kernel.columns * (cost.type[1] - '0') / 8 + m * 2) + kernel.columns * 2;
  return kernel.code.BlocksOfProcessor(kThreads) * (kernel.stages - 1) * turn;
}

// Everything in the loop counts: copies, addresses, scales, sums, corrections.
void CheckLoop(const Case& of, const Kernel& kernel) {
  const auto& [program, cost, m] = of;
  SCOPED_TRACE(fmt::format("{}, m = {}", cost.type, m));
  const MachineCode& code = kernel.code;
  ASSERT_GE(kernel.Turns(), 1);
  const auto weights = static_cast<double>(kernel.Turns() * kernel.Weights());
  // A tensor instruction has 16 x 16 weights of a warp and 8 rows; of corrections there is one for
  // all columns of a warp, or for two halves of the columns of its tiles.
  const double products = weights * 32 / 256 * static_cast<double>(m) / 8;
  const double tensor = static_cast<double>(code.InLoop(SassClass::kTensor));
  EXPECT_GE(tensor, products);
  EXPECT_LE(tensor, program.raw ? 1.5 * products : products);
  const double decode = program.raw ? cost.Unpacked() : cost.instructions;
  EXPECT_LE(static_cast<double>(code.sass.MainLoop().size()) / weights,
            decode + (m == 16 ? program.most_16 : program.most_8));
  EXPECT_EQ(code.InLoop(SassClass::kStoreShared), 0);
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
  EXPECT_GE(BytesInFlight(cost, kernel, m), 32 * 1024);
}

void CheckLoops(const std::vector<Case>& cases, int64_t group) {
  const std::vector<Kernel> kernels = KernelsOf(cases, group);
  for (size_t i = 0; i < cases.size(); ++i) CheckLoop(cases[i], kernels[i]);
}

class PipelinedWeights : public MachineCodeTest<CastFamily> {
 protected:
  // The bounds are those of a kernel that has to be below every peer's, and what there may be more.
  static std::vector<Case> Cases(const std::string& example, double more_16, double more_8) {
    const SourceFile source = ReadExample(example);
    std::vector<Case> out;
    for (const CastCost& cost : GetParam().costs) {
      const bool u4 = cost.type == std::string_view("u4");
      const Program program = {source, example == "matmul_unpack.tsa", (u4 ? 0.65 : 0.75) + more_16,
                               (u4 ? 0.45 : 0.55) + more_8};
      out.push_back({program, cost, 16});
      out.push_back({program, cost, 8});
    }
    return out;
  }
};

TEST_P(PipelinedWeights, WithScalesCostTheirCastAndLittleBesides) {
  CheckLoops(Cases("matmul_scaled.tsa", 0, 0), 128);
}

// Packed in tiles of 32 rows. Four times as many sums are scaled: m / 32 of a weight.
TEST_P(PipelinedWeights, InGroupsOf32CostTheirCastAndTheirScales) {
  CheckLoops(Cases("matmul_scaled.tsa", 0.65, 0.45), 32);
}

// The corrections are counted.
TEST_P(PipelinedWeights, AsRawCodesCostTheirUnpackAndLittleBesides) {
  CheckLoops(Cases("matmul_unpack.tsa", 0.1, 0.1), 128);
}

INSTANTIATE_TEST_SUITE_P(Types, PipelinedWeights, testing::ValuesIn(FamiliesOf(kCastCosts)),
                         [](const auto& of) { return of.param.name; });

class PipelinedFinite : public MachineCodeTest<int> {};

// With a promise that there is no NaN. vLLM's Marlin needs 3.25, and is the best of the peers.
TEST_P(PipelinedFinite, F8E4M3FnNeedsAtMost2_9) {
  std::string text(ReadExample("matmul_scaled.tsa").text());
  const std::string cast = "cast %b : X";
  const size_t at = text.find(cast);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, cast.size(), "cast %b finite : X");
  const CastCost cost = {"f8e4m3fn", 2.15};
  const Program program = {SourceFile("k.tsa", text), false, 0.75, 0.55};
  CheckLoops({{program, cost, 16}, {program, cost, 8}}, 128);
}

INSTANTIATE_TEST_SUITE_P(Once, PipelinedFinite, testing::Values(0));

}  // namespace
}  // namespace tarsia::harness::pipelined_weights_test
