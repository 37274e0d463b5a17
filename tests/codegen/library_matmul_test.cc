// The kernels that the library chooses for a quantised matmul (kernels/quantised_matmul.tsa), over
// weights of every type: the machine code of their main loops, held to what the cast of a weight
// costs, and what a launch moves on the emulator, held to the bytes that are stored. Needs the
// pinned ptxas and nvdisasm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/assemble/sass.h"
#include "dtypes/dtype.h"
#include "runtime/devices/code.h"
#include "runtime/devices/device.h"
#include "runtime/library.h"
#include "runtime/matmul/candidates.h"
#include "runtime/matmul/matmul_plan.h"
#include "runtime/weights/packed_weights.h"
#include "support/align.h"
#include "tests/codegen/cast_costs.h"
#include "tests/codegen/machine_code.h"
#include "tests/settings.h"

namespace tarsia::harness::library_matmul_test {
namespace {

using compiler::SassClass;
using runtime::MatmulPlan;
using runtime::MatmulProblem;

constexpr std::string_view kCodebook = "codebook";  // of 16 entries

MatmulProblem ProblemOf(const CastCost& cost, int64_t m, int64_t k, int64_t n, int64_t group) {
  MatmulProblem out;
  out.m_min = out.m_max = m;
  out.codebook = cost.type == kCodebook;
  WeightInfo& w = out.weights;
  w.type = out.codebook ? kU4 : *FindDType(cost.type);
  w.compute = *FindDType(cost.to);
  w.k = w.whole_k = k;
  w.n = w.whole_n = n;
  w.group = group;
  w.finite = false;  // the casts of the table mind NaN
  out.output = runtime::UsualOutput(w.compute);
  return out;
}

std::shared_ptr<runtime::Device> Open(std::string_view name) {
  auto device = runtime::OpenDevice(name);
  EXPECT_TRUE(device.ok());
  return *std::move(device);
}

std::unique_ptr<const MatmulPlan> PlanOn(const std::shared_ptr<runtime::Device>& device,
                                         const MatmulProblem& problem,
                                         const std::optional<std::string>& candidate = {}) {
  runtime::MatmulOptions options;
  options.candidate = candidate;
  auto plan = MatmulPlan::Make(problem, device, options);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? *std::move(plan) : nullptr;
}
std::unique_ptr<const MatmulPlan> PlanOf(const MatmulProblem& problem) {
  const bool f8 = problem.activations() == kF8E4M3FN;
  return PlanOn(Open(f8 ? "ptx:sm_89" : "ptx:sm_80"), problem);
}

// The first kernel of a plan, and of each.
compiler::CompiledKernel KernelOf(const MatmulPlan& plan) {
  return plan.KernelsOf(0).front().image->kernel();
}
std::vector<compiler::CompiledKernel> KernelsOf(
    const std::vector<std::unique_ptr<const MatmulPlan>>& plans) {
  std::vector<compiler::CompiledKernel> out;
  for (const auto& plan : plans) out.push_back(KernelOf(*plan));
  return out;
}

compiler::Target TargetOf(const MatmulPlan& plan) {
  return plan.KernelsOf(0).front().image->target();
}

// Bytes on their way to a processor of sm_80: weights, activations and scales of all stages but the
// one that computes, of the blocks that its registers and shared memory have room for.
int64_t BytesInFlight(const MatmulPlan& plan, const MachineCode& machine) {
  const runtime::MatmulTile& tile = plan.ranges()[0].candidate.tile;
  const WeightInfo& w = plan.problem().weights;
  const int64_t groups = std::max<int64_t>(tile.bk / w.group, 1);
  const int64_t turn =
      int64_t{tile.bk} * (tile.bn * w.type.bits / 8 + tile.bm * w.compute.bits / 8) +
      groups * tile.bn * 2;
  return machine.BlocksOfProcessor(int64_t{tile.warps} * 32) * (tile.stages - 1) * turn;
}

class LibraryMatmul : public MachineCodeTest<CastFamily> {
 protected:
  static void CheckLoops(int64_t group) {
    const std::vector<CastCost>& costs = GetParam().costs;
    constexpr int64_t kRows[] = {1, 16};
    std::vector<std::unique_ptr<const MatmulPlan>> plans;
    for (const CastCost& cost : costs) {
      for (const int64_t m : kRows) {
        plans.push_back(PlanOf(ProblemOf(cost, m, 8192, 8192, group)));
        ASSERT_NE(plans.back(), nullptr);
      }
    }
    const auto codes = MachineCodesOf(KernelsOf(plans), TargetOf(*plans.front()));
    for (size_t i = 0; i < plans.size(); ++i) {
      const CastCost& cost = costs[i / std::size(kRows)];
      const int64_t m = kRows[i % std::size(kRows)];
      SCOPED_TRACE(fmt::format("{}, m = {}, groups of {}", cost.type, m, group));
      CheckLoop(cost, m, group, *plans[i], codes[i]);
    }
  }

