// The machine code of the main loops that matter, held to bounds from outside: the floor of a
// kernel, or what another compiler's kernel needs. Needs the pinned ptxas and nvdisasm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/codegen/cast_costs.h"
#include "tests/codegen/machine_code.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

using compiler::SassClass;
using compiler::Target;

constexpr Target kTargets[] = {Target::kSm80, Target::kSm90a};

KernelText TextOf(const std::string& example, const std::vector<Binding>& constants) {
  return {ReadExample(example), constants};
}

MachineCode CodeOf(const std::string& example, const std::vector<Binding>& constants,
                   Target target) {
  return MachineCodeOf(ReadExample(example), constants, target);
}

// ---- weights in packed order -----------------------------------------------------------------

// What a loop may need besides: tensor instructions, loads, activations, addresses.
constexpr double kBesides = 0.8;
// Marlin's u4 loop with scales per channel needs 1.93, with copies that overlap.
constexpr double kMostForU4 = 1.9;

constexpr int64_t kColumns = 128;
constexpr int64_t kThreads = 128;

// A turn of the main loop, in which nothing runs ahead.
std::vector<Binding> Matmul(const CastCost& cost, int64_t rows, const std::string& pack,
                            int stages = 1) {
  std::vector<Binding> out = {{"K", "4096"},
                              {"N", "4096"},
                              {"W", cost.type},
                              {"X", cost.to},
                              {"BK", std::to_string(rows)},
                              {"STAGES", std::to_string(stages)}};
  if (!pack.empty()) out.push_back({"PACK", pack});
  return out;
}

void CheckLoop(const MachineCode& code, int64_t rows, double most, size_t turns = 1) {
  const double weights = static_cast<double>(rows * kColumns) / kThreads;
  const size_t instructions = code.sass.MainLoop().size();
  EXPECT_LE(static_cast<double>(instructions) / weights, most) << instructions;
  EXPECT_EQ(code.InLoop(SassClass::kTensor), static_cast<size_t>(weights / 4))
      << "products of 16 x 8 x 16 of 4 warps";
  EXPECT_LE(code.InLoop(SassClass::kPredicate), 2 * turns);
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
}

class PackedWeights : public MachineCodeTest<CastFamily> {};

