// Programs with a planted fault: the interpreter's --check and the emulator over the code for every
// target must report the fault and its line of the program, and nothing else. Each has a correct
// twin, for which neither may report anything.
//
// A file has two kernels of the same parameters, `faulty` and `right`, and directives as a spec
// file (tests/spec/README.md) for both; outputs are those of `right`. Lines with a finding end with
// `// fault: check ID`, `// fault: ptx KIND` or both, separated by a comma: the name of the
// interpreter and that of the emulator. If unwritten bits are moved before they matter, the two are
// on different lines. The emulator reports a race at the later of its two lines, the interpreter at
// the second access; later faults of a faulty program are reported too.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"
#include "runtime/devices/device.h"
#include "runtime/devices/ptx_device.h"
#include "tests/data/test_data.h"
#include "tests/harness/device_launch.h"
#include "tests/harness/run_case.h"
#include "tests/spec/runner/spec_file.h"

namespace tarsia {
namespace {

using harness::Case;
using spec::SpecFile;

// Only endless programs here reach it.
constexpr uint64_t kMaxInstructions = 20'000;

// "12: race": the actual or expected findings by line of the program.
using FindingSet = std::set<std::string>;

// An endless program is stopped at an arbitrary line.
std::string Entry(uint32_t line, std::string_view kind) {
  const bool somewhere = kind == "instruction-budget" || kind == "limit";
  return (somewhere ? "somewhere" : std::to_string(line)) + ": " + std::string(kind);
}

// ---- files -------------------------------------------------------------------------------------

const std::vector<SpecFile>& Files() {
  static const std::vector<SpecFile> files = [] {
    const std::filesystem::path folder = TestData("tests/faults");
    std::vector<SpecFile> out;
    for (const std::string& name : NamesIn(folder, ".tsa")) {
      out.push_back(spec::ParseSpecFile(name, ReadTestFile(folder / name), "tests/faults"));
    }
    return out;
  }();
  return files;
}

// The expected findings of one side, "check" or "ptx".
FindingSet Marked(const SpecFile& file, std::string_view side) {
  constexpr std::string_view kMark = "// fault: ";
  FindingSet out;
  std::istringstream lines{std::string(file.source.text())};
  std::string line;
  for (uint32_t number = 1; std::getline(lines, line); ++number) {
    const size_t at = line.find(kMark);
    if (at == std::string::npos) continue;
    std::istringstream items(line.substr(at + kMark.size()));
    for (std::string item; std::getline(items, item, ',');) {
      std::istringstream words(item);
      std::string whose;
      std::string kind;
      words >> whose >> kind;
      if (whose == side) out.insert(Entry(number, kind));
    }
  }
  return out;
}

// The file's case, of one of its kernels.
std::optional<Case> CaseOf(const SpecFile& file, const std::string& kernel) {
  if (file.cases.empty()) {
    ADD_FAILURE() << file.name << " has no directives";
    return std::nullopt;
  }
  spec::SpecCase one = file.cases[0];
  one.directives.push_back({one.line, "kernel", kernel});
  std::string error;
  std::optional<Case> made = spec::MakeCase(file, one, error);
  EXPECT_TRUE(made) << error;
  return made;
}

// ---- what is found -----------------------------------------------------------------------------

// Runs programs on a device of the runtime and keeps its findings.
class Recorder final : public harness::Witness {
 public:
  explicit Recorder(std::shared_ptr<runtime::Device> device) : device_(std::move(device)) {}

  [[nodiscard]] std::string_view name() const override { return device_->name(); }
  [[nodiscard]] bool checks() const override { return true; }
  [[nodiscard]] bool ran() const { return ran_; }
  [[nodiscard]] const FindingSet& found() const { return found_; }

