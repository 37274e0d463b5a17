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

// Two of the candidates that the program lists; the second where the first lacks registers.
Kernel KernelOf(const Program& program, const CastCost& cost, int64_t group, int64_t m) {
  const PackedTile tile = group == 32 ? PackedTile{"2, 2", 32} : TileFor(cost.type[1] - '0');
  Kernel out;
  // The narrower the weights and the shorter the turns, the more stages it takes.
  const int most = group == 128 ? 4 : cost.type[1] == '1' ? 8 : 6;
  for (const auto& [columns, stages] : {std::pair(256, most), std::pair(128, 6)}) {
    std::vector<Binding> constants = {{"K", "4096"},
                                      {"N", "4096"},
                                      {"G", std::to_string(group)},
                                      {"W", cost.type},
                                      {"X", cost.to},
                                      {"BM", std::to_string(m)},
                                      {"BN", std::to_string(columns)},
                                      {"BK", std::to_string(group)},
                                      {"STAGES", std::to_string(stages)}};
    if (!program.raw) constants.push_back({"PACK", PackOf(tile, cost.to)});
    out = {group, columns, stages, MachineCodeOf(program.source, constants, Target::kSm80)};
    if (out.code.resources.spill_store_bytes == 0) break;
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
void CheckLoop(const Program& program, const CastCost& cost, int64_t group, int64_t m) {
  SCOPED_TRACE(m);
  const Kernel kernel = KernelOf(program, cost, group, m);
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

class PipelinedWeights : public MachineCodeTest<CastCost> {
 protected:
  // The bounds are those of a kernel that has to be below every peer's.
  [[nodiscard]] static Program Scaled() {
    const bool u4 = GetParam().type == std::string("u4");
    return {ReadExample("matmul_scaled.tsa"), false, u4 ? 0.65 : 0.75, u4 ? 0.45 : 0.55};
  }
};

TEST_P(PipelinedWeights, WithScalesCostTheirCastAndLittleBesides) {
  CheckLoop(Scaled(), GetParam(), 128, 16);
  CheckLoop(Scaled(), GetParam(), 128, 8);
}

// Packed in tiles of 32 rows. Four times as many sums are scaled: m / 32 of a weight.
TEST_P(PipelinedWeights, InGroupsOf32CostTheirCastAndTheirScales) {
  Program program = Scaled();
  program.most_16 += 0.65;
  program.most_8 += 0.45;
  CheckLoop(program, GetParam(), 32, 16);
  CheckLoop(program, GetParam(), 32, 8);
}

// The corrections are counted.
TEST_P(PipelinedWeights, AsRawCodesCostTheirUnpackAndLittleBesides) {
  Program program = Scaled();
  program.source = ReadExample("matmul_unpack.tsa");
  program.raw = true;
  program.most_16 += 0.1;
  program.most_8 += 0.1;
  CheckLoop(program, GetParam(), 128, 16);
  CheckLoop(program, GetParam(), 128, 8);
}

INSTANTIATE_TEST_SUITE_P(Types, PipelinedWeights, testing::ValuesIn(kCastCosts),
                         [](const auto& of) { return of.param.type; });

class PipelinedFinite : public MachineCodeTest<int> {};

// With a promise that there is no NaN. vLLM's Marlin needs 3.25, and is the best of the peers.
TEST_P(PipelinedFinite, F8E4M3FnNeedsAtMost2_9) {
  std::string text(ReadExample("matmul_scaled.tsa").text());
  const std::string cast = "cast %b : X";
  const size_t at = text.find(cast);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, cast.size(), "cast %b finite : X");
  const CastCost cost = {"f8e4m3fn", 2.15};
  const int64_t m = GetParam();
  CheckLoop({SourceFile("k.tsa", text), false, 0.75, 0.55}, cost, 128, m);
}

INSTANTIATE_TEST_SUITE_P(Rows, PipelinedFinite, testing::Values(16, 8));

}  // namespace
}  // namespace tarsia::harness::pipelined_weights_test
