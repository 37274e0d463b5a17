// examples/stream_k.tsa: results for shapes and numbers of blocks that are multiples of nothing,
// equal bits in every run, and the schedule: which block has which turns, counted by the program's
// own scalars.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isa/text/parser.h"
#include "runtime/devices/ptx_device.h"
#include "tests/harness/codec.h"
#include "tests/harness/device_launch.h"
#include "tests/matmul/run_problem.h"
#include "vm/interpreter.h"
#include "vm/turns.h"

namespace tarsia::matmul {
namespace {

constexpr uint64_t kSeed = 20251119;

Shape Streamed(int64_t bm, int64_t bn, int64_t bk, int64_t blocks, bool ordered,
               const std::string& pack = "") {
  return {bm,
          bn,
          bk,
          pack,
          "stream_k.tsa",
          {{"P", std::to_string(blocks)}, {"ORDERED", ordered ? "true" : "false"}}};
}

// The same in slices of a turn, for so many warps.
Shape Sliced(Shape shape, int64_t slices, int64_t warps) {
  shape.more.push_back({"KS", std::to_string(slices)});
  shape.more.push_back({"WARPS", std::to_string(warps)});
  return shape;
}

Spec FourBits(int64_t k, int64_t n, int64_t group) {
  Spec spec;
  spec.k = k;
  spec.n = n;
  spec.w = kU4;
  spec.group = group;
  return spec;
}

// ---- results -----------------------------------------------------------------------------------

void CheckRows(Spec spec, const Shape& shape, const std::vector<int64_t>& rows) {
  const Matmul matmul(spec, shape);
  ASSERT_TRUE(matmul.ok());
  for (const int64_t m : rows) {
    spec.m = m;
    matmul.Check(RandomProblem(spec, kSeed + static_cast<uint64_t>(m)));
    matmul.Check(ExactTwin(spec, kSeed + static_cast<uint64_t>(m)));
  }
}

class StreamK : public testing::TestWithParam<bool> {};

// 3 tiles of 5 groups of 2 turns; ranges begin inside of tiles and groups. 7 blocks leave sums to
// others, in two of them the middle of a tile.
TEST_P(StreamK, GroupsOfTurns) {
  CheckRows(FourBits(160, 67, 32), Streamed(16, 32, 16, 7, GetParam()), {1, 17});
}

// A group for several turns of packed weights, and more tiles than blocks.
TEST_P(StreamK, PackedWeights) {
  CheckRows(FourBits(256, 96, 128), Streamed(16, 32, 32, 2, GetParam(), PackedOrder(kF16)), {5});
}

TEST_P(StreamK, ZeroPoints) {
  Spec spec = FourBits(160, 67, 32);
  spec.zero_points = true;
  CheckRows(spec, Streamed(16, 32, 16, 7, GetParam()), {17});
  spec = FourBits(256, 96, 128);
  spec.zero_points = true;
  spec.zero = kU4;
  CheckRows(spec, Streamed(16, 32, 64, 2, GetParam(), PackedOrder(kF16)), {5});
}

// Two groups of two slices.
TEST_P(StreamK, ZeroPointsOfSlices) {
  Spec spec = FourBits(160, 67, 32);
  spec.zero_points = true;
  CheckRows(spec, Sliced(Streamed(16, 32, 64, 7, GetParam()), 4, 8), {17});
}

// More blocks than turns, one block, and no row.
TEST_P(StreamK, FewTurns) {
  CheckRows(FourBits(64, 40, 32), Streamed(16, 32, 32, 9, GetParam()), {0, 3});
  CheckRows(FourBits(64, 40, 64), Streamed(16, 32, 32, 1, GetParam()), {33});
}

// Two slices of a group in each turn, and two groups of two slices: the last turn ends within one.
TEST_P(StreamK, SlicesOfTurns) {
  CheckRows(FourBits(192, 67, 64), Sliced(Streamed(16, 32, 32, 7, GetParam()), 2, 4), {1, 17});
  CheckRows(FourBits(160, 67, 32), Sliced(Streamed(16, 32, 64, 7, GetParam()), 4, 8), {1, 17});
}

// More slices than warps, and slices that the warps do not share evenly.
TEST_P(StreamK, SlicesOfOtherNumbersThanWarps) {
  CheckRows(FourBits(128, 40, 64), Sliced(Streamed(16, 32, 64, 3, GetParam()), 4, 2), {3});
  CheckRows(FourBits(144, 40, 48), Sliced(Streamed(16, 32, 48, 3, GetParam()), 3, 2), {3});
}

// Each slice is a row of packed tiles of its own; two of them have one group.
TEST_P(StreamK, SlicesOfPackedWeights) {
  const std::string pack = PackedOrder(kF16);
  CheckRows(FourBits(512, 96, 128), Sliced(Streamed(8, 32, 256, 2, GetParam(), pack), 4, 8), {5});
  CheckRows(FourBits(256, 64, 128), Sliced(Streamed(16, 64, 128, 3, GetParam(), pack), 2, 8), {9});
}

INSTANTIATE_TEST_SUITE_P(Order, StreamK, testing::Bool(),
                         [](const auto& test) { return test.param ? "ordered" : "in_any_order"; });

// ---- the same bits -----------------------------------------------------------------------------

// A problem in memory: its arguments, and the output.
class Memory {
 public:
  explicit Memory(const Problem& p)
      : x_(Bytes(p.x)),
        w_(Bytes(p.w)),
        s_(Bytes(p.scale)),
        z_(p.scale.codes.size(), 0),
        y_(Size(p.spec), 0xFF) {
    for (std::vector<uint8_t>* const input : {&x_, &w_, &s_, &z_}) {
      args_.push_back(launch::Buffer{input->data(), input->size(), false});
    }
    args_.push_back(launch::Buffer{y_.data(), y_.size(), true});
    args_.push_back(launch::ScalarValue{kI32, static_cast<uint64_t>(p.spec.m)});
  }
  [[nodiscard]] const std::vector<launch::Argument>& args() const { return args_; }
  [[nodiscard]] const std::vector<uint8_t>& y() const { return y_; }