  harness::Outcome Run(const Program& program, const SourceFile& source,
                       std::span<const launch::Argument> arguments) const override {
    harness::Outcome out;
    const auto kernel = device_->Load(program);
    if (!kernel.ok()) {
      out.error = Render(kernel.error(), source);
      return out;
    }
    ran_ = true;
    vm::LaunchOptions options;
    options.check = true;
    options.threads = 1;
    options.max_instructions = kMaxInstructions;
    const auto result = harness::LaunchOn(*device_, **kernel, arguments, options);
    if (!result.ok()) {
      Record(result.error());
      return out;
    }
    for (const launch::Finding& finding : result->report.findings) Record(finding.diagnostic);
    return out;
  }

 private:
  // The emulator's kinds begin its messages, which all have one id.
  void Record(const Diagnostic& diagnostic) const {
    std::string kind = diagnostic.info->id;
    if (kind == "emulator-finding") {
      kind = diagnostic.message.substr(0, diagnostic.message.find(':'));
    }
    found_.insert(Entry(diagnostic.location.line, kind));
  }

  const std::shared_ptr<runtime::Device> device_;
  mutable bool ran_ = false;
  mutable FindingSet found_;
};

FindingSet FindingsOn(std::shared_ptr<runtime::Device> device, const Case& c) {
  const Recorder recorder(std::move(device));
  const harness::CaseResult result = harness::RunCase(c, recorder);  // its outputs are not used
  EXPECT_TRUE(recorder.ran()) << result.Text(c);
  return recorder.found();
}

class FaultTest : public testing::TestWithParam<size_t> {
 protected:
  [[nodiscard]] const SpecFile& file() const { return Files()[GetParam()]; }
};

TEST_P(FaultTest, IsFoundByTheInterpreter) {
  for (const std::string& error : file().errors) ADD_FAILURE() << error;
  const auto c = CaseOf(file(), "faulty");
  ASSERT_TRUE(c);
  const auto cpu = runtime::OpenDevice("cpu");
  ASSERT_TRUE(cpu.ok());
  const FindingSet marked = Marked(file(), "check");
  EXPECT_FALSE(marked.empty());
  EXPECT_EQ(FindingsOn(*cpu, *c), marked);
}

TEST_P(FaultTest, IsFoundByTheEmulator) {
  const auto c = CaseOf(file(), "faulty");
  ASSERT_TRUE(c);
  const FindingSet marked = Marked(file(), "ptx");
  for (const auto target :
       {compiler::Target::kSm80, compiler::Target::kSm89, compiler::Target::kSm90a}) {
    EXPECT_EQ(FindingsOn(runtime::MakePtxDevice(target), *c), marked) << Row(target).name;
  }
}

TEST_P(FaultTest, IsNotInTheTwin) {
  const auto c = CaseOf(file(), "right");
  ASSERT_TRUE(c);
  const harness::CaseResult result = harness::RunEverywhere(*c);
  EXPECT_TRUE(result.ok()) << result.Text(*c);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FaultTest);
INSTANTIATE_TEST_SUITE_P(File, FaultTest, testing::Range<size_t>(0, Files().size()),
                         [](const auto& one) { return Files()[one.param].mnemonic; });

// Every kind of fault that a program can have occurs, on both sides.
TEST(Faults, EveryKindOccurs) {
  const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> sides = {
      {"check",
       {"race", "race-between-blocks", "read-before-wait", "write-before-wait", "unwritten",
        "replicas-differ", "not-finite", "not-left-zero", "buffer-too-small",
        "waits-for-later-block", "before-griddep-wait", "instruction-budget"}},
      {"ptx", {"race", "async", "uninitialised", "out_of_bounds", "limit"}},
  };
  for (const auto& [side, kinds] : sides) {
    FindingSet seen;
    for (const SpecFile& file : Files()) {
      for (const std::string& entry : Marked(file, side)) {
        seen.insert(entry.substr(entry.find(": ") + 2));
      }
    }
    EXPECT_EQ(seen, FindingSet(kinds.begin(), kinds.end())) << side;
  }
}

}  // namespace
}  // namespace tarsia