TEST_P(PackedWeights, CostTheirCastAndLittleBesides) {
  const std::vector<CastCost>& costs = GetParam().costs;
  std::vector<KernelText> kernels;
  for (const CastCost& cost : costs) {
    const PackedTile tile = TileFor(cost.type[1] - '0');
    kernels.push_back(TextOf("matmul.tsa", Matmul(cost, tile.rows, PackOf(tile, cost.to))));
  }
  for (const Target target : kTargets) {
    const std::vector<MachineCode> codes = MachineCodesOf(kernels, target);
    for (size_t i = 0; i < costs.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} for {}", costs[i].type, Row(target).name));
      CheckLoop(codes[i], TileFor(costs[i].type[1] - '0').rows, costs[i].instructions + kBesides);
      EXPECT_EQ(codes[i].OpcodesInLoop("LDS."), 0) << "activations come by ldmatrix";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PackedWeights, testing::ValuesIn(FamiliesOf(kCastCosts)),
                         [](const auto& of) { return of.param.name; });

// A promise that no weight is NaN: of `f8e4m3fn` the recipe masks and scales. Newer targets convert
// pairs of `f8e5m2`.
constexpr CastCost kFiniteCosts[] = {{"f8e4m3fn", 1.75}, {"f8e5m2", 1.5}};

class FiniteWeights : public MachineCodeTest<CastCost> {};

TEST_P(FiniteWeights, CostNothingForNan) {
  const CastCost& cost = GetParam();
  std::string text(ReadExample("matmul.tsa").text());
  const std::string cast = "cast %b : X";
  const size_t at = text.find(cast);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, cast.size(), "cast %b finite : X");
  const std::string pack = "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))";
  for (const Target target : kTargets) {
    SCOPED_TRACE(std::string(Row(target).name));
    const MachineCode code =
        MachineCodeOf(SourceFile("matmul.tsa", text), Matmul(cost, 64, pack), target);
    CheckLoop(code, 64, cost.instructions + kBesides);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FiniteWeights, testing::ValuesIn(kFiniteCosts),
                         [](const auto& of) { return of.param.type; });

// ---- the kernels that others have, too -------------------------------------------------------

class MainLoopOn : public MachineCodeTest<Target> {};

TEST_P(MainLoopOn, OfPackedU4IsShorterThanMarlins) {
  const std::string pack = "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))";
  const MachineCode code = CodeOf("matmul.tsa", Matmul({"u4", 1.12}, 64, pack), GetParam());
  CheckLoop(code, 64, kMostForU4);
  EXPECT_LE(code.resources.registers, 64);
  // 64 x 128 codes of 4 bits and 16 x 64 activations in loads of 16 bytes of 128 threads.
  EXPECT_EQ(code.OpcodesInLoop("LDG.E.128"), 3);
  EXPECT_EQ(code.OpcodesInLoop("LDG"), 3);
}

// A group of 128 rows is two turns of the inner loop, which are unrolled: the loop over the groups
// has all that a group needs, with its scales.
TEST_P(MainLoopOn, OfPackedU4WithScalesNeeds0_4More) {
  const std::string pack = "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))";
  std::vector<Binding> constants = Matmul({"u4", 1.12}, 64, pack);
  constants.push_back({"G", "128"});
  const MachineCode code = CodeOf("matmul_scaled.tsa", constants, GetParam());
  CheckLoop(code, 128, kMostForU4 + 0.4, 2);
}

// One instruction subtracts two zero points from two weights, and puts nothing together or apart. A
// thread casts at most 32 zero points of a group.
TEST_P(MainLoopOn, OfZeroPointsSubtractsTwoAtOnce) {
  std::vector<KernelText> kernels;  // each without zero points and with them
  std::vector<std::string> what;
  for (const std::string type : {"f16", "bf16"}) {
    const std::string pack =
        fmt::format("packed(permute(local(1, 4) * mma.m16n8k16.{0}.a, [1, 0]), lanes({0}))", type);
    for (const std::string& order : {std::string(), pack}) {
      what.push_back(type + " " + order);
      std::vector<Binding> constants = Matmul({"u4", 1.12, type.c_str()}, 64, order);
      constants.push_back({"G", "128"});
      kernels.push_back(TextOf("matmul_scaled.tsa", constants));
      constants.push_back({"ZERO", "true"});
      kernels.push_back(TextOf("matmul_scaled.tsa", constants));
    }
  }
  const std::vector<MachineCode> codes = MachineCodesOf(kernels, GetParam());
  for (size_t i = 0; i < what.size(); ++i) {
    SCOPED_TRACE(what[i]);
    const MachineCode& without = codes[2 * i];
    const MachineCode& with = codes[2 * i + 1];
    const auto more = [&](const char* opcode) {
      return with.OpcodesInLoop(opcode) - without.OpcodesInLoop(opcode);
    };
    const int64_t weights = 128 * kColumns / kThreads;
    EXPECT_LE(more("HADD2") + more("HFMA2"), weights / 2 + 32);
    EXPECT_LE(more("PRMT"), 32);
    EXPECT_EQ(with.resources.spill_store_bytes, 0);
  }
}

// Activations and products of 8 bits: four codes take a mask, and half of them another view of
// their word; a product of 16 x 8 x 32 has twice as many weights as one of f16.
constexpr char kByteMatmul[] = R"(
kernel matmul(%x: ptr<i8>, %w: ptr<u8>, %y: ptr<i32>, %m: i32)
  const K: int
  const N: int
  const W: dtype
  const PACK: memlayout = packed(permute(local(1, 2) * mma.m16n8k32.i8.a, [1, 0]), lanes(i8))
  grid (ceildiv(%m, 16), ceildiv(N, 128))
  warps 4
{
  %bx = block.x
  %by = block.y
  %gx = view %x : global<i8>[%m, K]
  %gw = view %w : global<W>[K, N] PACK
  %gy = view %y : global<i32>[%m, N]
  %acc = fill 0 : reg<i32>[16, 128]
  for %t = 0 to ceildiv(K, 64) pipeline 4 {
    %a = load %gx[%bx * 16, %t * 64] : [16, 64]
    %b = load %gw[%t * 64, %by * 128] : [64, 128]
    %bi = cast %b : i8
    %acc = dot %a, %bi, %acc
  }
  store %gy[%bx * 16, %by * 128], %acc
}
)";