 private:
  static size_t Size(const Spec& spec) { return static_cast<size_t>(spec.m * spec.n) * 2; }
  std::vector<uint8_t> x_, w_, s_, z_, y_;
  std::vector<launch::Argument> args_;
};

// Sums of f32 that differ by their order, in tiles of up to four parts.
Problem Rounded() {
  Spec spec = FourBits(320, 64, 64);
  spec.m = 9;
  return RandomProblem(spec, kSeed);
}
Shape InParts() { return Streamed(16, 32, 32, 7, true); }

TEST(StreamKBits, AreTheSameOnAnyNumberOfThreads) {
  const Problem p = Rounded();
  const Matmul matmul(p.spec, InParts());
  ASSERT_TRUE(matmul.ok());
  std::set<std::vector<uint8_t>> results;
  for (const int threads : {1, 2, 3, 8}) {
    for (int run = 0; run < 4; ++run) {
      const Memory memory(p);
      vm::LaunchOptions options;
      options.threads = threads;
      const auto report = vm::Launch(matmul.program(), memory.args(), options);
      ASSERT_TRUE(report.ok()) << report.error().message;
      results.insert(memory.y());
    }
  }
  EXPECT_EQ(results.size(), 1U);
}

TEST(StreamKBits, AreTheSameInEveryOrderOfBlocks) {
  const Problem p = Rounded();
  const Matmul matmul(p.spec, InParts());
  ASSERT_TRUE(matmul.ok());
  for (const auto target : {compiler::Target::kSm80, compiler::Target::kSm90a}) {
    const auto device = runtime::MakePtxDevice(target);
    const auto kernel = device->Load(matmul.program());
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    std::set<std::vector<uint8_t>> results;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const Memory memory(p);
      vm::LaunchOptions options;
      options.threads = seed % 2 == 0 ? 1 : 3;
      options.seed = seed;
      const auto launched = harness::LaunchOn(*device, **kernel, memory.args(), options);
      ASSERT_TRUE(launched.ok()) << launched.error().message;
      for (const launch::Finding& finding : launched->report.findings) {
        ADD_FAILURE() << finding.diagnostic.message;
      }
      results.insert(memory.y());
    }
    EXPECT_EQ(results.size(), 1U) << Row(target).name;
  }
}

// ---- the schedule ------------------------------------------------------------------------------

// The loop with the `dot`.
Result<vm::LoopTurns> TurnsOf(const Program& program, int64_t m) {
  TARSIA_TRY(const auto plan, vm::Prepare(program));
  std::vector<uint64_t> scalars(program.kernel().params.size(), 0);
  scalars.back() = static_cast<uint64_t>(m);
  TARSIA_TRY(const auto loops, vm::CountTurns(*plan, scalars));
  const std::vector<Inst>& code = program.kernel().code;
  const auto dot = std::find_if(code.begin(), code.end(),
                                [](const Inst& inst) { return inst.opcode == Opcode::kDot; });
  vm::LoopTurns found;
  for (const vm::LoopTurns& loop : loops) {
    if (static_cast<std::ptrdiff_t>(loop.inst) < dot - code.begin()) found = loop;
  }
  return found;
}

TEST(StreamKSchedule, SharesTheTurnsEqually) {
  // 3 tiles of 10 turns for 7 blocks: 30 / 7 = 4 and 2 / 7.
  const Matmul matmul(FourBits(160, 67, 32), Streamed(16, 32, 16, 7, true));
  ASSERT_TRUE(matmul.ok());
  const auto turns = TurnsOf(matmul.program(), 16);
  ASSERT_TRUE(turns.ok()) << turns.error().message;
  EXPECT_EQ(turns->by_block, (std::vector<int64_t>{5, 5, 4, 4, 4, 4, 4}));
  EXPECT_EQ(turns->Total(), 30);
  EXPECT_DOUBLE_EQ(turns->Tail(), 5 / (30.0 / 7) - 1);
  // Two rows of tiles for each column.
  const auto more = TurnsOf(matmul.program(), 17);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->Total(), 60);
  const auto none = TurnsOf(matmul.program(), 0);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->Total(), 0);
  EXPECT_EQ(none->Tail(), 0);
}

