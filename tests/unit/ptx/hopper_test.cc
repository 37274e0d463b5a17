// PTX that nvcc made of cuda/hopper.cu: results against plain loops, and the same with a fault put
// into the text.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>

#include "ptx/memory/tensor_map.h"
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::hopper_test {
namespace {

// The text, with one line of it changed where it stands for the n-th time (from 0).
std::string HopperText(const std::string& line = "", const std::string& instead = "", int n = 0) {
  std::ifstream file(TARSIA_HOPPER_PTX);
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(text.empty());
  if (line.empty()) return text;
  size_t at = text.find(line);
  for (int i = 0; i < n && at != std::string::npos; ++i) at = text.find(line, at + 1);
  EXPECT_NE(at, std::string::npos) << line;
  if (at != std::string::npos) text.replace(at, line.size(), instead);
  return text;
}

void ExpectOnly(const LaunchReport& report, FindingKind kind) {
  ASSERT_EQ(report.findings.size(), 1U) << Text(report);
  EXPECT_EQ(report.findings[0].kind, kind) << Text(report);
}

LaunchReport RunClusterSum(const std::string& text) {
  Machine machine(text);
  std::vector<int> in(8 * 64);
  std::iota(in.begin(), in.end(), 0);
  const uint64_t from = machine.Put(in);
  const uint64_t to = machine.Put(std::vector<int>(2, 0));
  const LaunchReport report = machine.Run("cluster_sum", {8}, {64}, {from, to});
  if (report.ok()) {
    EXPECT_EQ(machine.Get<int>(to, 2), (std::vector<int>{255 * 256 / 2, 511 * 256 - 255 * 128}));
  }
  return report;
}

TEST(Hopper, SumsInClusters) {
  EXPECT_EQ(Text(RunClusterSum(HopperText())), "");
  // Without the first barrier the parts are not there, nor need the blocks be.
  const std::string barrier = "barrier.cluster.arrive;\n\tbarrier.cluster.wait;";
  const LaunchReport missing = RunClusterSum(HopperText(barrier));
  EXPECT_FALSE(missing.findings.empty());
  for (const Finding& finding : missing.findings) {
    EXPECT_EQ(finding.kind, FindingKind::kRace) << Text(missing);
  }
  // Without its wait they may not be there, and the next barrier is begun too early.
  const LaunchReport early = RunClusterSum(HopperText("barrier.cluster.wait;"));
  ASSERT_GE(early.findings.size(), 2U) << Text(early);
  EXPECT_EQ(early.findings.front().kind, FindingKind::kRace);
  EXPECT_EQ(early.findings.back().kind, FindingKind::kDivergence);
}

LaunchReport RunTileAdd(const std::string& text) {
  Machine machine(text);
  std::vector<float> in(60 * 40);
  std::iota(in.begin(), in.end(), 0.0F);
  TensorMap::Tiles tiles;
  tiles.type = MapType::kF32;
  tiles.rank = 2;
  tiles.sizes = {60, 40, 1, 1, 1};
  tiles.strides = {240};
  tiles.box = {32, 16, 1, 1, 1};
  std::vector<uint64_t> words;
  const auto add_map = [&](uint64_t address) {
    tiles.address = address;
    const auto map = TensorMap::Tiled(tiles);
    EXPECT_TRUE(map.ok());
    words.resize(words.size() + TensorMap::kBytes / 8);
    std::memcpy(words.data() + words.size() - TensorMap::kBytes / 8, map->Encode().data(),
                TensorMap::kBytes);
  };
  add_map(machine.Put(in));
  const uint64_t to = machine.Put(std::vector<float>(in.size(), 0));
  add_map(to);
  const LaunchReport report = machine.Run("tile_add", {2, 3}, {32}, words);
  for (float& x : in) x += 1;
  if (report.ok()) {
    EXPECT_EQ(machine.Get<float>(to, in.size()), in);
  }
  return report;
}

TEST(Hopper, AddsToTiles) {
  EXPECT_EQ(Text(RunTileAdd(HopperText())), "");
  ExpectOnly(RunTileAdd(HopperText("fence.proxy.async.shared::cta;")), FindingKind::kMbarrier);
  // More bytes than come, and fewer.
  ExpectOnly(RunTileAdd(HopperText(", 2048;", ", 4096;")), FindingKind::kDeadlock);
  ExpectOnly(RunTileAdd(HopperText(", 2048;", ", 1024;")), FindingKind::kDeadlock);
  // Nobody waits for the store: the block ends while its memory is read.
  ExpectOnly(RunTileAdd(HopperText("cp.async.bulk.wait_group.read 0;")), FindingKind::kAsync);
}

LaunchReport RunTriple(const std::string& text) {
  Machine machine(text);
  std::vector<int> in(8 * 128);
  std::iota(in.begin(), in.end(), 0);
  const uint64_t from = machine.Put(in);
  const uint64_t to = machine.Put(std::vector<int>(in.size(), 0));
  const LaunchReport report = machine.Run("triple", {1}, {128}, {from, to, in.size()});
  for (int& x : in) x *= 3;
  if (report.ok()) {
    EXPECT_EQ(machine.Get<int>(to, in.size()), in);
  }
  return report;
}

TEST(Hopper, TriplesThroughTwoBuffers) {
  EXPECT_EQ(Text(RunTriple(HopperText())), "");
  // The parity of the phase before: nobody waits, and the bytes are not there.
  const LaunchReport report =
      RunTriple(HopperText("mbarrier.try_wait.parity.shared.b64 p, [%r6], %r7;",
                           "xor.b32 %r7, %r7, 1; mbarrier.try_wait.parity"
                           ".shared.b64 p, [%r6], %r7; xor.b32 %r7, %r7, 1;"));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_TRUE(std::ranges::any_of(report.findings, [](const Finding& finding) {
    return finding.kind == FindingKind::kAsync;
  })) << Text(report);
}

}  // namespace
}  // namespace tarsia::ptx::hopper_test