  static bool IsLocal(const compiler::SassInstruction& i) {
    return i.opcode.starts_with("STL") || i.opcode.starts_with("LDL");
  }

 private:
  // Everything in the loop counts: copies, addresses, scales, sums. The bounds are those of
  // examples/matmul_scaled.tsa (pipelined_weights_test.cc), which has to be below every peer, and
  // what slices may cost more (tests/examples/costs.py).
  static void CheckLoop(const CastCost& cost, int64_t m, int64_t group, const MatmulPlan& plan,
                        const MachineCode& machine) {
    const runtime::MatmulTile& tile = plan.ranges()[0].candidate.tile;
    const auto loop = machine.sass.MainLoop();
    const auto tensor =
        static_cast<double>(compiler::CountClasses(loop)[static_cast<size_t>(SassClass::kTensor)]);
    EXPECT_GT(tensor, 0);
    // A tensor instruction has 16 x 16 weights of a warp, or 16 x 32 of 8 bits, and 8 rows.
    const double weights = tensor * 8 / tile.bm * 4096 / plan.problem().activations().bits / 32;
    const bool u4 = cost.type == std::string_view("u4");
    constexpr double kSlices = 0.1;
    // A fragment of x serves half as many weights in a warp of 16 columns.
    const bool narrow = tile.bm == 8 && tile.bn * std::max(tile.slices, 1) / tile.warps == 16;
    double most = (m == 16 ? 0.65 : 0.45) + (u4 ? 0 : 0.1) + kSlices + (narrow ? 0.1 : 0);
    if (group == 32) most += m == 16 ? 0.65 : 0.45;
    EXPECT_LE(static_cast<double>(loop.size()) / weights, cost.instructions + most)
        << plan.ranges()[0].candidate.Text();
    EXPECT_EQ(std::ranges::count_if(loop, IsLocal), 0);
    EXPECT_EQ(machine.resources.spill_store_bytes, 0) << plan.ranges()[0].candidate.Text();
    EXPECT_GE(tile.stages, 4);
    EXPECT_GE(BytesInFlight(plan, machine), 32 * 1024) << plan.ranges()[0].candidate.Text();
  }
};

TEST_P(LibraryMatmul, CostsTheCastAndLittleBesides) { CheckLoops(128); }

class LibraryMatmulOfWidths : public LibraryMatmul {
 protected:
  struct Case {
    std::string what;
    MatmulProblem problem;
  };
  // 0: one matrix; two halves; zero points in integers; both.
  static constexpr int kForms = 4;
  static Case CaseOf(const CastCost& cost, int64_t m, int64_t group, int form) {
    constexpr std::string_view kNames[kForms] = {"", ", two halves", ", zero points",
                                                 ", two halves with zero points"};
    Case out{fmt::format("{}, m = {}, groups of {}{}", cost.type, m, group, kNames[form]),
             ProblemOf(cost, m, 8192, 8192, group)};
    out.problem.gated = form % 2 != 0;
    if (form >= 2) {
      out.problem.weights.zero = ZeroPoint::kInteger;
      out.problem.weights.zero_type = kU8;
    }
    return out;
  }
  static bool HasForm(const CastCost& cost, int form) {
    return form < 2 || FindDType(cost.type)->IsInteger();
  }

