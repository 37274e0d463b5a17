// Every file tests/passes/<pass>/<case>.tsa has a program, a line `// ==== after <pass>`, and the
// program after the passes up to this one. With TARSIA_REWRITE set, the second programs are written
// anew: read them before you commit them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/pass.h"
#include "isa/text/printer.h"
#include "tests/data/test_data.h"
#include "tests/harness/program.h"
#include "tests/settings.h"

namespace tarsia {
namespace {

std::string After(const SourceFile& source, std::string_view pass) {
  const harness::Made made = harness::MakeProgram(source, "", {});
  if (!made.program) return made.error;
  compiler::PassOptions options;
  options.last = pass;
  const Result<Program> after = compiler::ProgramAfter(*made.program, options, {});
  return after.ok() ? Print(after->module()) : after.error().message;
}

void CheckFile(const std::filesystem::path& path, std::string_view pass) {
  const std::string text = ReadTestFile(path);
  const std::string line = "// ==== after " + std::string(pass) + "\n";
  const size_t middle = text.find(line);
  const std::string before = text.substr(0, middle);
  const std::string after = After(SourceFile(path.filename().string(), before), pass);
  if (IsRewriting()) {
    std::ofstream(path) << before << line << after;
    return;
  }
  ASSERT_NE(middle, std::string::npos) << path << " has no line `" << line << "`";
  EXPECT_EQ(text.substr(middle + line.size()), after) << path;
}

TEST(Passes, MakeTheProgramsOfTheirFiles) {
  for (const compiler::Pass& pass : compiler::AllPasses()) {
    const std::filesystem::path folder = TestData("tests/passes/" + std::string(pass.name));
    ASSERT_TRUE(std::filesystem::is_directory(folder)) << "no cases for " << pass.name;
    const std::vector<std::string> names = NamesIn(folder, ".tsa");
    EXPECT_FALSE(names.empty()) << folder;
    for (const std::string& name : names) CheckFile(folder / name, pass.name);
  }
}

TEST(Passes, ThatAreUnknownOrNeededAreErrors) {
  const auto unknown = compiler::FindPass("simplfy");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(
      unknown.error().message,
      "`simplfy` is not a pass; the passes are build, widen, simplify, coalesce, layouts, stage, "
      "pipeline, unroll, sync, shared, registers");
  EXPECT_TRUE(compiler::CheckOptional({"simplify"}).ok());
  EXPECT_FALSE(compiler::CheckOptional({"simplify", "build"}).ok());
}

TEST(Passes, ThatAreLeftOutDoNothing) {
  const std::string text = ReadTestFile(TestData("tests/passes/simplify/loops.tsa"));
  const SourceFile source("loops.tsa", text.substr(0, text.find("// ====")));
  const harness::Made made = harness::MakeProgram(source, "", {});
  ASSERT_TRUE(made.program) << made.error;
  compiler::PassOptions options;
  options.without = {"simplify"};
  options.last = "simplify";
  const Result<Program> after = compiler::ProgramAfter(*made.program, options, {});
  ASSERT_TRUE(after.ok());
  EXPECT_TRUE(Equal(made.program->module(), after->module()));
}

}  // namespace
}  // namespace tarsia