TEST_P(MainLoopOn, OfBytesCostsTheStepsOfItsRecipe) {
  struct Weights {
    const char* type;
    int steps;  // for 32 codes
  };
  constexpr int kStages = 4;  // and as many turns in the loop
  constexpr Weights kWeights[] = {{"u4", 12}, {"u2", 14}, {"i4", 28}};
  std::vector<KernelText> kernels;
  for (const Weights& weights : kWeights) {
    kernels.push_back(
        {SourceFile("k.tsa", kByteMatmul), {{"K", "4096"}, {"N", "4096"}, {"W", weights.type}}});
  }
  const std::vector<MachineCode> codes = MachineCodesOf(kernels, GetParam());
  for (size_t i = 0; i < codes.size(); ++i) {
    SCOPED_TRACE(kWeights[i].type);
    const MachineCode& code = codes[i];
    const double count = kStages * 64.0 * kColumns / kThreads;
    EXPECT_EQ(code.InLoop(SassClass::kTensor), static_cast<size_t>(count / 8));
    EXPECT_LE(static_cast<double>(code.sass.MainLoop().size()) / count,
              kWeights[i].steps / 32.0 + kBesides);
    EXPECT_EQ(code.resources.spill_store_bytes, 0);
  }
}

// Row-major codes are cast where they are loaded and change threads as f16.
TEST_P(MainLoopOn, OfRowMajorU4NeedsAtMost3_5) {
  const MachineCode code = CodeOf("matmul.tsa", Matmul({"u4", 1.12}, 64, ""), GetParam());
  CheckLoop(code, 64, 3.5);
  EXPECT_EQ(code.OpcodesInLoop("LDG"), code.OpcodesInLoop("LDG.E.128"));
  EXPECT_EQ(code.OpcodesInLoop("LDS."), 0);
}

// Copies that run ahead take the place of loads, and of stores to shared memory: with one barrier a
// turn, and a second one for row-major weights, whose cast codes change threads.
TEST_P(MainLoopOn, OfPipelinedU4IsHardlyLonger) {
  const std::string pack = "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))";
  for (const std::string& of : {pack, std::string()}) {
    SCOPED_TRACE(of);
    const auto codes = MachineCodesOf({TextOf("matmul.tsa", Matmul({"u4", 1.12}, 64, of)),
                                       TextOf("matmul.tsa", Matmul({"u4", 1.12}, 64, of, 4))},
                                      GetParam());
    const MachineCode& one = codes[0];
    const MachineCode& four = codes[1];
    EXPECT_EQ(four.InLoop(SassClass::kTensor), 4 * one.InLoop(SassClass::kTensor));
    EXPECT_LE(four.sass.MainLoop().size() * 100, 4 * one.sass.MainLoop().size() * 102);
    EXPECT_EQ(four.OpcodesInLoop("BAR"), of.empty() ? 8 : 4);
    EXPECT_EQ(four.OpcodesInLoop("LDGSTS"), 12);
    EXPECT_EQ(four.resources.spill_store_bytes, 0);
  }
}