  // The kernel that is predicted to be the best for a case, and the bytes that ptxas spills of it.
  struct Kernel {
    std::string what;
    std::unique_ptr<const MatmulPlan> plan;
    int64_t spilled = 0;
  };
  static std::vector<Kernel> BestOf(std::string_view device, const std::vector<Case>& cases) {
    const auto opened = Open(device);
    std::vector<Kernel> out;
    std::vector<compiler::CompiledKernel> code;
    for (const Case& one : cases) {
      out.push_back({one.what, PlanOn(opened, one.problem)});
      if (out.back().plan == nullptr) return {};
      out.back().what +=
          fmt::format(" on {}: {}", device, out.back().plan->ranges()[0].candidate.Text());
      code.push_back(KernelOf(*out.back().plan));
    }
    const auto resources = ResourcesOf(code, TargetOf(*out.front().plan));
    for (size_t i = 0; i < out.size(); ++i) out[i].spilled = resources[i].spill_store_bytes;
    return out;
  }
  static void ExpectNoSpills(const std::vector<Case>& cases) {
    const auto kernels = BestOf("ptx:sm_80", cases);
    ASSERT_EQ(kernels.size(), cases.size());
    for (const Kernel& kernel : kernels) EXPECT_EQ(kernel.spilled, 0) << kernel.what;
  }

