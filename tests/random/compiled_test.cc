// Random programs, compiled and run on the emulator, have the results of the interpreter, bit for
// bit except for the bits of NaNs. A difference is shrunk and printed. ptxas accepts each program.
// One program in 25 has large tiles, and offsets larger than its threads exchange at once.
//
// TARSIA_RANDOM_MODULES is the number of programs, each of one to three kernels (500; with
// TARSIA_LONG 20,000), TARSIA_SEED the first seed. Targets alternate.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/harness/assembly.h"
#include "tests/random/differ.h"
#include "tests/random/random_module.h"
#include "tests/settings.h"

namespace tarsia {
namespace {

TEST(RandomCompiled, AgreesWithTheInterpreter) {
  const uint64_t first = Seed(1);
  const uint64_t count = NumberFrom("TARSIA_RANDOM_MODULES", IsLong() ? 20'000 : 500);
  RandomOptions options;
  options.executable = true;
  RandomOptions large = options;
  large.large = true;
  large.max_kernels = 1;
  large.targets = 6;
  harness::AllowSpills();
  int kernels = 0;
  int refused = 0;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    const auto target = static_cast<compiler::Target>(seed % compiler::AllTargets().size());
    const RandomProgram program = MakeRandomProgram(seed, seed % 25 == 0 ? large : options);
    for (const RandomKernel& kernel : program.kernels) {
      const Judgement judgement = Compare(program.text, kernel, seed, target);
      ++kernels;
      if (judgement.agreement == Agreement::kRefused) ++refused;
      if (judgement.agreement == Agreement::kSame || judgement.agreement == Agreement::kRefused) {
        continue;
      }
      const std::string small = judgement.agreement == Agreement::kDifferent
                                    ? Shrink(program.text, kernel, seed, target)
                                    : program.text;
      ADD_FAILURE() << "TARSIA_SEED=" << seed << " TARSIA_RANDOM_MODULES=1, " << Row(target).name
                    << ", " << kernel.name << ": " << judgement.text
                    << "\nmade small, it says: " << Compare(small, kernel, seed, target).text
                    << "\n"
                    << small;
    }
  }
  std::printf("%d kernels from seed %llu on, %d refused for their size\n", kernels,
              static_cast<unsigned long long>(first), refused);
  EXPECT_LT(refused * 20, kernels + 20) << "too many programs test nothing";
}

}  // namespace
}  // namespace tarsia
