// Chains: what becomes one, and that its results are those of the formula.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/vm/run_testing.h"
#include "vm/plan.h"

namespace tarsia::vm::chain_test {
namespace {

// No multiple of any piece.
constexpr int64_t kRows = 37;
constexpr int64_t kColumns = 131;

// A program that computes y[i, j] from x[i, j], the column c[i] and the row r[j] by `body`, which
// names them %x, %c and %r, and the result %y.
std::string ProgramOf(std::string_view body) {
  return "kernel k(%px: ptr<f32>, %pc: ptr<f32>, %pr: ptr<f32>, %py: ptr<f32>, %n: i32)\n"
         "  const M: int = 37\n  const N: int = 131\n  grid (1)\n{\n"
         "  %gx = view %px : global<f32>[M, N]\n  %gc = view %pc : global<f32>[M, 1]\n"
         "  %gr = view %pr : global<f32>[1, N]\n  %gy = view %py : global<f32>[M, N]\n"
         "  %x = load %gx[0, 0] : [M, N]\n  %c = load %gc[0, 0] : [M, 1]\n"
         "  %r = load %gr[0, 0] : [1, N]\n" +
         std::string(body) + "  store %gy[0, 0], %y\n}\n";
}

struct Data {
  Data() {
    for (int64_t i = 0; i < kRows * kColumns; ++i) x.push_back(Number(i));
    for (int64_t i = 0; i < kRows; ++i) c.push_back(Number(7 * i + 3));
    for (int64_t j = 0; j < kColumns; ++j) r.push_back(Number(11 * j + 5));
  }
  // Multiples of 1/8 from -4 to 4, so that sums and products of few are exact.
  static float Number(int64_t i) { return static_cast<float>(i * 37 % 65 - 32) / 8; }
  std::vector<float> x, c, r;
};

using Formula = std::function<float(float x, float c, float r)>;

void Expect(std::string_view body, const Formula& formula, int32_t n = 3) {
  SCOPED_TRACE(body);
  const Data data;
  std::vector<float> y(data.x.size(), -99.0f);
  RunOk(ProgramOf(body), Args().In(data.x).In(data.c).In(data.r).Out(y).I32(n));
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const auto at = static_cast<size_t>(i * kColumns + j);
      const float truth =
          formula(data.x[at], data.c[static_cast<size_t>(i)], data.r[static_cast<size_t>(j)]);
      ASSERT_EQ(y[at], truth) << "row " << i << ", column " << j;
    }
  }
}

// The number of steps of each chain, in order.
std::vector<size_t> StepsOf(std::string_view text) {
  std::vector<size_t> steps;
  const std::optional<Program> program = Compile(text);
  if (!program) return steps;
  const Result<std::shared_ptr<const Plan>> plan = Plan::Make(*program);
  if (!plan.ok()) return steps;
  for (const PlannedInst& inst : (*plan)->code) {
    if (inst.chain != nullptr) steps.push_back(inst.chain->steps.size());
  }
  return steps;
}

using Steps = std::vector<size_t>;

TEST(Chain, ComputesARunPieceByPiece) {
  constexpr std::string_view kBody =
      "  %a = mul %x, 2\n  %b = add %a, %c\n  %d = sub %b, %r\n  %y = fma %d, %d, %x\n";
  Expect(kBody, [](float x, float c, float r) {
    const float d = 2 * x + c - r;
    return d * d + x;
  });
  EXPECT_EQ(StepsOf(ProgramOf(kBody)), Steps{6});  // with two broadcasts
}

TEST(Chain, SmallTilesAreNoChain) {
  EXPECT_EQ(StepsOf("kernel k()\n  grid (1)\n{\n  %a = fill 1.0 : f32 [32, 31]\n"
                    "  %b = add %a, 1\n  %c = mul %b, %b\n}\n"),
            Steps{});
}

TEST(Chain, FillsAndMovesTakeNoStep) {
  constexpr std::string_view kBody =
      "  %z = fill 0.5 : f32 [M, N]\n  %a = add %x, %z\n  %b = mov %a\n  %y = mul %b, %z\n";
  Expect(kBody, [](float x, float, float) { return (x + 0.5f) * 0.5f; });
  EXPECT_EQ(StepsOf(ProgramOf(kBody)), Steps{2});
}

