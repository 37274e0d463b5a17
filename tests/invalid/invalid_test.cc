// Runs tests/invalid/bad-*.tsa: a refused program and, after `//~`, all of its messages, character
// by character. `//~~ set K=3 L=row_major` sets constants (values without blanks); `//~~ kernel
// name` picks a kernel other than the first; `//~~ graph name` a graph, without it the first one of
// a program without kernels; `//~~ target sm_80` compiles a program without earlier errors for it.
// With TARSIA_REWRITE set, the files are rewritten with the current messages: read the difference
// before you keep it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "isa/gradient/expand.h"
#include "isa/graph/specialise.h"
#include "isa/rewrite/complex_parts.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/validate.h"
#include "tests/data/test_data.h"
#include "tests/settings.h"

namespace tarsia {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string program;     // without the lines below
  std::string directives;  // the `//~~` lines
  std::string expected;    // the `//~` lines without their mark
  std::string kernel;
  std::string graph;
  std::string target;  // empty: it is not compiled
  std::vector<Binding> bindings;
};

void ReadDirective(const std::string& line, Case& out) {
  std::istringstream words(line);
  std::string mark, what, word;
  words >> mark >> what;
  ASSERT_TRUE(what == "set" || what == "kernel" || what == "graph" || what == "target") << line;
  while (words >> word) {
    const size_t assign = word.find('=');
    if (what == "kernel") {
      out.kernel = word;
    } else if (what == "graph") {
      out.graph = word;
    } else if (what == "target") {
      out.target = word;
    } else {
      ASSERT_NE(assign, std::string::npos) << line;
      out.bindings.push_back({word.substr(0, assign), word.substr(assign + 1)});
    }
  }
}

Case ReadCase(const fs::path& path) {
  Case out;
  const std::string text = ReadTestFile(path);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    begin = end;
    if (line.starts_with("//~~")) {
      out.directives += line;
      ReadDirective(line, out);
    } else if (line.starts_with("//~")) {
      out.expected += line.substr(line.starts_with("//~ ") ? 4 : 3);
    } else {
      out.program += line;
    }
  }
  return out;
}

// All messages about a program: of the parser, else of the validator, else of specialisation, else
// of the compiler.
Diagnostics Judge(const Case& test, const SourceFile& source) {
  Diagnostics out;
  std::optional<Module> module = Parse(source, out);
  EXPECT_EQ(module.has_value(), out.ok());
  if (!module) return out;
  std::string kernel = test.kernel;
  if (kernel.empty() && !module->kernels.empty()) kernel = module->Name(module->kernels[0]);
  const std::optional<ValidModule> valid = Validate(*std::move(module), out);
  EXPECT_EQ(valid.has_value(), out.ok());
  if (!valid) return out;
  const Module& checked = valid->module();
  std::string graph = test.graph;
  if (graph.empty() && kernel.empty() && !checked.graphs.empty()) {
    graph = checked.Name(checked.graphs[0]);
  }
  if (!graph.empty()) {
    auto made = SpecialiseGraph(*valid, graph, test.bindings, out);
    EXPECT_EQ(made.has_value(), out.ok());
    if (made) made = SplitComplex(*made, out);
    if (made) made = ExpandGradients(*made, {}, out);
    EXPECT_EQ(made.has_value(), out.ok());
    return out;
  }
  const auto program = Specialise(*valid, kernel, test.bindings, {}, out);
  EXPECT_EQ(program.has_value(), out.ok());
  if (!program || test.target.empty()) return out;
  const auto target = compiler::FindTarget(test.target);
  EXPECT_TRUE(target.ok()) << test.target;
  if (!target.ok()) return out;
  auto kernel_of_target = compiler::Compile(*program, *target);
  if (!kernel_of_target.ok()) out.Add(kernel_of_target.TakeError());
  return out;
}

