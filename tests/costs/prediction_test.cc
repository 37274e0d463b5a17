// What the formula of the cost counts before a launch against what the emulator counts in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/pass.h"
#include "compiler/passes/predicted_work.h"
#include "tests/costs/small_programs.h"
#include "tests/harness/device_launch.h"
#include "tests/harness/kernel_cache.h"
#include "tests/harness/program.h"

namespace tarsia::costs {
namespace {

using compiler::Target;
using compiler::Work;

constexpr uint64_t kInstructionLimit = 100'000'000;

struct Subject {
  std::string name;
  std::string text;
  std::vector<Binding> constants;
  std::vector<uint64_t> scalars;  // codes of the scalar parameters, in their order
};

// Memory for a launch: pointers to numbers that are small as f16, and in range as indices.
class Arguments {
 public:
  Arguments(const Program& program, const std::vector<uint64_t>& scalars) {
    const auto& parameters = program.kernel().params;
    std::vector<uint64_t> codes;
    size_t next = 0;
    for (const auto& parameter : parameters) {
      codes.push_back(parameter.is_pointer ? 0 : scalars.at(next++));
    }
    const std::vector<harness::PointerView> views = harness::TopLevelViews(program, codes);
    memory_.resize(parameters.size());
    for (uint32_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].is_pointer) {
        all_.emplace_back(launch::ScalarValue{program.type(i).dtype, codes[i]});
        continue;
      }
      uint64_t bytes = 64;
      for (const harness::PointerView& view : views) {
        if (view.parameter == i) bytes = std::max(bytes, view.bytes());
      }
      memory_[i].resize((bytes + 3) / 4);
      for (size_t at = 0; at < memory_[i].size(); ++at) memory_[i][at] = at % 16;
      all_.emplace_back(launch::Buffer{memory_[i].data(), bytes, true});
    }
  }

  [[nodiscard]] const std::vector<launch::Argument>& all() const { return all_; }

 private:
  std::vector<std::vector<uint32_t>> memory_;
  std::vector<launch::Argument> all_;
};

struct Counted {
  std::map<uint32_t, ptx::LineCounts> by_line;
  int64_t warps = 0;  // of all blocks
};

void Count(const Program& program, const SourceFile& source, const Subject& subject, Target target,
           Counted* out) {
  const auto made = harness::LoadCached(program, source, target);
  ASSERT_NE(made->kernel, nullptr) << made->error << made->fault;
  const Arguments arguments(program, subject.scalars);
  vm::LaunchOptions options;
  options.threads = 1;
  options.max_instructions = kInstructionLimit;
  ptx::LaunchCounts counts;
  const auto launched =
      harness::LaunchOn(*made->device, *made->kernel, arguments.all(), options, &counts);
  ASSERT_TRUE(launched.ok()) << launched.error().message;
  ASSERT_TRUE(launched->report.findings.empty());
  for (const ptx::LineCounts& line : counts.BySourceLine()) out->by_line[line.line] = line;
  out->warps = program.warps();
  for (const int64_t blocks : launched->report.grid) out->warps *= blocks;
}

// All kinds of work but instructions, of which the formula leaves out addresses and masks, and
// counts one for whatever an element takes.
void Compare(const Work& predicted, const ptx::LineCounts& counted, int64_t warps) {
  const auto classes = [&](ptx::InstClass kind) {
    return static_cast<int64_t>(counted.classes[static_cast<size_t>(kind)]);
  };
  const auto number = [](uint64_t count) { return static_cast<int64_t>(count); };
  const ptx::Counts& counts = counted.counts;
  EXPECT_EQ(warps * predicted.global_sectors, number(counts.global_sectors));
  EXPECT_EQ(warps * predicted.shared_wavefronts, number(counts.shared_wavefronts));
  EXPECT_EQ(warps * predicted.barriers, number(counts.barriers));
  EXPECT_EQ(warps * (predicted.shuffles + predicted.warp_reductions),
            classes(ptx::InstClass::kWarpWide));
  EXPECT_EQ(warps * predicted.products * 2 * 16 * 8 * 16, number(counts.tensor_operations));
}

