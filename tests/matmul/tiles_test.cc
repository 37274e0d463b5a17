// Tile sizes of examples/matmul.tsa over weight types, orders in memory and targets: each makes PTX
// that ptxas accepts, or is refused with the line, an id, and help.
//
// With TARSIA_LONG all of 10 types, 18 tiles, two orders and two targets; otherwise a subset in
// which every type occurs with every width and depth of a tile, both orders and both targets.
#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "compiler/compile.h"
#include "tests/harness/assembly.h"
#include "tests/matmul/run_problem.h"
#include "tests/settings.h"

namespace tarsia::matmul {
namespace {

using compiler::Target;

constexpr DType kWeights[] = {kU2, kU3, kU4, kU5, kU7, kU8, kI3, kF4E2M1, kF5E2M2, kF8E4M3};
constexpr int64_t kRows[] = {16, 64};
constexpr int64_t kSides[] = {64, 128, 256};
constexpr Target kTargets[] = {Target::kSm80, Target::kSm90a};

// One of the tiles, by its index in the lists.
struct Choice {
  size_t bm, bn, bk, packed, target;
};

std::vector<Choice> AllChoices() {
  std::vector<Choice> out;
  for (size_t bm = 0; bm < std::size(kRows); ++bm) {
    for (size_t bn = 0; bn < std::size(kSides); ++bn) {
      for (size_t bk = 0; bk < std::size(kSides); ++bk) {
        for (size_t i = 0; i < 4; ++i) out.push_back({bm, bn, bk, i / 2, i % 2});
      }
    }
  }
  return out;
}

// Three of them: a square in which each row and column occurs once, shifted from type to type.
std::vector<Choice> SomeChoices(size_t type) {
  std::vector<Choice> out;
  for (size_t turn = 0; turn < std::size(kSides); ++turn) {
    const size_t bk = (turn + type) % std::size(kSides);
    // ptxas takes ten seconds for a wide packed tile, so only one type has it.
    const bool packed = turn == 0 || (type == 1 && turn == 1);
    out.push_back({(turn + type) % 2, turn, bk, packed ? 1U : 0U, (turn + type / 2) % 2});
  }
  return out;
}

class TilesTest : public testing::TestWithParam<size_t> {
 protected:
  static void SetUpTestSuite() {
    harness::AllowSpills();  // 64 x 256 sums fill all registers of 4 warps
    harness::AssembleEverything();
  }
};

void CheckTile(DType w, const Choice& choice) {
  Spec spec;
  spec.k = 4096;
  spec.n = 4096;
  spec.w = w;
  spec.x = ActivationFor(w);
  const Shape shape{kRows[choice.bm], kSides[choice.bn], kSides[choice.bk],
                    choice.packed != 0 ? PackedOrder(spec.x) : ""};
  const Target target = kTargets[choice.target];
  SCOPED_TRACE(std::to_string(shape.bm) + " x " + std::to_string(shape.bn) + " x " +
               std::to_string(shape.bk) + (choice.packed != 0 ? ", packed, " : ", ") +
               std::string(Row(target).name));
  const Matmul matmul(spec, shape);
  ASSERT_TRUE(matmul.ok());
  const auto kernel = compiler::Compile(matmul.program(), target);
  if (kernel.ok()) return harness::Collect(*kernel, target);
  const Diagnostic& error = kernel.error();
  ASSERT_NE(error.info, nullptr) << error.message;
  EXPECT_STRNE(error.info->id, "");
  EXPECT_GT(error.location.line, 0U) << error.message;
  EXPECT_NE(error.help, "") << error.message;
}

TEST_P(TilesTest, AreTakenOrRefused) {
  for (const Choice& choice : IsLong() ? AllChoices() : SomeChoices(GetParam())) {
    CheckTile(kWeights[GetParam()], choice);
  }
}

INSTANTIATE_TEST_SUITE_P(W, TilesTest, testing::Range(size_t{0}, std::size(kWeights)),
                         [](const auto& test) {
                           return std::string(DTypeName(kWeights[test.param]));
                         });

}  // namespace
}  // namespace tarsia::matmul