// 128 x 128 x 64 by 4 warps, each with a quarter of the products: 128 instructions, whose fragments
// are 8 + 8 matrices of 16 bytes a row for each 16 of k.
TEST_P(MainLoopOn, OfAGemmNeeds0_8OthersForEachTensorInstruction) {
  const MachineCode code = CodeOf(
      "gemm.tsa", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}, {"STAGES", "1"}}, GetParam());
  const auto tensor = static_cast<double>(code.InLoop(SassClass::kTensor));
  EXPECT_EQ(tensor, 128);
  EXPECT_LE(static_cast<double>(code.sass.MainLoop().size()) - tensor, 0.8 * tensor);
  EXPECT_EQ(code.OpcodesInLoop("LDSM.16.M"), 32) << "4 matrices each";
  EXPECT_EQ(code.OpcodesInLoop("LDS."), 0) << "every fragment comes by ldmatrix";
  EXPECT_EQ(code.OpcodesInLoop("BAR"), 2) << "before tiles are stored, and before they are read";
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
}

// The same with copies that run ahead. A turn has 32 instructions that load fragments, so many
// copies of 8 elements a thread, and one barrier; as many turns are one as a ring has stages. There
// is no mask: no comparison but that of the counter. CUTLASS has 1.53 others for each tensor-core
// instruction of a product of this size, and the best product of Triton 1.07.
void CheckPipelinedGemm(const MachineCode& code, int64_t turns, int64_t copies) {
  const auto tensor = static_cast<int64_t>(code.InLoop(SassClass::kTensor));
  EXPECT_EQ(tensor, turns * 128);
  const auto others = static_cast<int64_t>(code.sass.MainLoop().size()) - tensor;
  EXPECT_LE(others * 100, tensor * 70);
  EXPECT_EQ(code.OpcodesInLoop("LDSM.16.M"), turns * 32) << "4 matrices each";
  EXPECT_EQ(code.OpcodesInLoop("LDGSTS"), turns * copies);
  EXPECT_EQ(code.OpcodesInLoop("LDGSTS.E.BYPASS.128"), turns * copies);
  EXPECT_EQ(code.OpcodesInLoop("ISETP"), 1);
  EXPECT_EQ(code.OpcodesInLoop("BAR"), turns) << "one a turn";
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
}

TEST_P(MainLoopOn, OfAPipelinedGemmNeeds0_7OthersForEachTensorInstruction) {
  const std::vector<Binding> sizes = {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}};
  const auto with = [&](std::vector<Binding> more) {
    more.insert(more.begin(), sizes.begin(), sizes.end());
    return TextOf("gemm.tsa", more);
  };
  // 8 warps have twice the columns.
  const auto codes = MachineCodesOf(
      {with({{"STAGES", "2"}}), with({{"STAGES", "3"}}), with({{"BN", "256"}, {"WARPS", "8"}})},
      GetParam());
  {
    SCOPED_TRACE("2 stages");
    CheckPipelinedGemm(codes[0], 2, 16);
  }
  {
    SCOPED_TRACE("3 stages");
    CheckPipelinedGemm(codes[1], 3, 16);
  }
  SCOPED_TRACE("8 warps");
  CheckPipelinedGemm(codes[2], 3, 12);
}

