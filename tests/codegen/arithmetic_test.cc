// Machine instructions for each element of arithmetic: the slope between two sizes of a tile,
// without what loads and stores it. Needs the pinned ptxas and nvdisasm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cost/cost.h"
#include "tests/codegen/machine_code.h"

namespace tarsia::harness {
namespace {

using compiler::Target;

constexpr std::array kTargets = {Target::kSm80, Target::kSm90a};

// y = op(x) of `from` and `to`, `slots` elements a thread of one warp. %z is a second operand.
std::string KernelOf(const std::string& from, const std::string& to, const std::string& op,
                     int slots) {
  return fmt::format(R"(kernel k(%x: ptr<{0}>, %w: ptr<{0}>, %y: ptr<{1}>)
  warps 1
{{
  %gx = view %x : global<{0}>[{3}]
  %gw = view %w : global<{0}>[{3}]
  %gy = view %y : global<{1}>[{3}]
  %a = load %gx[0] : reg<{0}>[{3}] local({4}) * spatial(32) * local(4)
  %z = load %gw[0] : reg<{0}>[{3}] local({4}) * spatial(32) * local(4)
  %b = {2}
  store %gy[0], %b
}}
)",
                     from, to, op, slots * 32, slots / 4);
}

// The instructions of a kernel without those that a branch skips, the code for rare operands.
std::vector<compiler::SassInstruction> CommonPath(const compiler::SassKernel& sass) {
  std::vector<compiler::SassInstruction> out;
  for (size_t i = 0; i < sass.instructions.size(); ++i) {
    const compiler::SassInstruction& at = sass.instructions[i];
    out.push_back(at);
    if (at.opcode != "BRA" || at.guard.empty()) continue;
    for (const compiler::SassLabel& label : sass.labels) {
      const bool named = at.operands.find("(" + label.name + ")") != std::string::npos;
      if (named && label.instruction > i) i = label.instruction - 1;
    }
  }
  return out;
}

bool Calls(const compiler::SassKernel& sass) {
  return std::ranges::any_of(sass.instructions, [](const compiler::SassInstruction& i) {
    return i.opcode.starts_with("CALL");
  });
}

int64_t InstructionsOf(const compiler::SassKernel& sass) {
  const std::vector<compiler::SassInstruction> code = CommonPath(sass);
  return std::count_if(code.begin(), code.end(), [](const compiler::SassInstruction& i) {
    constexpr std::string_view kNotCounted[] = {"LD", "ST", "NOP", "BAR"};
    return std::ranges::none_of(kNotCounted,
                                [&](std::string_view part) { return i.opcode.starts_with(part); });
  });
}

// The instructions that an element may take.
struct Cost {
  const char* from;
  const char* to;
  const char* op;
  double most;
};

KernelText TextOf(const Cost& cost, int slots) {
  return {SourceFile("k.tsa", KernelOf(cost.from, cost.to, cost.op, slots)), {}};
}

std::vector<MachineCode> CodesOf(std::span<const Cost> costs, int slots, Target target) {
  std::vector<KernelText> kernels;
  for (const Cost& cost : costs) kernels.push_back(TextOf(cost, slots));
  return MachineCodesOf(kernels, target);
}

// Instructions for an element of each.
std::vector<double> EachElement(std::span<const Cost> costs, Target target) {
  constexpr int kFew = 16;
  constexpr int kMany = 48;
  std::vector<KernelText> kernels;
  for (const Cost& cost : costs) {
    kernels.push_back(TextOf(cost, kMany));
    kernels.push_back(TextOf(cost, kFew));
  }
  const std::vector<MachineCode> codes = MachineCodesOf(kernels, target);
  std::vector<double> out;
  for (size_t i = 0; i < codes.size(); i += 2) {
    const int64_t more = InstructionsOf(codes[i].sass) - InstructionsOf(codes[i + 1].sass);
    out.push_back(static_cast<double>(more) / (kMany - kFew));
  }
  return out;
}

// What the formula of the cost takes for one.
double PriceOf(const Cost& cost) {
  constexpr int64_t kSlots[] = {64};
  const std::string op = cost.op;
  const auto row = FindMnemonic(op.substr(0, op.find(' ')));
  EXPECT_TRUE(row.has_value());
  if (!row) return 0;
  const bool fast = op.ends_with(" fast");
  const compiler::Work work =
      compiler::ElementwiseWork(*row, FindDType(cost.to).value(),
                                compiler::TileLayout::Exact(*RegLayout::Local(kSlots)), fast);
  return static_cast<double>(work.arithmetic + work.special) / kSlots[0];
}

// Costs of which one run of each tool makes the code.
struct Table {
  const char* name;
  std::span<const Cost> costs;
  std::array<Target, 2> targets = kTargets;
  bool priced = false;
};

class Arithmetic : public MachineCodeTest<Table> {};

TEST_P(Arithmetic, TakesItsInstructionsAndItsPrice) {
  const Table& table = GetParam();
  for (const Target target : table.targets) {
    const std::vector<double> found = EachElement(table.costs, target);
    for (size_t i = 0; i < table.costs.size(); ++i) {
      const Cost& cost = table.costs[i];
      const std::string what =
          fmt::format("{} from {} to {} for {}", cost.op, cost.from, cost.to, Row(target).name);
      EXPECT_LE(found[i], cost.most) << what;
      if (!table.priced) continue;
      // The conversions of bf16 differ by two between targets.
      EXPECT_NEAR(PriceOf(cost), found[i], cost.to[0] == 'b' ? 2 : 0.2) << what;
    }
  }
}

constexpr Cost kCasts[] = {
    {"f32", "f16", "cast %a : f16", 0.5},   {"f32", "bf16", "cast %a : bf16", 0.5},
    {"f16", "f32", "cast %a : f32", 1},     {"bf16", "f32", "cast %a : f32", 1},
    {"f16", "bf16", "cast %a : bf16", 1.5}, {"bf16", "f16", "cast %a : f16", 1.5},
};
// 8-bit floats that are no NaN: where the target has no conversion of pairs, a byte of f8e5m2 is
// the upper half of an f16, and f8e4m3fn takes a shift, a mask and the sign, and half of a product.
constexpr Cost kFiniteCasts[] = {
    {"f8e5m2", "f16", "cast %a finite : f16", 1.5},
    {"f8e4m3fn", "f16", "cast %a finite : f16", 2.3},
};
// One conversion of two, or fewer, on targets that have it.
constexpr Cost kPairCasts[] = {
    {"f8e5m2", "f16", "cast %a : f16", 1.5},
    {"f8e4m3fn", "f16", "cast %a : f16", 1.8},
};
// One instruction for two halves.
constexpr Cost kHalves[] = {
    {"f16", "f16", "add %a, %z", 0.5},   {"f16", "f16", "sub %a, %z", 0.5},
    {"f16", "f16", "mul %a, %z", 0.5},   {"f16", "f16", "fma %a, %z, %z", 0.5},
    {"f16", "f16", "max %a, %z", 0.5},   {"f16", "f16", "abs %a", 0.5},
    {"bf16", "bf16", "add %a, %z", 0.5}, {"bf16", "bf16", "sub %a, %z", 0.5},
    {"bf16", "bf16", "mul %a, %z", 0.5}, {"bf16", "bf16", "fma %a, %z, %z", 0.5},
    {"bf16", "bf16", "min %a, %z", 0.5}, {"bf16", "bf16", "neg %a", 0.5},
};

// Within 0.1 for constants in registers. A reciprocal takes its seed, two steps of two, and four
// that send rare operands elsewhere and back; a root also half of its seed and its first value, and
// three more to find rare operands. An f16 is widened by one instruction, a bf16 by one and a half,
// and half of one rounds each of two.
constexpr Cost kFunctions[] = {
    {"f32", "f32", "exp %a", 8.1},        {"f32", "f32", "exp2 %a", 4.1},
    {"f32", "f32", "rsqrt %a", 4.1},      {"f32", "f32", "tanh %a", 14.1},
    {"f32", "f32", "div %a, %z", 14.1},   {"f16", "f16", "exp %a", 3.6},
    {"f16", "f16", "exp2 %a", 2.6},       {"f16", "f16", "rsqrt %a", 2.6},
    {"f16", "f16", "tanh %a", 2.6},       {"f16", "f16", "div %a, %z", 7.6},
    {"bf16", "bf16", "exp %a", 7.1},      {"bf16", "bf16", "exp2 %a", 6.1},
    {"bf16", "bf16", "rsqrt %a", 6.1},    {"bf16", "bf16", "tanh %a", 3.1},
    {"bf16", "bf16", "div %a, %z", 17.6}, {"f32", "f32", "rcp %a", 9.1},
    {"f32", "f32", "sqrt %a", 14.1},      {"f16", "f16", "rcp %a", 2.6},
    {"f16", "f16", "sqrt %a", 8.6},       {"bf16", "bf16", "rcp %a", 11.1},
    {"bf16", "bf16", "sqrt %a", 6.1},
};

// The instructions of the GPU that PTX's forms consist of, and the same conversions of halves. A
// division is below.
constexpr Cost kFastFunctions[] = {
    {"f32", "f32", "exp %a fast", 2},   {"f32", "f32", "exp2 %a fast", 1},
    {"f32", "f32", "log %a fast", 2},   {"f32", "f32", "log2 %a fast", 1},
    {"f32", "f32", "sin %a fast", 2},   {"f32", "f32", "cos %a fast", 2},
    {"f32", "f32", "tanh %a fast", 1},  {"f32", "f32", "sqrt %a fast", 1},
    {"f32", "f32", "rsqrt %a fast", 1}, {"f32", "f32", "rcp %a fast", 1},
    {"f16", "f16", "exp %a fast", 3.5}, {"bf16", "bf16", "exp %a fast", 4},
};

using Division = MachineCodeTest<int>;

INSTANTIATE_TEST_SUITE_P(
    Tables, Arithmetic,
    testing::Values(Table{"Casts", kCasts}, Table{"FiniteCasts", kFiniteCasts},
                    Table{"PairCasts", kPairCasts, {Target::kSm89, Target::kSm90a}},
                    Table{"Halves", kHalves}, Table{"Functions", kFunctions, kTargets, true},
                    Table{"FastFunctions", kFastFunctions, kTargets, true}),
    [](const auto& of) { return of.param.name; });

// The rare operands of a division or a root have their code beside it, not in a function.
TEST_F(Division, CallsNothing) {
  constexpr Cost kRare[] = {
      {"f32", "f32", "div %a, %z", 0}, {"f32", "f32", "rcp %a", 0}, {"f32", "f32", "sqrt %a", 0}};
  for (const Target target : kTargets) {
    const std::vector<MachineCode> codes = CodesOf(kRare, 16, target);
    for (size_t i = 0; i < codes.size(); ++i) {
      const compiler::SassKernel& sass = codes[i].sass;
      EXPECT_GT(sass.instructions.size(), CommonPath(sass).size())
          << Row(target).name << kRare[i].op;
      EXPECT_FALSE(Calls(sass)) << Row(target).name << kRare[i].op;
    }
  }
}

// The reciprocal and the product, 2 an element. The tiles of two operands fill so many registers
// that ptxas reads and shifts the number of the thread once more for the addresses of the result,
// which the slope counts for any operation; so it is held to that of a product of the same tiles.
TEST_F(Division, FastTakesOneInstructionMoreThanAProductOfTheSameTiles) {
  constexpr Cost kBoth[] = {{"f32", "f32", "mul %z, %a", 1.1},
                            {"f32", "f32", "div %z, %a fast", 0}};
  for (const Target target : kTargets) {
    const std::vector<double> found = EachElement(kBoth, target);
    EXPECT_LE(found[0], kBoth[0].most) << Row(target).name;
    EXPECT_LE(found[1], found[0] + 1) << Row(target).name;
  }
}

// Range reduction and polynomials, whose divisions are by the GPU's reciprocal.
TEST_F(Division, IsNotCalledByLogarithmsAndErf) {
  constexpr Cost kCallers[] = {
      {"f32", "f32", "log %a", 0}, {"f32", "f32", "log2 %a", 0}, {"f32", "f32", "erf %a", 0}};
  for (const Target target : kTargets) {
    const std::vector<MachineCode> codes = CodesOf(kCallers, 4, target);
    for (size_t i = 0; i < codes.size(); ++i) {
      EXPECT_FALSE(codes[i].sass.instructions.empty());
      EXPECT_FALSE(Calls(codes[i].sass)) << Row(target).name << kCallers[i].op;
    }
  }
}

}  // namespace
}  // namespace tarsia::harness
