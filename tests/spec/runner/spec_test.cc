// Every spec file of tests/spec: its text and bytecode round-trip, its cases hold on every witness,
// and every instruction has one.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "isa/bytecode/bytecode.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "tests/data/test_data.h"
#include "tests/harness/run_case.h"
#include "tests/spec/runner/spec_file.h"

namespace tarsia::spec {
namespace {

const std::vector<SpecFile>& Files() {
  static const std::vector<SpecFile> files = [] {
    const std::filesystem::path folder = TestData("tests/spec");
    std::vector<SpecFile> out;
    for (const std::string& name : NamesIn(folder, ".tsa")) {
      out.push_back(ParseSpecFile(name, ReadTestFile(folder / name)));
    }
    return out;
  }();
  return files;
}

// A name that GoogleTest accepts.
std::string TestName(const std::string& mnemonic) {
  std::string out = mnemonic;
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

// ---- files ---------------------------------------------------------------------------------

class SpecFileTest : public testing::TestWithParam<size_t> {
 protected:
  [[nodiscard]] const SpecFile& file() const { return Files()[GetParam()]; }
  std::optional<Module> ParseOrFail(const SourceFile& source) {
    Diagnostics diagnostics;
    auto module = Parse(source, diagnostics);
    EXPECT_TRUE(module) << diagnostics.Render(source);
    return module;
  }
};

TEST_P(SpecFileTest, IsAboutItsMnemonic) {
  for (const std::string& error : file().errors) ADD_FAILURE() << error;
  EXPECT_TRUE(file().source.text().starts_with("// " + file().mnemonic + ": "))
      << file().source.name() << ":1: must begin with `// " << file().mnemonic << ": `";
  EXPECT_FALSE(file().cases.empty()) << file().source.name() << " has no case";
  const auto opcode = FindMnemonic(file().mnemonic);
  ASSERT_TRUE(opcode) << file().source.name() << " is named after no instruction";
  const auto module = ParseOrFail(file().source);
  ASSERT_TRUE(module);
  std::set<std::string> with;  // kernels that use it
  for (const Kernel& kernel : module->kernels) {
    for (const Inst& inst : kernel.code) {
      if (inst.opcode == *opcode) with.emplace(module->Name(kernel));
    }
  }
  bool run = false;
  for (const SpecCase& spec : file().cases) {
    std::string kernel(module->Name(module->kernels[0]));
    for (const Directive& d : spec.directives) {
      if (d.keyword == "kernel") kernel = d.rest;
    }
    run = run || with.contains(kernel);
  }
  EXPECT_TRUE(run) << file().source.name() << ": no case runs a kernel with `" << file().mnemonic
                   << "`";
}

TEST_P(SpecFileTest, TextGoesRound) {
  const auto module = ParseOrFail(file().source);
  ASSERT_TRUE(module);
  const SourceFile printed(file().name + " (printed)", Print(*module));
  const auto again = ParseOrFail(printed);
  ASSERT_TRUE(again) << printed.text();
  EXPECT_TRUE(Equal(*module, *again)) << printed.text();
  EXPECT_EQ(Print(*again), printed.text());
}

TEST_P(SpecFileTest, BytecodeGoesRound) {
  const auto module = ParseOrFail(file().source);
  ASSERT_TRUE(module);
  const auto bytes = Encode(*module);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const std::span<const uint8_t> span(reinterpret_cast<const uint8_t*>(bytes->data()),
                                      bytes->size());
  const auto again = Decode(span, file().name);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(Equal(*module, *again)) << Print(*again);
  const auto bytes_again = Encode(*again);
  ASSERT_TRUE(bytes_again.ok());
  EXPECT_EQ(*bytes, *bytes_again);
}

TEST_P(SpecFileTest, FormatIsIdempotent) {
  Diagnostics diagnostics;
  const auto once = Format(file().source, diagnostics);
  ASSERT_TRUE(once) << diagnostics.Render(file().source);
  const auto twice = Format(SourceFile(file().name, *once), diagnostics);
  ASSERT_TRUE(twice) << *once;
  EXPECT_EQ(*once, *twice);
  const auto module = ParseOrFail(file().source);
  const auto again = ParseOrFail(SourceFile(file().name, *once));
  ASSERT_TRUE(module && again);
  EXPECT_TRUE(Equal(*module, *again)) << *once;
  // Directives are comments, and comments stay.
  const SpecFile formatted = ParseSpecFile(file().name, *once);
  EXPECT_EQ(formatted.cases.size(), file().cases.size());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpecFileTest);
INSTANTIATE_TEST_SUITE_P(File, SpecFileTest, testing::Range<size_t>(0, Files().size()),
                         [](const auto& one) { return TestName(Files()[one.param].mnemonic); });

// ---- cases ---------------------------------------------------------------------------------

struct CaseNumber {
  size_t file = 0;
  size_t number = 0;
};

void PrintTo(const CaseNumber& c, std::ostream* out) {
  *out << Files()[c.file].name << ", case `" << Files()[c.file].cases[c.number].title << "`";
}

std::vector<CaseNumber> AllCases() {
  std::vector<CaseNumber> out;
  for (size_t f = 0; f < Files().size(); ++f) {
    for (size_t i = 0; i < Files()[f].cases.size(); ++i) out.push_back({f, i});
  }
  return out;
}

class SpecCaseTest : public testing::TestWithParam<CaseNumber> {};

TEST_P(SpecCaseTest, Holds) {
  const SpecFile& file = Files()[GetParam().file];
  std::string error;
  const auto c = MakeCase(file, file.cases[GetParam().number], error);
  ASSERT_TRUE(c) << error;
  const harness::CaseResult result = harness::RunEverywhere(*c);
  EXPECT_TRUE(result.ok()) << result.Text(*c);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpecCaseTest);
INSTANTIATE_TEST_SUITE_P(Case, SpecCaseTest, testing::ValuesIn(AllCases()), [](const auto& one) {
  return TestName(Files()[one.param.file].mnemonic) + "_" + std::to_string(one.param.number + 1);
});

// ---- completeness --------------------------------------------------------------------------

TEST(Spec, EveryInstructionHasAFile) {
  std::set<std::string> there;
  for (const SpecFile& file : Files()) there.insert(file.mnemonic);
  for (const std::string_view mnemonic : Mnemonics()) {
    EXPECT_TRUE(there.contains(std::string(mnemonic)))
        << "tests/spec/" << mnemonic << ".tsa is missing";
  }
}

}  // namespace
}  // namespace tarsia::spec