TEST(Chain, KeepsWhatIsUsedLater) {
  // %a is read by a reduction after the chain, %b only within it.
  constexpr std::string_view kBody =
      "  %a = mul %x, 2\n  %b = add %a, 1\n  %y = mul %b, %b\n"
      "  %s = reduce.max %a axes [1] keepdims\n  %y = sub %y, %s\n  %y = add %y, %s\n";
  Expect(kBody, [](float x, float, float) { return (2 * x + 1) * (2 * x + 1); });
}

TEST(Chain, ValuesOfALoopAreThoseOfThePreviousTurn) {
  // The sums of both turns before: neither tile may change before the other one is computed.
  constexpr std::string_view kBody =
      "  %y = mov %x\n  %b = fill 0.125 : f32 [M, N]\n"
      "  for %i = 0 to %n {\n    %s = add %y, %b\n    %b = mov %y\n    %y = mov %s\n  }\n";
  Expect(kBody, [](float x, float, float) {
    float y = x;
    float b = 0.125f;
    for (int i = 0; i < 3; ++i) {
      const float s = y + b;
      b = y;
      y = s;
    }
    return y;
  });
  EXPECT_EQ(StepsOf(ProgramOf(kBody)), (Steps{2, 3}));
}

TEST(Chain, AssignmentsInPlace) {
  constexpr std::string_view kBody =
      "  %y = add %x, 1\n  %y = mul %y, %y\n  %t = sub %x, %y\n  %y = add %y, %t\n";
  Expect(kBody, [](float x, float, float) {
    const float y = (x + 1) * (x + 1);
    return y + (x - y);
  });
}

TEST(Chain, ReadsATileBeforeItIsOverwritten) {
  // %x has a new value at the end; %old names the one before.
  constexpr std::string_view kBody =
      "  %old = mov %x\n  %x = mul %x, 3\n  %a = add %x, %old\n  %x = add %a, 1\n"
      "  %y = sub %x, %old\n  sync\n  %y = add %y, %x\n";
  Expect(kBody, [](float x, float, float) {
    const float last = 3 * x + x + 1;
    return (last - x) + last;
  });
}

TEST(Chain, LoadsBetweenItsInstructionsRunFirst) {
  constexpr std::string_view kBody =
      "  %a = mul %x, 2\n  %r2 = load %gr[0, 0] : [1, N]\n  %b = add %a, %r2\n"
      "  %c2 = load %gc[0, 0] : [M, 1]\n  %y = mul %b, %c2\n";
  Expect(kBody, [](float x, float c, float r) { return (2 * x + r) * c; });
  EXPECT_EQ(StepsOf(ProgramOf(kBody)), Steps{5});
}

TEST(Chain, ATileThatIsLoadedAgainEndsIt) {
  constexpr std::string_view kBody =
      "  %a = mul %x, 2\n  %b = add %a, %r\n  %r = load %gr[0, 1] : [1, N]\n"
      "  %y = mul %b, 3\n  %y = add %y, %a\n";
  Expect(kBody, [](float x, float, float r) { return (2 * x + r) * 3 + 2 * x; });
}

TEST(Chain, AScalarThatChangesEndsIt) {
  constexpr std::string_view kBody =
      "  %k = mov %n : i32\n  %f = cast %k : f32\n  %a = mul %x, %f\n  %b = add %a, 1\n"
      "  %k = mov %k + 1\n  %f = cast %k : f32\n  %c2 = mul %b, %f\n  %y = add %c2, %a\n";
  Expect(kBody, [](float x, float, float) { return (3 * x + 1) * 4 + 3 * x; });
}

TEST(Chain, TypesOfDifferentSizes) {
  constexpr std::string_view kBody =
      "  %h = cast %x : f16\n  %g = add %h, 0.5\n  %w = cast %g : f64\n  %v = mul %w, %w\n"
      "  %m = lt %x, %r\n  %q = not %m\n  %k = cast %x : i32\n  %k = add %k, 1\n"
      "  %e = cast %k : f32\n  %f = cast %v : f32\n  %y = select %q, %f, %e\n";
  Expect(kBody, [](float x, float, float r) {
    return x < r ? std::trunc(x) + 1 : (x + 0.5f) * (x + 0.5f);
  });
  EXPECT_EQ(StepsOf(ProgramOf(kBody)), Steps{12});
}