// The same through tiles that the text allocates: no address but the first is computed.
constexpr char kStagedGemm[] = R"(kernel gemm(%a: ptr<f16>, %b: ptr<f16>, %y: ptr<f16>)
  const A: memlayout
  const B: memlayout
  grid (32, 32)
  warps 4
{
  %bx = block.x
  %by = block.y
  %ga = view %a : global<f16>[4096, 4096]
  %gb = view %b : global<f16>[4096, 4096]
  %gy = view %y : global<f16>[4096, 4096]
  %acc = fill 0.0 : reg<f32>[128, 128]
  %sa = alloc.shared : shared<f16>[128, 64] A
  %sb = alloc.shared : shared<f16>[64, 128] B
  for %t = 0 to 64 {
    %ta = load %ga[%bx * 128, %t * 64] : [128, 64]
    %tb = load %gb[%t * 64, %by * 128] : [64, 128]
    sync
    store %sa[0, 0], %ta
    store %sb[0, 0], %tb
    sync
    %fa = load %sa[0, 0] : [128, 64]
    %fb = load %sb[0, 0] : [64, 128]
    %acc = dot %fa, %fb, %acc
  }
  %out = cast %acc : f16
  store %gy[%bx * 128, %by * 128], %out
}
)";

void CheckStagedGemm(const MachineCode& code) {
  const auto tensor = static_cast<double>(code.InLoop(SassClass::kTensor));
  EXPECT_EQ(tensor, 128);
  EXPECT_LE(static_cast<double>(code.sass.MainLoop().size()) - tensor, 0.8 * tensor);
  EXPECT_EQ(code.OpcodesInLoop("LDSM.16.M"), 32) << "4 matrices each";
  EXPECT_EQ(code.OpcodesInLoop("LDS."), 0) << "every fragment comes by ldmatrix";
  EXPECT_EQ(code.OpcodesInLoop("STS.128"), 16);
  EXPECT_EQ(code.OpcodesInLoop("BAR"), 2);
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
}

TEST_P(MainLoopOn, OfAGemmWithSwizzledTilesNeeds0_8OthersForEachTensorInstruction) {
  const SourceFile source("gemm.tsa", kStagedGemm);
  CheckStagedGemm(MachineCodeOf(
      source, {{"A", "swizzle(row_major, 4, 3, 3)"}, {"B", "swizzle(row_major, 4, 3, 4)"}},
      GetParam()));
}

// The text says nothing of how tiles lie in shared memory.
TEST_P(MainLoopOn, OfAGemmWithOpenTilesNeeds0_8OthersForEachTensorInstruction) {
  std::string text = kStagedGemm;
  for (const char* const part : {"  const A: memlayout\n", "  const B: memlayout\n"}) {
    text.erase(text.find(part), std::string_view(part).size());
  }
  for (const char* const part : {" A\n", " B\n"}) text.erase(text.find(part), 2);
  CheckStagedGemm(MachineCodeOf(SourceFile("gemm.tsa", text), {}, GetParam()));
}

// Nothing is known of the shape but that rows are whole accesses.
constexpr char kAnyGemm[] =
    R"(kernel gemm(%a: ptr<f16>, %b: ptr<f16>, %y: ptr<f16>, %m: i32, %n: i32, %k: i32)
  assume %n % 8 == 0
  assume %k % 8 == 0
  grid (ceildiv(%m, 64), ceildiv(%n, 64))
  warps 4
{
  %bx = block.x
  %by = block.y
  %ga = view %a : global<f16>[%m, %k]
  %gb = view %b : global<f16>[%k, %n]
  %gy = view %y : global<f16>[%m, %n]
  %acc = fill 0.0 : reg<f32>[64, 64]
  for %t = 0 to ceildiv(%k, 32) pipeline 1 {
    %ta = load %ga[%bx * 64, %t * 32] : [64, 32]
    %tb = load %gb[%t * 32, %by * 64] : [32, 64]
    %acc = dot %ta, %tb, %acc
  }
  %out = cast %acc : f16
  store %gy[%bx * 64, %by * 64], %out
}
)";

