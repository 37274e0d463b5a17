// Runs random executable programs on the interpreter: `--check` finds nothing, and results depend
// neither on checking nor on the number of threads. A third of TARSIA_RANDOM_MODULES is the number
// of programs, TARSIA_RANDOM_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/validate.h"
#include "tests/random/arguments.h"
#include "tests/random/random_module.h"
#include "vm/interpreter.h"

namespace tarsia {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t fallback) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

struct Outcome {
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<launch::Finding> findings;
};

void Run(const Program& program, const RandomKernel& kernel, uint64_t seed,
         const vm::LaunchOptions& options, Outcome& outcome) {
  const RandomArguments made(program, kernel, seed);
  const auto report = vm::Launch(program, made.arguments(), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  outcome.findings = report->findings;
  outcome.buffers = made.AllBytes();
}

void CheckKernel(const Program& program, const RandomKernel& kernel, uint64_t seed) {
  vm::LaunchOptions one_thread;
  one_thread.threads = 1;
  vm::LaunchOptions checked;
  checked.check = true;
  Outcome plain, alone, found;
  Run(program, kernel, seed, {}, plain);
  Run(program, kernel, seed, one_thread, alone);
  Run(program, kernel, seed, checked, found);
  for (const launch::Finding& finding : found.findings) {
    ADD_FAILURE() << kernel.name << ":" << finding.diagnostic.location.line << ": "
                  << finding.diagnostic.message;
  }
  EXPECT_EQ(plain.buffers, alone.buffers) << kernel.name;
  EXPECT_EQ(plain.buffers, found.buffers) << kernel.name;
}

TEST(RandomExecute, ProgramsMeanOneThing) {
  const uint64_t first = FromEnvironment("TARSIA_RANDOM_SEED", 1);
  const uint64_t count = FromEnvironment("TARSIA_RANDOM_MODULES", 300) / 3;
  RandomOptions options;
  options.executable = true;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram program = MakeRandomProgram(seed, options);
    const SourceFile source("random.tsa", program.text);
    Diagnostics diagnostics;
    auto module = Parse(source, diagnostics);
    ASSERT_TRUE(module) << diagnostics.Render(source);
    const auto valid = Validate(*std::move(module), diagnostics);
    ASSERT_TRUE(valid) << diagnostics.Render(source);
    for (const RandomKernel& kernel : program.kernels) {
      const auto concrete = Specialise(*valid, kernel.name, {}, {}, diagnostics);
      ASSERT_TRUE(concrete) << diagnostics.Render(source);
      CheckKernel(*concrete, kernel, seed);
    }
    if (HasFailure()) ADD_FAILURE() << program.text;
  }
}

}  // namespace
}  // namespace tarsia