void Rewrite(const fs::path& path, const Case& test, const std::string& said) {
  std::ofstream out(path, std::ios::binary);
  out << test.program << test.directives;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    out << (line.empty() ? "//~" : "//~ ") << line << "\n";
  }
}

std::vector<fs::path> Files() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(TestData("tests/invalid"))) {
    if (entry.path().extension() == ".tsa") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The ids that each file shows, in brackets at the end of a message.
std::set<std::string> ShownIds(const Diagnostics& diagnostics) {
  std::set<std::string> out;
  for (const Diagnostic& diagnostic : diagnostics.list()) out.insert(diagnostic.info->id);
  return out;
}

TEST(Invalid, EveryFileSaysExactlyThis) {
  ASSERT_GT(Files().size(), 100u);
  for (const fs::path& path : Files()) {
    const std::string name = path.filename().string();
    SCOPED_TRACE(name);
    const Case test = ReadCase(path);
    const SourceFile source(name, test.program);
    const Diagnostics diagnostics = Judge(test, source);
    const std::string said = diagnostics.Render(source);
    EXPECT_FALSE(diagnostics.ok()) << "nothing is wrong with this program";
    if (IsRewriting())
      Rewrite(path, test, said);
    else
      EXPECT_EQ(said, test.expected);
    // bad-<id>.tsa and bad-<id>-<more>.tsa show <id>; mix-<what>.tsa shows several.
    if (!name.starts_with("bad-")) continue;
    const std::set<std::string> ids = ShownIds(diagnostics);
    EXPECT_TRUE(std::any_of(ids.begin(), ids.end(),
                            [&](const std::string& id) {
                              return name == "bad-" + id + ".tsa" ||
                                     name.starts_with("bad-" + id + "-");
                            }))
        << "the file does not show what it is named after:\n"
        << said;
  }
}

// Ids that no program text can show, and why.
const std::map<std::string, std::string>& OutOfReach() {
  static const std::map<std::string, std::string> ids = {
      {"unknown-pass", "of options, not of programs"},
      {"required-pass", "of options, not of programs"},
      {"graph-no-derivative",
       "complex numbers are split before; this is for callers of the library"},
      {"value-order", "the parser numbers values by their definition; bytecode may not"},
      {"not-a-parameter", "the header of a text sees parameters alone; that of bytecode may not"},
      {"unknown-value", "programs say `not-a-scalar` or `not-constant`; this is for layouts"},
      {"text-too-long", "a text of 256 MiB"},
      {"layout-slice", "slices of programs are masked; this is for callers of the library"},
      {"layout-slice-rank", "slices of programs are masked; this is for callers of the library"},
      {"layout-digits", "slices of programs are masked; this is for callers of the library"},
      {"packed-count", "the bit layout of `packed` is made for its tile"},
      {"packed-type",
       "the bit layout of `packed` is made for its tile, for the type of the tensor"},
      {"bit-layout-open", "of pictures of layouts"},
      {"picture-too-large", "of pictures of layouts"},
      {"access-shape", "of accesses, which are made of tiles that fit"},
      {"access-width", "of accesses, which are made of tiles that fit"},
      {"access-bits", "of accesses, which are made of tiles that fit"},
      {"access-facts", "of `tarsia layout`: unit.layout"},
      {"access-open-stride", "of `tarsia layout`: unit.layout"},
      {"access-no-bytes", "of `tarsia layout`: unit.layout"},
      {"access-unit", "of `tarsia layout`: unit.layout"},
      {"wgmma-swizzle", "of `tarsia layout`, of descriptors of wgmma: unit.layout"},
      {"wgmma-width", "of `tarsia layout`, of descriptors of wgmma: unit.layout"},
      {"wgmma-major", "of `tarsia layout`, of descriptors of wgmma: unit.layout"},
      {"wgmma-extent", "of `tarsia layout`, of descriptors of wgmma: unit.layout"},
      {"wgmma-operand", "of `tarsia layout`, of descriptors of wgmma: unit.layout"},
      {"wgmma-fields", "of `tarsia layout`, of descriptors of wgmma: unit.layout"},
      {"wgmma-no-descriptor", "of `tarsia layout`, of descriptors of wgmma: unit.layout"},
      {"unknown-target", "of command lines: unit.compiler"},
      {"too-many-reports", "a text of 65537 assertions: unit.compiler"},
      {"llvm-invalid-module", "a fault of the compiler: unit.compiler"},
      {"llvm-failed", "a fault of the compiler: unit.compiler"},
      {"llvm-gave-up", "a fault of LLVM"},
      {"llvm-no-backend", "another LLVM than the one that is built with"},
      {"llvm-unusable", "of the machine: unit.runtime"},
      {"out-of-memory", "of the machine: unit.runtime"},
      {"compile-memory", "of the machine: unit.runtime"},
      {"compile-cancelled", "of callers of the library: unit.runtime"},
      {"compile-stopped", "of callers of the library: unit.runtime"},
      {"tool-stopped", "of callers of the library: unit.runtime"},
      {"compile-limit", "of the machine's speed: cli.compile"},
      {"tool-missing", "of the machine: unit.compiler"},
      {"tool-failed", "of the machine: unit.compiler"},
      {"tool-timeout", "of the machine: unit.compiler"},
      {"scratch-file", "of the machine: unit.compiler"},
      {"assemble-failed", "PTX from elsewhere: unit.compiler"},
  };
  return ids;
}

std::set<std::string> IdsWithFiles() {
  std::set<std::string> out;
  for (const fs::path& path : Files()) {
    const Case test = ReadCase(path);
    const SourceFile source(path.filename().string(), test.program);
    out.merge(ShownIds(Judge(test, source)));
  }
  return out;
}

// The ids of all messages about programs.
constexpr const char* kIdsOfPrograms[] = {
#define DIAG(name, id, format, help) id,
#include "compiler/diagnostics.def"
#include "isa/diagnostics.def"
#include "isa/graph/diagnostics.def"
#include "layout/diagnostics.def"
#include "layout/text/diagnostics.def"
#undef DIAG
};

TEST(Invalid, EveryIdHasAFile) {
  const std::set<std::string> shown = IdsWithFiles();
  for (const char* id : kIdsOfPrograms) {
    const bool has = shown.contains(id);
    EXPECT_NE(has, OutOfReach().contains(id))
        << id << (has ? " can be shown" : " has no file in tests/invalid");
  }
}

// The tables of a folder and of its parts.
std::vector<fs::path> TablesOf(const fs::path& folder) {
  std::vector<fs::path> tables;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().string().ends_with("diagnostics.def")) tables.push_back(entry.path());
  }
  return tables;
}

// Rows of all tables share one namespace, except those of the emulator: two rows of one name would
// be one object for the linker.
TEST(Invalid, NamesOfDiagnosticsAreUnique) {
  std::map<std::string, fs::path> seen;
  for (const auto& folder : fs::directory_iterator(TestData(""))) {
    const std::string name = folder.path().filename().string();
    if (!folder.is_directory() || name == "build" || name == "ptx" || name[0] == '.') continue;
    for (const fs::path& table : TablesOf(folder)) {
      std::istringstream lines(ReadTestFile(table));
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("DIAG(")) continue;
        const std::string row = line.substr(5, line.find(',') - 5);
        EXPECT_TRUE(seen.emplace(row, table).second)
            << row << " of " << table << " is in " << seen[row] << " too";
      }
    }
  }
  EXPECT_GT(seen.size(), 150u);
}

TEST(Invalid, IdsOfProgramsAreUnique) {
  std::set<std::string> seen;
  for (const char* id : kIdsOfPrograms) EXPECT_TRUE(seen.insert(id).second) << id;
}

}  // namespace
}  // namespace tarsia