// Four loads of 16 bytes, each with a comparison of its rows and one of its columns, of which all
// loads of %a share one, and those of %b one that is outside of the loop; and the loop's own. One
// of 64 bits is two instructions.
TEST_P(MainLoopOn, OfAGemmOfAnyShapeComparesIn32Bits) {
  const MachineCode code = MachineCodeOf(SourceFile("gemm.tsa", kAnyGemm), {}, GetParam());
  EXPECT_EQ(code.InLoop(SassClass::kTensor), 16);
  EXPECT_EQ(code.OpcodesInLoop("LDG.E.128"), 4);
  EXPECT_EQ(code.OpcodesInLoop("IMAD.WIDE"), 0) << "addresses are sums";
  EXPECT_LE(code.OpcodesInLoop("ISETP"), 6);
}

TEST_P(MainLoopOn, OfTwoTurnsIsUnrolled) {
  const std::string text = kAnyGemm;
  const std::string turns = "to ceildiv(%k, 32) pipeline 1 {";
  const auto with = [&](const std::string& loop) {
    std::string changed = text;
    changed.replace(changed.find(turns), turns.size(), loop);
    return KernelText{SourceFile("gemm.tsa", changed), {}};
  };
  const auto codes =
      MachineCodesOf({with("to 64 pipeline 1 {"), with("to 64 unroll 2 pipeline 1 {"),
                      with("to 4 unroll 1 pipeline 1 {"), with("to 4 pipeline 1 {")},
                     GetParam());
  EXPECT_EQ(codes[0].InLoop(SassClass::kTensor), 16);
  EXPECT_EQ(codes[1].InLoop(SassClass::kTensor), 32);
  EXPECT_EQ(codes[2].InLoop(SassClass::kTensor), 16);
  EXPECT_FALSE(codes[3].sass.instructions.empty());
  EXPECT_EQ(codes[3].InLoop(SassClass::kTensor), 0) << "a few turns have no loop";
}

// 64 rows and 64 keys of D by 4 warps. Keys and values come by copies of 16
// bytes, 8 elements a thread, into rings that every fragment is read from; the probabilities stay
// in registers. There is one barrier a turn.
TEST_P(MainLoopOn, OfAttentionKeepsProbabilitiesInRegisters) {
  constexpr int kWidths[] = {64, 128};
  constexpr const char* kCausal[] = {"false", "true"};
  std::vector<KernelText> kernels;
  for (const int d : kWidths) {
    for (const char* const causal : kCausal) {
      kernels.push_back(TextOf("attention.tsa",
                               {{"D", std::to_string(d)}, {"LENGTH", "4096"}, {"CAUSAL", causal}}));
    }
  }
  const std::vector<MachineCode> codes = MachineCodesOf(kernels, GetParam());
  for (size_t i = 0; i < codes.size(); ++i) {
    const int d = kWidths[i / 2];
    SCOPED_TRACE(std::to_string(d) + ", causal: " + kCausal[i % 2]);
    const MachineCode& code = codes[i];
    const int tiles = 2 * 64 * d;  // elements of the keys and of the values
    EXPECT_EQ(code.InLoop(SassClass::kTensor), static_cast<size_t>(64 * tiles / (16 * 8 * 16) / 4));
    EXPECT_EQ(code.OpcodesInLoop("LDGSTS.E.BYPASS.128"), tiles / 128 / 8);
    EXPECT_EQ(code.OpcodesInLoop("LDG."), 0);
    EXPECT_EQ(code.InLoop(SassClass::kStoreShared), 0);
    EXPECT_EQ(code.OpcodesInLoop("LDSM.16.M"), tiles / 64 / 4) << "4 matrices each";
    // ptxas puts three loads that never run in front of copies behind loads; eight copies stand
    // together.
    EXPECT_LE(code.OpcodesInLoop("LDS"), tiles / 64 / 4 + 3 * (tiles / 128 / 8 + 7) / 8);
    EXPECT_EQ(code.OpcodesInLoop("BAR"), 1);
    EXPECT_EQ(code.resources.spill_store_bytes, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, MainLoopOn, testing::ValuesIn(kTargets),
                         [](const auto& of) { return std::string(Row(of.param).name); });

}  // namespace
}  // namespace tarsia::harness