  static bool LoopSpills(const MatmulPlan& plan) {
    const auto code = MachineCodesOf(std::vector{KernelOf(plan)}, TargetOf(plan));
    return std::ranges::any_of(code[0].sass.MainLoop(), IsLocal);
  }
  // Whether a candidate that is predicted to take at most 5% longer than the best spills nothing.
  static bool HasAnother(const MatmulPlan& best) {
    const MatmulProblem& problem = best.problem();
    const std::shared_ptr<runtime::Device> device = Open(best.device().name());
    const auto all = runtime::RankMatmul(problem, device->Model(), device->Limits().shared_bytes,
                                         {}, problem.m_max);
    return std::any_of(all.begin() + 1, all.end(), [&](const runtime::MatmulCandidate& other) {
      if (other.dequantises || other.microseconds > 1.05 * all[0].microseconds) return false;
      const auto plan = PlanOn(device, problem, other.Text());
      return ResourcesOf(std::vector{KernelOf(*plan)}, TargetOf(*plan))[0].spill_store_bytes == 0;
    });
  }
};

TEST_P(LibraryMatmulOfWidths, InGroupsOf32CostsTheCastAndItsScales) { CheckLoops(32); }

TEST_P(LibraryMatmulOfWidths, KeepsNothingInLocalMemory) {
  std::vector<Case> cases;
  for (const CastCost& cost : GetParam().costs) {
    for (const auto& [m, group] : {std::pair<int64_t, int64_t>{8, 32},
                                   {32, 32},
                                   {8, 64},
                                   {16, 64},
                                   {32, 64},
                                   {8, 128},
                                   {32, 128},
                                   {64, 128}}) {
      cases.push_back(CaseOf(cost, m, group, 0));
    }
  }
  ExpectNoSpills(cases);
}

// TARSIA_LONG=1 tries each form with all groups and rows, else one of the three, in turn.
TEST_P(LibraryMatmulOfWidths, KeepsNothingOfTwoHalvesOrZeroPointsInLocalMemory) {
  std::vector<Case> cases;
  for (const CastCost& cost : GetParam().costs) {
    int turn = FindDType(cost.type)->bits;
    for (const int64_t group : {32, 64, 128}) {
      for (const int64_t m : {1, 16, 32, 64}) {
        for (int form = 1; form < kForms; ++form) {
          if (!HasForm(cost, form)) continue;
          const bool in_turn = form == 1 + turn % 3 || !HasForm(cost, 2);
          if (IsLong() || in_turn) cases.push_back(CaseOf(cost, m, group, form));
        }
        ++turn;
      }
    }
  }
  ExpectNoSpills(cases);
}

// On other targets a few of the best spill some bytes. A plan takes another where one is about as
// fast (matmul_choice_test.cc). TARSIA_LONG=1 tries all forms, groups and rows.
TEST_P(LibraryMatmulOfWidths, HasLoopsOfEveryTargetThatKeepNothingInLocalMemory) {
  std::vector<Case> cases;
  for (const CastCost& cost : GetParam().costs) {
    for (const int64_t group : {32, 64, 128}) {
      for (const int64_t m : {1, 16, 32, 64}) {
        for (int form = 0; form < kForms; ++form) {
          const bool in_short = form == 0 && m == 32 && group != 64;
          if (HasForm(cost, form) && (IsLong() || in_short)) {
            cases.push_back(CaseOf(cost, m, group, form));
          }
        }
      }
    }
  }
  for (const std::string_view device : {"ptx:sm_89", "ptx:sm_90a"}) {
    const auto kernels = BestOf(device, cases);
    ASSERT_EQ(kernels.size(), cases.size());
    for (const Kernel& kernel : kernels) {
      if (kernel.spilled == 0) continue;
      EXPECT_TRUE(!LoopSpills(*kernel.plan) || HasAnother(*kernel.plan)) << kernel.what;
    }
  }
}

// One of each width, and one that minds NaN.
std::vector<CastCost> OfWidths() {
  constexpr std::string_view kTried[] = {"u1", "u2", "u3", "u4",      "u5",
                                         "u6", "u7", "u8", "f8e4m3fn"};
  std::vector<CastCost> out;
  std::ranges::copy_if(kCastCosts, std::back_inserter(out), [&](const CastCost& cost) {
    return cost.to == std::string_view("f16") &&
           std::ranges::find(kTried, cost.type) != std::end(kTried);
  });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Types, LibraryMatmulOfWidths, testing::ValuesIn(FamiliesOf(OfWidths())),
                         [](const auto& of) { return of.param.name; });

INSTANTIATE_TEST_SUITE_P(Types, LibraryMatmul, testing::ValuesIn(FamiliesOf(kCastCosts)),
                         [](const auto& of) { return of.param.name; });

// Of eight codes in a word: a turn, an order of bytes, two masks and a shift, two shifts for the
// codes in its high half; six permutations of bytes for each half, and one for two elements.
constexpr double kLookup = (7 + 2 * 6 + 4) / 8.0;
constexpr CastCost kTableCosts[] = {{"codebook", kLookup, "f16"}, {"codebook", kLookup, "bf16"}};

class LibraryMatmulOfTables : public LibraryMatmul {};

TEST_P(LibraryMatmulOfTables, CostsTheLookupAndLittleBesides) { CheckLoops(128); }

INSTANTIATE_TEST_SUITE_P(Types, LibraryMatmulOfTables, testing::ValuesIn(FamiliesOf(kTableCosts)),
                         [](const auto& of) { return of.param.name; });

// Activations of 8 bits: decoding is that of docs/dtypes.md as of 2026-11-26, and nothing for u8
// and i8. What is besides has the bounds of 16 bits.
constexpr CastCost kByteCosts[] = {
    {"u1", 0.47, "i8"},
    {"u2", 0.44, "i8"},
    {"u3", 0.53, "i8"},
    {"u4", 0.38, "i8"},
    {"u5", 0.59, "i8"},
    {"u6", 0.56, "i8"},
    {"u7", 0.66, "i8"},
    {"u8", 0.00, "i8"},
    {"i1", 0.97, "i8"},
    {"i2", 0.94, "i8"},
    {"i3", 1.03, "i8"},
    {"i4", 0.88, "i8"},
    {"i5", 1.09, "i8"},
    {"i6", 1.06, "i8"},
    {"i7", 1.16, "i8"},
    {"i8", 0.00, "i8"},
    // On sm_89, of types whose cast has a recipe. (f5e4m0 takes 0.01 more than it may with one
    // row.)
    {"f6e4m1", 0.56, "f8e4m3fn"},
    {"f7e4m2", 0.66, "f8e4m3fn"},
    {"f8e4m3fn", 0.00, "f8e4m3fn"},
};

class LibraryMatmulOfBytes : public LibraryMatmul {};

TEST_P(LibraryMatmulOfBytes, CostsTheCastAndLittleBesides) { CheckLoops(128); }

INSTANTIATE_TEST_SUITE_P(Types, LibraryMatmulOfBytes, testing::ValuesIn(FamiliesOf(kByteCosts)),
                         [](const auto& of) { return of.param.name; });

// ---- schedules --------------------------------------------------------------------------------

// The turns of the processor that has the most over their mean, less one.
double TailOf(const runtime::MatmulTile& tile, const MatmulProblem& problem, int64_t m,
              int64_t processors) {
  const int64_t tiles = CeilDiv<int64_t>(m, tile.bm) * CeilDiv<int64_t>(problem.columns(), tile.bn);
  const int64_t shared = tile.stream ? tiles * CeilDiv<int64_t>(problem.weights.k, tile.bk) : tiles;
  const int64_t among = tile.stream ? tile.blocks : processors;
  return static_cast<double>(AlignUp(shared, among)) / static_cast<double>(shared) - 1;
}

// For every layer of three models (Llama 70B, Qwen 2.5 32B, Gemma 2 9B) on an A100 and on an H200.
// Which candidate is the fastest is another matter: small layers are done before all processors
// have as much.
TEST(LibrarySchedules, AShortTailIsAmongTheCandidates) {
  constexpr std::pair<int64_t, int64_t> kLayers[] = {
      {8192, 10240}, {8192, 8192},  {8192, 57344}, {28672, 8192}, {5120, 7168},  {5120, 5120},
      {5120, 55296}, {27648, 5120}, {3584, 8192},  {4096, 3584},  {3584, 28672}, {14336, 3584}};
  for (const char* const name : {"ptx:sm_80", "ptx:sm_90a"}) {
    const auto device = runtime::OpenDevice(name);
    ASSERT_TRUE(device.ok());
    const runtime::DeviceModel model = (*device)->Model();
    EXPECT_EQ(model.processors, name == std::string_view("ptx:sm_80") ? 108 : 132);
    for (const auto& [k, n] : kLayers) {
      for (const int64_t m : {1, 16}) {
        const MatmulProblem problem = ProblemOf({"u4", 1.12}, m, k, n, 128);
        double least = 1;
        for (const auto& candidate :
             runtime::RankMatmul(problem, model, (*device)->Limits().shared_bytes, {}, m)) {
          least = std::min(least, TailOf(candidate.tile, problem, m, model.processors));
        }
        EXPECT_LE(least, 0.035) << name << " k=" << k << " n=" << n << " m=" << m;
      }
    }
  }
}

runtime::MatmulTile FirstTile(const char* device, const MatmulProblem& problem) {
  const auto opened = runtime::OpenDevice(device);
  EXPECT_TRUE(opened.ok());
  return runtime::RankMatmul(problem, (*opened)->Model(), (*opened)->Limits().shared_bytes, {},
                             problem.m_max)
      .front()
      .tile;
}

// A stream was measured to take 13 to 26% longer on an H200 (bench/results/h200.md).
TEST(LibrarySchedules, OneTileForEachProcessorIsFirstForFewRowsOfWideLayers) {
  for (const char* const type : {"u4", "u8"}) {
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{8192, 57344}, {5120, 55296}}) {
      for (const int64_t m : {1, 16}) {
        const auto tile = FirstTile("ptx:sm_90a", ProblemOf({type, 0}, m, k, n, 128));
        const int64_t tiles = CeilDiv<int64_t>(n, tile.bn);
        EXPECT_FALSE(tile.stream);
        EXPECT_LE(tiles, 132) << type << " " << n << " m=" << m;
        EXPECT_GE(tiles, 120) << type << " " << n << " m=" << m;
      }
    }
  }
}

// Others decode the codes of a tile beyond the last column one by one.
TEST(LibrarySchedules, TilesOfComplementedCodesEndWithTheColumns) {
  EXPECT_NE(8192 % FirstTile("ptx:sm_80", ProblemOf({"u8", 0}, 1, 8192, 8192, 128)).bn, 0)
      << "tiles of 80 columns are predicted to be the fastest";
  EXPECT_EQ(8192 % FirstTile("ptx:sm_80", ProblemOf({"i8", 0}, 1, 8192, 8192, 128)).bn, 0);
}

}  // namespace
}  // namespace tarsia::harness::library_matmul_test
