// Properties of every program, tested on random ones: printing and parsing, encoding and decoding,
// formatting, validation. TARSIA_RANDOM_MODULES is the number of modules (300), TARSIA_RANDOM_SEED
// the first seed. In addition, one module with a new seed each time is tried and its seed printed.
// From 10,000 modules on, every pair of instruction and element type must have occurred 20 times.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "isa/bytecode/bytecode.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "isa/validate.h"
#include "tests/random/coverage.h"
#include "tests/random/random_module.h"
#include "tests/settings.h"

namespace tarsia {
namespace {

constexpr int kLongRun = 10000;

std::optional<Module> ParseText(const std::string& text) {
  const SourceFile source("random.tsa", text);
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  EXPECT_TRUE(module) << diagnostics.Render(source) << text;
  return module;
}

std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void CheckText(const Module& module) {
  const std::string text = Print(module);
  const auto again = ParseText(text);
  ASSERT_TRUE(again);
  EXPECT_TRUE(Equal(module, *again)) << text;
  EXPECT_EQ(Print(*again), text);
}

void CheckFormat(const std::string& text, const Module& module) {
  Diagnostics diagnostics;
  const auto once = Format(SourceFile("random.tsa", text), diagnostics);
  ASSERT_TRUE(once);
  const auto twice = Format(SourceFile("random.tsa", *once), diagnostics);
  ASSERT_TRUE(twice);
  EXPECT_EQ(*once, *twice);
  const auto again = ParseText(*once);
  ASSERT_TRUE(again);
  EXPECT_TRUE(Equal(module, *again)) << *once;
}

void CheckBytecode(const Module& module) {
  for (const bool debug : {true, false}) {
    const auto bytes = Encode(module, {.version = {}, .debug = debug, .producer = ""});
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    const auto decoded = Decode(Bytes(*bytes), "random.tsb");
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_TRUE(Equal(module, *decoded));
    const auto again = Encode(*decoded);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*bytes, *again);
    if (!debug) continue;
    for (size_t k = 0; k < module.kernels.size(); ++k) {
      EXPECT_EQ(decoded->kernels[k].locations, module.kernels[k].locations);
    }
  }
}

// Adds the module's pairs to `counts`.
void CheckSeed(uint64_t seed, const RandomOptions& options, std::map<Pair, int>& counts) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const RandomProgram program = MakeRandomProgram(seed, options);
  std::optional<Module> module = ParseText(program.text);
  ASSERT_TRUE(module);
  CheckText(*module);
  CheckFormat(program.text, *module);
  CheckBytecode(*module);
  Diagnostics diagnostics;
  const auto valid = Validate(*std::move(module), diagnostics);
  ASSERT_TRUE(valid) << diagnostics.Render(SourceFile("random.tsa", program.text));
  CountPairs(*valid, counts);
  if (!options.executable) return;
  for (const RandomKernel& kernel : program.kernels) {
    const auto concrete = Specialise(*valid, kernel.name, {}, {}, diagnostics);
    EXPECT_TRUE(concrete) << diagnostics.Render(SourceFile("random.tsa", program.text));
  }
}

TEST(Random, ModulesSurviveEveryForm) {
  const uint64_t first = Seed(1);
  const uint64_t count = NumberFrom("TARSIA_RANDOM_MODULES", 300);
  std::map<Pair, int> counts;
  for (uint64_t i = 0; i < count && !HasFatalFailure(); ++i) {
    CheckSeed(first + i, {}, counts);
  }
  if (count < kLongRun) return;
  for (const Pair& pair : AllPairs()) EXPECT_GE(counts[pair], 20) << PairName(pair);
}

TEST(Random, ExecutableModulesCanBeSpecialised) {
  const uint64_t first = Seed(1);
  const uint64_t count = NumberFrom("TARSIA_RANDOM_MODULES", 300) / 3;
  RandomOptions options;
  options.executable = true;
  std::map<Pair, int> counts;
  for (uint64_t i = 0; i < count && !HasFatalFailure(); ++i) CheckSeed(first + i, options, counts);
}

TEST(Random, NewSeed) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const uint64_t seed = Seed(static_cast<uint64_t>(now.count()));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::map<Pair, int> counts;
  CheckSeed(seed, {}, counts);
}

// A program depends only on its seed, so a seed identifies it.
TEST(Random, SameSeedSameProgram) {
  EXPECT_EQ(MakeRandomProgram(7).text, MakeRandomProgram(7).text);
  EXPECT_NE(MakeRandomProgram(7).text, MakeRandomProgram(8).text);
}

}  // namespace
}  // namespace tarsia