// The candidates of a tuner for a constant of the program.
std::vector<int64_t> Candidates(std::string_view name) {
  Diagnostics diagnostics;
  const std::optional<Module> module = Parse(harness::ReadExample("stream_k.tsa"), diagnostics);
  std::vector<int64_t> out;
  for (const Constant& constant : module->kernels.at(0).constants) {
    if (module->pool.strings()[constant.name] != name) continue;
    for (const ExprId candidate : module->pool.children(constant.candidates)) {
      out.push_back(module->pool.AsInt(candidate).value());
    }
  }
  return out;
}

struct Layer {
  int64_t k, n;
};
// Llama-70B, Qwen2.5-32B, Gemma-2-9B.
constexpr Layer kLayers[] = {{8192, 10240}, {8192, 8192}, {8192, 57344}, {28672, 8192},
                             {5120, 7168},  {5120, 5120}, {5120, 55296}, {27648, 5120},
                             {3584, 8192},  {4096, 3584}, {3584, 28672}, {14336, 3584}};

class StreamKTail : public testing::TestWithParam<int64_t> {};

// The longest block has at most 3.5% more turns than the mean, at the best of the candidates.
TEST_P(StreamKTail, IsShortForEveryLayer) {
  for (const Layer& layer : kLayers) {
    double best = 1e9;
    for (const int64_t bn : Candidates("BN")) {
      for (const int64_t bk : Candidates("BK")) {
        // Each slice lies in a group.
        const Shape shape = Sliced(Streamed(16, bn, bk, GetParam(), true), (bk + 127) / 128, 4);
        const Matmul matmul(FourBits(layer.k, layer.n, 128), shape);
        ASSERT_TRUE(matmul.ok());
        const auto turns = TurnsOf(matmul.program(), 16);
        ASSERT_TRUE(turns.ok()) << turns.error().message;
        EXPECT_EQ(turns->Total(), (layer.n + bn - 1) / bn * (layer.k / bk));
        best = std::min(best, turns->Tail());
      }
    }
    EXPECT_LE(best, 0.035) << layer.k << " x " << layer.n;
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, StreamKTail, testing::Values(132, 108),
                         [](const auto& test) { return std::to_string(test.param); });

}  // namespace
}  // namespace tarsia::matmul
