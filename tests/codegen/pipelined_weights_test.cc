// The pipelined loops of examples/matmul_scaled.tsa over weights of every type in packed order,
// held to what the cast of a weight costs. Needs the pinned ptxas and nvdisasm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

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

  // Of a thread, in the loop.
  [[nodiscard]] double Weights(int64_t m) const {
    const int64_t instructions = m / 8;  // for 8 weights
    return static_cast<double>(code.InLoop(SassClass::kTensor)) * 8 /
           static_cast<double>(instructions);
  }
};

// Two of the candidates that the program lists; the second where the first lacks registers.
Kernel ScaledKernel(const SourceFile& source, const CastCost& cost, int64_t group, int64_t m) {
  const PackedTile tile = group == 32 ? PackedTile{"2, 2", 32} : TileFor(cost.type[1] - '0');
  Kernel out;
  for (const auto& [columns, stages] : {std::pair(256, group == 32 ? 6 : 4), std::pair(128, 6)}) {
    out = {group, columns, stages,
           MachineCodeOf(source,
                         {{"K", "4096"},
                          {"N", "4096"},
                          {"G", std::to_string(group)},
                          {"W", cost.type},
                          {"X", cost.to},
                          {"PACK", PackOf(tile, cost.to)},
                          {"BM", std::to_string(m)},
                          {"BN", std::to_string(columns)},
                          {"BK", std::to_string(group)},
                          {"STAGES", std::to_string(stages)}},
                         Target::kSm80)};
    if (out.code.resources.spill_store_bytes == 0) break;
  }
  return out;
}

// Bytes on their way to a processor of sm_80: weights, activations and scales of all stages but the
// one that computes, of the blocks that its registers and shared memory have room for.
int64_t BytesInFlight(const CastCost& cost, const Kernel& kernel, int64_t m) {
  constexpr int64_t kShared = 164 * 1024;
  constexpr int64_t kReserved = 1024;  // of each block
  const auto shared = static_cast<int64_t>(kernel.code.shared_bytes) + kReserved;
  const int64_t blocks = std::min(kShared / shared, kernel.code.BlocksByRegisters(kThreads));
  const int64_t turn =
      kernel.rows * (kernel.columns * (cost.type[1] - '0') / 8 + m * 2) + kernel.columns * 2;
  return blocks * (kernel.stages - 1) * turn;
}

// Everything in the loop counts: copies, addresses, scales, sums.
void CheckScaled(const SourceFile& source, const CastCost& cost, int64_t group, int64_t m,
                 double most) {
  SCOPED_TRACE(m);
  const Kernel kernel = ScaledKernel(source, cost, group, m);
  const MachineCode& code = kernel.code;
  const double weights = kernel.Weights(m);
  const double turns = weights * kThreads / static_cast<double>(kernel.rows * kernel.columns);
  ASSERT_GE(turns, 1);
  EXPECT_EQ(turns, static_cast<int64_t>(turns));
  EXPECT_LE(static_cast<double>(code.sass.MainLoop().size()) / weights, cost.instructions + most);
  EXPECT_EQ(code.OpcodesInLoop("BAR"), static_cast<int64_t>(turns));
  EXPECT_EQ(code.InLoop(SassClass::kStoreShared), 0);
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
  // Six stages of groups of 32 codes of one bit are what the candidates have most of.
  const bool least = group == 32 && cost.type[1] == '1';
  EXPECT_GE(BytesInFlight(cost, kernel, m), (least ? 24 : 32) * 1024);
}

class PipelinedWeights : public MachineCodeTest<CastCost> {};

// The bounds are those of a kernel that has to be below every peer's.
TEST_P(PipelinedWeights, WithScalesCostTheirCastAndLittleBesides) {
  const CastCost& cost = GetParam();
  const bool u4 = cost.type == std::string("u4");
  const SourceFile source = ReadExample("matmul_scaled.tsa");
  CheckScaled(source, cost, 128, 16, u4 ? 0.65 : 0.75);
  CheckScaled(source, cost, 128, 8, u4 ? 0.45 : 0.55);
}

// Packed in tiles of 32 rows. Four times as many sums are scaled: m / 32 of a weight.
TEST_P(PipelinedWeights, InGroupsOf32CostTheirCastAndTheirScales) {
  const CastCost& cost = GetParam();
  const bool u4 = cost.type == std::string("u4");
  const SourceFile source = ReadExample("matmul_scaled.tsa");
  CheckScaled(source, cost, 32, 16, (u4 ? 0.65 : 0.75) + 0.65);
  CheckScaled(source, cost, 32, 8, (u4 ? 0.45 : 0.55) + 0.45);
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
  CheckScaled(SourceFile("k.tsa", text), cost, 128, m, m == 16 ? 0.75 : 0.55);
}

INSTANTIATE_TEST_SUITE_P(Rows, PipelinedFinite, testing::Values(16, 8));

}  // namespace
}  // namespace tarsia::harness::pipelined_weights_test
