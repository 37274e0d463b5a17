// Machine instructions for each element of arithmetic: the slope between two sizes of a tile,
// without what loads and stores it. Needs the pinned ptxas and nvdisasm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cost/cost.h"
#include "tests/codegen/machine_code.h"

namespace tarsia::harness {
namespace {

using compiler::Target;

constexpr Target kTargets[] = {Target::kSm80, Target::kSm90a};

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

int64_t InstructionsOf(const std::string& from, const std::string& to, const std::string& op,
                       int slots, Target target) {
  const SourceFile source("k.tsa", KernelOf(from, to, op, slots));
  const std::vector<compiler::SassInstruction> code =
      CommonPath(MachineCodeOf(source, {}, target).sass);
  return std::count_if(code.begin(), code.end(), [](const compiler::SassInstruction& i) {
    constexpr std::string_view kNotCounted[] = {"LD", "ST", "NOP", "BAR"};
    return std::ranges::none_of(kNotCounted,
                                [&](std::string_view part) { return i.opcode.starts_with(part); });
  });
}

double EachElement(const std::string& from, const std::string& to, const std::string& op,
                   Target target) {
  constexpr int kFew = 16;
  constexpr int kMany = 48;
  const int64_t more =
      InstructionsOf(from, to, op, kMany, target) - InstructionsOf(from, to, op, kFew, target);
  return static_cast<double>(more) / (kMany - kFew);
}

// The instructions that an element may take.
struct Cost {
  const char* from;
  const char* to;
  const char* op;
  double most;
};

class Arithmetic : public MachineCodeTest<Cost> {};

TEST_P(Arithmetic, TakesItsInstructions) {
  const Cost& cost = GetParam();
  for (const Target target : kTargets) {
    const double found = EachElement(cost.from, cost.to, cost.op, target);
    RecordProperty(std::string(Row(target).name), fmt::format("{:.2f}", found));
    EXPECT_LE(found, cost.most) << Row(target).name;
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

// What the formula of the cost takes for the functions above, against what they take.
class Prices : public MachineCodeTest<Cost> {};

TEST_P(Prices, AreThoseOfTheMachineCode) {
  constexpr int64_t kSlots[] = {64};
  const Cost& cost = GetParam();
  const std::string op = cost.op;
  const auto row = FindMnemonic(op.substr(0, op.find(' ')));
  ASSERT_TRUE(row.has_value());
  const bool fast = op.ends_with(" fast");
  const compiler::Work work =
      compiler::ElementwiseWork(*row, FindDType(cost.to).value(),
                                compiler::TileLayout::Exact(*RegLayout::Local(kSlots)), fast);
  const double priced = static_cast<double>(work.arithmetic + work.special) / kSlots[0];
  for (const Target target : kTargets) {
    // The conversions of bf16 differ by two between targets.
    EXPECT_NEAR(priced, EachElement(cost.from, cost.to, cost.op, target),
                cost.to[0] == 'b' ? 2 : 0.2)
        << Row(target).name;
  }
}

class PairCasts : public MachineCodeTest<Cost> {};

TEST_P(PairCasts, TakeTheConversionsOfNewTargets) {
  const Cost& cost = GetParam();
  for (const Target target : {Target::kSm89, Target::kSm90a}) {
    const double found = EachElement(cost.from, cost.to, cost.op, target);
    RecordProperty(std::string(Row(target).name), fmt::format("{:.2f}", found));
    EXPECT_LE(found, cost.most) << Row(target).name;
  }
}

using Division = MachineCodeTest<int>;

std::string NameOf(const testing::TestParamInfo<Cost>& of) {
  const std::string op = of.param.op;
  return fmt::format("{}_{}_{}", op.substr(0, op.find(' ')), of.param.from, of.param.to);
}
INSTANTIATE_TEST_SUITE_P(Casts, Arithmetic, testing::ValuesIn(kCasts), NameOf);
INSTANTIATE_TEST_SUITE_P(FiniteCasts, Arithmetic, testing::ValuesIn(kFiniteCasts), NameOf);
INSTANTIATE_TEST_SUITE_P(Pairs, PairCasts, testing::ValuesIn(kPairCasts), NameOf);
INSTANTIATE_TEST_SUITE_P(Halves, Arithmetic, testing::ValuesIn(kHalves), NameOf);
INSTANTIATE_TEST_SUITE_P(Functions, Arithmetic, testing::ValuesIn(kFunctions), NameOf);
INSTANTIATE_TEST_SUITE_P(FastFunctions, Arithmetic, testing::ValuesIn(kFastFunctions), NameOf);
INSTANTIATE_TEST_SUITE_P(Functions, Prices, testing::ValuesIn(kFunctions), NameOf);
INSTANTIATE_TEST_SUITE_P(FastFunctions, Prices, testing::ValuesIn(kFastFunctions), NameOf);

// The rare operands of a division or a root have their code beside it, not in a function.
TEST_F(Division, CallsNothing) {
  for (const Target target : kTargets) {
    for (const char* const op : {"div %a, %z", "rcp %a", "sqrt %a"}) {
      const SourceFile source("k.tsa", KernelOf("f32", "f32", op, 16));
      const compiler::SassKernel sass = MachineCodeOf(source, {}, target).sass;
      EXPECT_GT(sass.instructions.size(), CommonPath(sass).size()) << Row(target).name << op;
      EXPECT_FALSE(Calls(sass)) << Row(target).name << op;
    }
  }
}

// The reciprocal and the product, 2 an element. The tiles of two operands fill so many registers
// that ptxas reads and shifts the number of the thread once more for the addresses of the result,
// which the slope counts for any operation; so it is held to that of a product of the same tiles.
TEST_F(Division, FastTakesOneInstructionMoreThanAProductOfTheSameTiles) {
  for (const Target target : kTargets) {
    const double product = EachElement("f32", "f32", "mul %z, %a", target);
    EXPECT_LE(product, 1.1) << Row(target).name;
    EXPECT_LE(EachElement("f32", "f32", "div %z, %a fast", target), product + 1)
        << Row(target).name;
  }
}

// Range reduction and polynomials, whose divisions are by the GPU's reciprocal.
TEST_F(Division, IsNotCalledByLogarithmsAndErf) {
  for (const Target target : kTargets) {
    for (const char* const op : {"log %a", "log2 %a", "erf %a"}) {
      const SourceFile source("k.tsa", KernelOf("f32", "f32", op, 4));
      EXPECT_FALSE(Calls(MachineCodeOf(source, {}, target).sass)) << Row(target).name << op;
    }
  }
}

}  // namespace
}  // namespace tarsia::harness