TEST(Chain, RepeatsAlongAxesOnBothSides) {
  constexpr std::string_view kText = R"(
kernel k(%px: ptr<f32>, %py: ptr<f32>)
  grid (1)
{
  %gx = view %px : global<f32>[1, 13, 1]
  %gy = view %py : global<f32>[9, 13, 17]
  %x = load %gx[0, 0, 0] : [1, 13, 1]
  %a = broadcast %x : [9, 13, 17]
  %y = mul %a, %a
  store %gy[0, 0, 0], %y
}
)";
  std::vector<float> x;
  for (int i = 0; i < 13; ++i) x.push_back(static_cast<float>(i + 1));
  std::vector<float> y(9 * 13 * 17);
  RunOk(kText, Args().In(x).Out(y));
  for (size_t i = 0; i < y.size(); ++i) {
    const float truth = x[i / 17 % 13] * x[i / 17 % 13];
    ASSERT_EQ(y[i], truth) << i;
  }
  EXPECT_EQ(StepsOf(kText), Steps{2});
}

TEST(Chain, RepeatsOneElement) {
  constexpr std::string_view kBody =
      "  %one = load %gc[5, 0] : [1, 1]\n  %a = mul %x, %one\n  %y = add %a, %one\n";
  const float c5 = Data().c[5];
  Expect(kBody, [&](float x, float, float) { return x * c5 + c5; });
  EXPECT_EQ(StepsOf(ProgramOf(kBody)), Steps{4});  // two of them broadcasts
}

TEST(Chain, AColumnAndARowAreOneStep) {
  // Neither broadcast is ever in memory.
  constexpr std::string_view kBody =
      "  %d = sub %c, %r\n  %e = sub %r, %c\n  %f = mul %r, %c\n  %g = fma %d, %e, %f\n"
      "  %y = add %g, %x\n";
  Expect(kBody, [](float x, float c, float r) { return (c - r) * (r - c) + r * c + x; });
  EXPECT_EQ(StepsOf(ProgramOf(kBody)), Steps{5});
  // One that is read twice is.
  constexpr std::string_view kTwice =
      "  %b = broadcast %c : [M, N]\n  %d = sub %b, %r\n  %y = fma %d, %b, %x\n";
  Expect(kTwice, [](float x, float c, float r) { return (c - r) * c + x; });
  EXPECT_EQ(StepsOf(ProgramOf(kTwice)), Steps{4});
}

TEST(Chain, AStepOfACompensatedSumIsOneStep) {
  const auto body = [](std::string_view more) {
    return "  %y = fill 16777216.0 : f32 [M, N]\n  %e = fill 0.0 : f32 [M, N]\n"
           "  for %i = 0 to %n {\n    %z = add %x, 0.1\n    %t = sub %z, %e\n"
           "    %s = add %y, %t\n    %u = sub %s, %y\n    %e = sub %u, %t\n    %y = mov %s\n" +
           std::string(more) + "  }\n  %y = sub %y, %e\n";
  };
  const auto sum = [](bool adds_term) {
    return [adds_term](float x, float, float) {
      float y = 16777216.0f;
      float e = 0;
      for (int i = 0; i < 3; ++i) {
        const float t = (x + 0.1f) - e;
        const float s = y + t;
        e = (s - y) - t;
        y = adds_term ? s + t : s;
      }
      EXPECT_NE(e, 0.0f);
      return y - e;
    };
  };
  Expect(body(""), sum(false));
  EXPECT_EQ(StepsOf(ProgramOf(body(""))), (Steps{2, 2}));
  // Its parts are there if something else reads them.
  Expect(body("    %y = add %y, %t\n"), sum(true));
  EXPECT_EQ(StepsOf(ProgramOf(body("    %y = add %y, %t\n"))), (Steps{2, 6}));
}

// With an instruction budget, instructions run one by one.
TEST(Chain, CountsTheInstructionsThatItRuns) {
  constexpr std::string_view kBody = "  %a = mul %x, 2\n  %b = add %a, %c\n  %y = sub %b, %r\n";
  const Data data;
  std::vector<float> y(data.x.size());
  const Args args = Args().In(data.x).In(data.c).In(data.r).Out(y).I32(1);
  LaunchOptions one_by_one;
  one_by_one.max_instructions = 1000;
  EXPECT_EQ(RunOk(ProgramOf(kBody), args).instructions,
            RunOk(ProgramOf(kBody), args, one_by_one).instructions);
}

}  // namespace
}  // namespace tarsia::vm::chain_test