// Each on the line of its instruction.
void CompareLines(const std::vector<compiler::LineWork>& predicted, const Counted& counted) {
  std::map<uint32_t, Work> by_line;
  for (const compiler::LineWork& line : predicted) by_line[line.line] = line.work;
  for (const auto& [line, unused] : counted.by_line) by_line.try_emplace(line);
  for (const auto& [line, work] : by_line) {
    SCOPED_TRACE("line " + std::to_string(line));
    const auto there = counted.by_line.find(line);
    Compare(work, there == counted.by_line.end() ? ptx::LineCounts() : there->second,
            counted.warps);
  }
}

class Prediction : public testing::TestWithParam<Subject> {};

TEST_P(Prediction, CountsWhatTheEmulatorCounts) {
  const Subject& subject = GetParam();
  const SourceFile source(subject.name + ".tsa", subject.text);
  const harness::Made made = harness::MakeProgram(source, "", subject.constants);
  ASSERT_TRUE(made.program) << made.error;
  for (const compiler::TargetRow& row : compiler::AllTargets()) {
    SCOPED_TRACE(std::string(row.name));
    Counted counted;
    Count(*made.program, source, subject, row.target, &counted);
    if (HasFatalFailure()) return;
    compiler::PassOptions options;
    options.target = row.target;
    const compiler::tile::Form form = compiler::RunPasses(*made.program, options);
    CompareLines(compiler::PredictWorkByLine(form, row.target), counted);
  }
}

constexpr char kLoopWithStep[] = R"(kernel k(%x: ptr<f32>, %y: ptr<f32>)
  warps 1
{
  %gx = view %x : global<f32>[96, 32]
  %gy = view %y : global<f32>[8, 32]
  %acc = fill 0.0 : reg<f32>[8, 32]
  for %i = 8 to 90 step 16 {
    %t = load %gx[%i, 0] : [8, 32]
    %acc = add %acc, %t
  }
  store %gy[0, 0], %acc
}
)";

// A row changes threads through a tile with an outer dimension of one element.
constexpr char kOneRow[] = R"(kernel k(%x: ptr<f16>, %w: ptr<f16>, %y: ptr<f16>)
  warps 4
{
  %gx = view %x : global<f16>[4, 1024]
  %gw = view %w : global<f16>[1, 1024]
  %gy = view %y : global<f16>[4, 1024]
  %t = load %gx[0, 0] : [4, 1024]
  %most = reduce.max %t axes [1] keepdims
  %m = broadcast %most : [4, 1024]
  %d = sub %t, %m
  %row = load %gw[0, 0] : [1, 1024]
  %r = broadcast %row : [4, 1024]
  %s = add %d, %r
  store %gy[0, 0], %s
}
)";

// In the background: of 16 bytes and of 4; and through registers, as there is no copy of 2 bytes.
constexpr char kCopies[] = R"(kernel k(%x: ptr<f16>, %z: ptr<f16>, %y: ptr<f16>)
  warps 2
{
  %gx = view %x : global<f16>[64, 64]
  %gz = view %z : global<f16>[64, 6]
  %gy = view %y : global<f16>[64, 64]
  %a = alloc.shared : f16 [64, 64]
  %b = alloc.shared : f16 [64, 2]
  %c = alloc.shared : f16 [64, 1]
  copy.async %a[0, 0], %gx[0, 0] : [64, 64]
  copy.async %b[0, 0], %gz[0, 2] : [64, 2]
  copy.async %c[0, 0], %gz[0, 5] : [64, 1]
  copy.commit
  copy.wait 0
  sync
  %ta = load %a[0, 0] : [64, 64]
  store %gy[0, 0], %ta
  %tb = load %b[0, 0] : [64, 2]
  store %gz[0, 2], %tb
  %tc = load %c[0, 0] : [64, 1]
  store %gz[0, 5], %tc
}
)";

// With `unroll 1` no copy is conditional: conditional ones count as if they were always done.
constexpr char kRings[] = R"(kernel rings(%a: ptr<f16>, %b: ptr<f16>, %y: ptr<f32>)
{
  %ga = view %a : global<f16>[64, 256]
  %gb = view %b : global<f16>[256, 64]
  %gy = view %y : global<f32>[64, 64]
  %sum = fill 0.0 : f32 [64, 64]
  for %t = 0 to 8 unroll 1 pipeline 3 {
    %p = load %ga[0, %t * 32] : [64, 32]
    %q = load %gb[%t * 32, 0] : [32, 64]
    %sum = dot %p, %q, %sum
  }
  store %gy[0, 0], %sum
}
)";

