// Kernels that read memory once or twice: their instructions, beside those that their elements
// need, and the bytes that are on their way. Needs the pinned ptxas and nvdisasm.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/codegen/machine_code.h"
#include "tests/harness/program.h"

namespace tarsia::harness::streaming_test {
namespace {

using compiler::Target;

constexpr int64_t kThreads = 128;
constexpr int64_t kAccess = 16;  // bytes

// Of 4 rows of 4096 elements of f16 a thread has 128.
constexpr int64_t kElements = 4 * 4096 / kThreads;
constexpr int64_t kAccesses = kElements * 2 / kAccess;
constexpr int64_t kPairs = kElements / 2;

class Streaming : public MachineCodeTest<Target> {};

// Bytes of the loads before the first conversion, of the blocks that registers have room for.
int64_t BytesInFlight(const MachineCode& code) {
  int64_t loads = 0;
  for (const compiler::SassInstruction& i : code.sass.instructions) {
    if (i.opcode.starts_with("HADD2")) break;
    if (i.opcode.starts_with("LDG.E.128")) ++loads;
  }
  return code.BlocksByRegisters(kThreads) * loads * kAccess * kThreads;
}

void CheckStreaming(const MachineCode& code, int64_t floor) {
  EXPECT_LE(static_cast<double>(code.sass.instructions.size()), 1.15 * static_cast<double>(floor));
  EXPECT_GE(code.sass.instructions.size(), static_cast<size_t>(floor));
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
  EXPECT_GE(BytesInFlight(code), 32 * 1024);
}

// An element takes a conversion, a maximum, a difference, a product, an exponential, a sum and a
// product, and half of a conversion of two.
TEST_P(Streaming, SoftmaxOfLongRowsNeedsItsElementsAndLittleBesides) {
  const MachineCode code =
      MachineCodeOf(ReadExample("softmax.tsa"), {{"D", "4096"}, {"BM", "4"}}, GetParam());
  CheckStreaming(code, 2 * kAccesses + 7 * kElements + kPairs);
}

// An element is converted and squared; then it is converted and its weight, and it takes two
// products and half of a conversion of two.
TEST_P(Streaming, RmsNormOfLongRowsNeedsItsElementsAndLittleBesides) {
  const MachineCode code = MachineCodeOf(ReadExample("rms_norm.tsa"), {{"D", "4096"}}, GetParam());
  CheckStreaming(code, 4 * kAccesses + 6 * kElements + kPairs);
}

// Programs over pairs of points, each of three f32.
struct Pairs {
  const char* example;
  int64_t rows, columns, stages;
  int64_t numbers;       // of a point y, on their way
  int64_t instructions;  // that a pair needs
};

void CheckPairs(const Pairs& pairs, Target target) {
  constexpr int64_t kShared = 164 * 1024;
  const MachineCode code = MachineCodeOf(ReadExample(pairs.example),
                                         {{"BM", std::to_string(pairs.rows)},
                                          {"BN", std::to_string(pairs.columns)},
                                          {"STAGES", std::to_string(pairs.stages)}},
                                         target);
  const int64_t floor = pairs.instructions * pairs.rows * pairs.columns / kThreads;
  EXPECT_LE(static_cast<double>(code.sass.MainLoop().size()), 1.15 * static_cast<double>(floor));
  EXPECT_GE(code.sass.MainLoop().size(), static_cast<size_t>(floor));
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
  const int64_t blocks = std::min(kShared / static_cast<int64_t>(code.shared_bytes + 1024),
                                  code.BlocksByRegisters(kThreads));
  EXPECT_GE(blocks * (pairs.stages - 1) * pairs.columns * pairs.numbers * 4, 32 * 1024);
}

// Two points take three differences, three products and two sums of them, a product with the
// factor, an exponential of four instructions, and one that adds it. A point has a weight.
TEST_P(Streaming, KernelMatvecNeedsItsPairsAndLittleBesides) {
  CheckPairs({"kernel_matvec.tsa", 32, 256, 8, 4, 3 + 3 + 2 + 1 + 4 + 1}, GetParam());
}

// The distance, a comparison, the lesser one, and where it is.
TEST_P(Streaming, NearestPointsNeedTheirPairsAndLittleBesides) {
  CheckPairs({"nearest.tsa", 64, 128, 12, 3, 3 + 3 + 2 + 1 + 1 + 1}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Targets, Streaming, testing::Values(Target::kSm80, Target::kSm90a),
                         [](const auto& of) { return std::string(Row(of.param).name); });

}  // namespace
}  // namespace tarsia::harness::streaming_test
