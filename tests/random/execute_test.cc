// Runs random executable programs on the interpreter: `--check` finds nothing, and results depend
// neither on checking, nor on the number of threads, nor on the passes of the compiler (the program
// after each of them is run with `--check`; after `build` it is the same program). A third of
// TARSIA_RANDOM_MODULES is the number of programs, TARSIA_RANDOM_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "compiler/pass.h"
#include "compiler/tile/to_program.h"
#include "compiler/tile/verify.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "isa/validate.h"
#include "tests/random/arguments.h"
#include "tests/random/random_module.h"
#include "tests/settings.h"
#include "vm/diagnostics.h"
#include "vm/interpreter.h"

namespace tarsia {
namespace {

struct Outcome {
  std::string error;  // of the assertion that stopped the kernel; its buffers then do not count
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<launch::Finding> findings;
};

// `original`: the program whose views say what the arguments are.
void Run(const Program& original, const Program& program, const RandomKernel& kernel, uint64_t seed,
         const vm::LaunchOptions& options, Outcome& outcome) {
  const RandomArguments made(original, kernel, seed);
  const auto report = vm::Launch(program, made.arguments(), options);
  if (!report.ok()) {
    ASSERT_EQ(report.error().info, &diag::kAssertFailed) << report.error().message;
    outcome.error = report.error().message;
    return;
  }
  outcome.findings = report->findings;
  outcome.buffers = made.AllBytes();
}

void CheckAfter(const compiler::Pass& pass, const Program& program, const RandomKernel& kernel,
                uint64_t seed, const Outcome& expected) {
  compiler::PassOptions options;
  options.last = pass.name;
  const compiler::tile::Form form = compiler::RunPasses(program, options);
  ASSERT_EQ(compiler::FindFaultAfter(pass, form), "") << pass.name << " of " << kernel.name;
  ASSERT_EQ(compiler::tile::FindChange(form, program), "") << pass.name << " of " << kernel.name;
  const Result<Program> after = compiler::tile::ToProgram(form, {});
  ASSERT_TRUE(after.ok()) << pass.name << ": " << after.error().message << "\n"
                          << Print(compiler::tile::ToModule(form));
  if (pass.name == "build") {
    EXPECT_EQ(Print(program.module()), Print(after->module()));
    EXPECT_TRUE(Equal(program.module(), after->module()));
  }
  vm::LaunchOptions checked;
  checked.check = true;
  Outcome found;
  Run(program, *after, kernel, seed, checked, found);
  EXPECT_TRUE(found.findings.empty()) << pass.name << " of " << kernel.name;
  EXPECT_EQ(expected.error, found.error) << pass.name << " of " << kernel.name;
  EXPECT_EQ(expected.buffers, found.buffers) << pass.name << ":\n" << Print(after->module());
}

void CheckKernel(const Program& program, const RandomKernel& kernel, uint64_t seed) {
  vm::LaunchOptions one_thread;
  one_thread.threads = 1;
  vm::LaunchOptions checked;
  checked.check = true;
  Outcome plain, alone, found;
  Run(program, program, kernel, seed, {}, plain);
  Run(program, program, kernel, seed, one_thread, alone);
  Run(program, program, kernel, seed, checked, found);
  for (const launch::Finding& finding : found.findings) {
    ADD_FAILURE() << kernel.name << ":" << finding.diagnostic.location.line << ": "
                  << finding.diagnostic.message;
  }
  EXPECT_EQ(plain.error, alone.error) << kernel.name;
  EXPECT_EQ(plain.error, found.error) << kernel.name;
  EXPECT_EQ(plain.buffers, alone.buffers) << kernel.name;
  EXPECT_EQ(plain.buffers, found.buffers) << kernel.name;
  for (const compiler::Pass& pass : compiler::AllPasses()) {
    CheckAfter(pass, program, kernel, seed, plain);
  }
}

TEST(RandomExecute, ProgramsMeanOneThing) {
  const uint64_t first = Seed(1);
  const uint64_t count = NumberFrom("TARSIA_RANDOM_MODULES", 300) / 3;
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