// Scans along rows, columns and both halves of a block, in all directions; sums of f16 are of f32.
constexpr char kScans[] = R"(kernel k(%x: ptr<f16>, %z: ptr<i64>, %y: ptr<f16>)
  warps 4
{
  %gx = view %x : global<f16>[64, 256]
  %gz = view %z : global<i64>[1024]
  %gy = view %y : global<f16>[64, 256]
  %t = load %gx[0, 0] : [64, 256]
  %rows = scan.sum %t axis 1
  %columns = scan.max %rows axis 0 exclusive
  store %gy[0, 0], %columns
  %n = load %gz[0] : [1024]
  %sums = scan.sum %n exclusive
  %ends = scan.min %sums reverse
  store %gz[0], %ends
}
)";

// The largest of rows, within warps and across them.
constexpr char kTopKs[] = R"(kernel k(%x: ptr<f16>, %z: ptr<f32>, %y: ptr<f16>, %i: ptr<i32>)
  warps 4
{
  %gx = view %x : global<f16>[64, 256]
  %gz = view %z : global<f32>[4096]
  %gy = view %y : global<f16>[64, 8]
  %gi = view %i : global<i32>[64, 8]
  %t = load %gx[0, 0] : [64, 256]
  %best, %at = topk %t, 8 axis 1
  store %gy[0, 0], %best
  store %gi[0, 0], %at
  %n = load %gz[0] : [4096]
  %least, %where = topk %n, 16 smallest
  %most = reduce.max %least axes [0] keepdims
  %beyond = sub %n, %most
  store %gz[0], %beyond
}
)";

// Tables that each thread holds, and that the lanes of a warp share.
constexpr char kLookups[] = R"(kernel k(%w: ptr<u8>, %b: ptr<f16>, %y: ptr<f16>, %z: ptr<f32>)
  warps 2
{
  %gw = view %w : global<u4>[64, 64]
  %gb = view %b : global<f16>[16]
  %gy = view %y : global<f16>[64, 64]
  %gz = view %z : global<f32>[64, 64]
  %codes = load %gw[0, 0] : [64, 64]
  %table = load %gb[0] : [16]
  %v = lookup %codes, %table
  store %gy[0, 0], %v
  %wide = cast %table : f32
  %u = lookup %codes, %wide
  store %gz[0, 0], %u
}
)";

std::vector<Subject> Subjects() {
  std::vector<Subject> out;
  for (const SmallProgram& program : SmallPrograms()) {
    out.push_back({std::string(program.name), TextOf(program), {}, {}});
  }
  out.push_back({"loop_with_step", kLoopWithStep, {}, {}});
  out.push_back({"one_row_for_all_warps", kOneRow, {}, {}});
  out.push_back({"copies_in_background", kCopies, {}, {}});
  out.push_back({"copies_that_run_ahead", kRings, {}, {}});
  out.push_back({"scans", kScans, {}, {}});
  out.push_back({"largest", kTopKs, {}, {}});
  out.push_back({"lookups", kLookups, {}, {}});
  const auto add = [&](const std::string& name, const std::string& title,
                       std::vector<Binding> constants, std::vector<uint64_t> scalars) {
    out.push_back({title, std::string(harness::ReadExample(name + ".tsa").text()),
                   std::move(constants), std::move(scalars)});
  };
  const std::string packed =
      "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))";
  const std::vector<Binding> weights = {{"K", "256"}, {"N", "256"}, {"W", "u4"}, {"STAGES", "1"}};
  std::vector<Binding> weights_packed = weights;
  weights_packed.push_back({"PACK", packed});
  add("matmul", "matmul", weights, {16});
  add("matmul", "matmul_packed", weights_packed, {32});
  add("softmax", "softmax", {}, {16});
  add("gemm", "gemm", {{"M", "128"}, {"N", "256"}, {"K", "128"}, {"STAGES", "1"}}, {});
  add("attention", "attention_64", {{"D", "64"}, {"LENGTH", "128"}}, {2});
  add("attention", "attention_128", {{"D", "128"}, {"LENGTH", "128"}}, {1});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Programs, Prediction, testing::ValuesIn(Subjects()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace tarsia::costs
