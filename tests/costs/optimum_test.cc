// The layouts that the compiler chooses for small programs against all power-of-two layouts.
#include "tests/costs/optimum.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "compiler/pass.h"
#include "compiler/passes/predicted_work.h"
#include "tests/costs/small_programs.h"
#include "tests/settings.h"

namespace tarsia::costs {
namespace {

class Optima : public testing::TestWithParam<SmallProgram> {};

void ExpectNearOptimum(const Program& program, const SmallProgram& source,
                       compiler::Target target) {
  compiler::PassOptions options;
  options.target = target;
  options.until = "layouts";
  const Optimum best = FindOptimum(compiler::RunPasses(program, options), target);
  options.until = {};
  options.last = "layouts";
  const compiler::Cost ours = compiler::CyclesOf(
      compiler::PredictWork(compiler::RunPasses(program, options), target), target);
  fmt::print("{:28} {:7} {:>7} states {:>9} layouts: {:>6} at best, {:>6} ours\n", source.name,
             compiler::Row(target).name, best.states, best.layouts, best.cost, ours);
  EXPECT_GE(ours, best.cost) << "the enumeration misses layouts";
  EXPECT_LE(static_cast<double>(ours), 1.05 * static_cast<double>(best.cost)) << TextOf(source);
}

TEST_P(Optima, AreMetWithin5Percent) {
  const Program program = Compiled(GetParam());
  for (const compiler::TargetRow& row : compiler::AllTargets()) {
    if (!IsLong() && row.target != compiler::Target::kSm80) continue;
    ExpectNearOptimum(program, GetParam(), row.target);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Optima,
                         testing::ValuesIn(SmallPrograms().begin(), SmallPrograms().end()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace tarsia::costs
