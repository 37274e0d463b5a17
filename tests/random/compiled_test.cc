// Random programs, compiled and run on the emulator, have the results of the interpreter, bit for
// bit except for the bits of NaNs. A difference is shrunk and printed. ptxas accepts each program.
// One program in 25 has large tiles, and offsets larger than its threads exchange at once. Each
// program leaves out a random subset of the passes that can be left out; half of them leave out
// none.
//
// TARSIA_RANDOM_MODULES is the number of programs, each of one to three kernels (500; with
// TARSIA_LONG 20,000), TARSIA_SEED the first seed. Targets alternate.
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

// The passes that a program leaves out.
std::vector<std::string> LeftOut(uint64_t seed) {
  std::vector<std::string> out;
  Rng rng(~seed);
  if (rng.Below(2) == 0) return out;
  for (const compiler::Pass& pass : compiler::AllPasses()) {
    if (pass.optional && rng.Below(2) == 0) out.emplace_back(pass.name);
  }
  return out;
}

// Programs from the first seed on; one in 25 is made by `large`.
void CheckPrograms(uint64_t count, const RandomOptions& options, const RandomOptions& large) {
  const uint64_t first = Seed(1);
  harness::AllowSpills();
  int kernels = 0;
  int refused = 0;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    const HowCompiled how{static_cast<compiler::Target>(seed % compiler::AllTargets().size()),
                          LeftOut(seed)};
    const RandomProgram program = MakeRandomProgram(seed, seed % 25 == 0 ? large : options);
    for (const RandomKernel& kernel : program.kernels) {
      const Judgement judgement = Compare(program.text, kernel, seed, how);
      ++kernels;
      if (judgement.agreement == Agreement::kRefused) ++refused;
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
  std::printf("%d kernels from seed %llu on, %d refused for their size\n", kernels,
              static_cast<unsigned long long>(first), refused);
  EXPECT_LT(refused * 20, kernels + 20) << "too many programs test nothing";
}

TEST(RandomCompiled, AgreesWithTheInterpreter) {
  RandomOptions options;
  options.executable = true;
  RandomOptions large = options;
  large.large = true;
  large.max_kernels = 1;
  large.targets = 6;
  CheckPrograms(NumberFrom("TARSIA_RANDOM_MODULES", IsLong() ? 20'000 : 500), options, large);
}

// Products of every type that `dot` takes: a fifth as many programs, of little else.
TEST(RandomCompiled, AgreesOnProducts) {
  RandomOptions options;
  options.executable = true;
  options.opcode = Opcode::kDot;
  options.max_kernels = 1;
  options.targets = 4;
  CheckPrograms(NumberFrom("TARSIA_RANDOM_MODULES", IsLong() ? 20'000 : 500) / 5, options, options);
}

}  // namespace
}  // namespace tarsia
