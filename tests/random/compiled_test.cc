// Random programs, compiled for every target and run on the emulator, have the results of the
// interpreter, bit for bit except for the bits of NaNs. A difference is shrunk and printed. ptxas
// accepts each tenth program. One program in 25 has large tiles, and offsets larger than its
// threads exchange at once. For each target a program leaves out another random subset of the
// passes that can be left out; half of the subsets are empty.
//
// TARSIA_RANDOM_MODULES is the number of programs, each of one to three kernels (1,000; with
// TARSIA_LONG 20,000), TARSIA_SEED the first seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "compiler/pass.h"
#include "tests/harness/assembly.h"
#include "tests/random/differ.h"
#include "tests/random/random_module.h"
#include "tests/random/rng.h"
#include "tests/settings.h"

namespace tarsia {
namespace {

// ptxas takes several times as long as all the rest.
constexpr uint64_t kOneInAssembled = 10;

// The passes that a program leaves out for a target.
std::vector<std::string> LeftOut(uint64_t seed, compiler::Target target) {
  std::vector<std::string> out;
  Rng rng(~(seed * compiler::AllTargets().size() + static_cast<uint64_t>(target)));
  if (rng.Below(2) == 0) return out;
  for (const compiler::Pass& pass : compiler::AllPasses()) {
    if (pass.optional && rng.Below(2) == 0) out.emplace_back(pass.name);
  }
  return out;
}

struct Tally {
  int compared = 0;
  int refused = 0;
};

// One program for one target.
void CheckProgram(const RandomProgram& program, uint64_t seed, const HowCompiled& how,
                  Tally& tally) {
  for (const RandomKernel& kernel : program.kernels) {
    const Judgement judgement = Compare(program.text, kernel, seed, how);
    ++tally.compared;
    if (judgement.agreement == Agreement::kRefused) ++tally.refused;
    if (judgement.agreement == Agreement::kSame || judgement.agreement == Agreement::kRefused) {
      continue;
    }
    const std::string small = judgement.agreement == Agreement::kDifferent
                                  ? Shrink(program.text, kernel, seed, how)
                                  : program.text;
    ADD_FAILURE() << fmt::format(
        "TARSIA_SEED={} TARSIA_RANDOM_MODULES=1, {} without [{}], {}: {}\n"
        "made small, it says: {}\n{}",
        seed, Row(how.target).name, fmt::join(how.without, ", "), kernel.name, judgement.text,
        Compare(small, kernel, seed, how).text, small);
  }
}

// Programs from the first seed on; one in 25 is made by `large`.
void CheckPrograms(uint64_t count, const RandomOptions& options, const RandomOptions& large) {
  const uint64_t first = Seed(1);
  harness::AllowSpills();
  Tally tally;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    const harness::NotAssembled skip(seed % kOneInAssembled != 0);
    const RandomProgram program = MakeRandomProgram(seed, seed % 25 == 0 ? large : options);
    for (const compiler::TargetRow& row : compiler::AllTargets()) {
      CheckProgram(program, seed, {row.target, LeftOut(seed, row.target)}, tally);
    }
  }
  std::printf("%d kernels and targets from seed %llu on, %d refused for their size\n",
              tally.compared, static_cast<unsigned long long>(first), tally.refused);
  EXPECT_LT(tally.refused * 20, tally.compared + 20) << "too many programs test nothing";
}

TEST(RandomCompiled, AgreesWithTheInterpreter) {
  RandomOptions options;
  options.executable = true;
  RandomOptions large = options;
  large.large = true;
  large.max_kernels = 1;
  large.targets = 6;
  CheckPrograms(NumberFrom("TARSIA_RANDOM_MODULES", IsLong() ? 20'000 : 1'000), options, large);
}

// Products of every type that `dot` takes: a fifth as many programs, of little else.
TEST(RandomCompiled, AgreesOnProducts) {
  RandomOptions options;
  options.executable = true;
  options.opcode = Opcode::kDot;
  options.max_kernels = 1;
  options.targets = 4;
  CheckPrograms(NumberFrom("TARSIA_RANDOM_MODULES", IsLong() ? 20'000 : 1'000) / 5, options,
                options);
}

}  // namespace
}  // namespace tarsia
