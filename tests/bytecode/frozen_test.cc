// Frozen bytecode: v<N>/NAME.tsb was written by version N of the format from NAME.tsa in the same
// folder, without debug locations. From 1.0 on every version loads those of all others. Until then
// TARSIA_REWRITE=1 rewrites the samples of v0 if the format had to change.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "isa/bytecode/bytecode.h"
#include "isa/graph/op.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "tests/data/test_data.h"
#include "tests/settings.h"

namespace tarsia {
namespace {

const std::filesystem::path kSamples = TestData("tests/bytecode/v0");

Module ParseFile(const std::filesystem::path& path) {
  const SourceFile source(path.filename(), ReadTestFile(path));
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  EXPECT_TRUE(module) << diagnostics.Render(source);
  return module ? *std::move(module) : Module();
}

std::vector<std::filesystem::path> Texts() {
  std::vector<std::filesystem::path> texts;
  for (const auto& entry : std::filesystem::directory_iterator(kSamples)) {
    if (entry.path().extension() == ".tsa") texts.push_back(entry.path());
  }
  return texts;
}

TEST(FrozenBytecode, Loads) {
  const auto texts = Texts();
  EXPECT_GE(texts.size(), 3u);
  for (std::filesystem::path path : texts) {
    SCOPED_TRACE(path);
    const Module module = ParseFile(path);
    const auto encoded = Encode(module, {.version = {}, .debug = false, .producer = ""});
    ASSERT_TRUE(encoded.ok());
    path.replace_extension(".tsb");
    if (IsRewriting()) {
      std::ofstream(path, std::ios::binary) << *encoded;
    }
    const std::string bytes = ReadTestFile(path);
    EXPECT_EQ(*encoded, bytes);
    const auto decoded =
        Decode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, path);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_TRUE(Equal(module, *decoded));
    EXPECT_EQ(Print(module), Print(*decoded));
  }
}

TEST(FrozenBytecode, HasEveryInstruction) {
  const Module module = ParseFile(kSamples / "instructions.tsa");
  std::vector<bool> found(kOpcodes);
  for (const Kernel& kernel : module.kernels) {
    for (const Inst& inst : kernel.code) found[static_cast<size_t>(inst.opcode)] = true;
  }
  for (const InstRow& row : AllInstructions()) {
    if (row.since == 1) {
      EXPECT_TRUE(found[static_cast<size_t>(row.opcode)]) << row.mnemonic;
    }
  }
}

TEST(FrozenBytecode, HasEveryOperationOfGraphs) {
  const Module module = ParseFile(kSamples / "graphs.tsa");
  std::vector<bool> found(kGraphOps);
  for (const Graph& graph : module.graphs) {
    for (const GraphNode& node : graph.nodes) found[static_cast<size_t>(node.op)] = true;
  }
  for (const GraphRow& row : AllGraphOps()) {
    if (row.since == 4) {
      EXPECT_TRUE(found[static_cast<size_t>(row.op)]) << row.name;
    }
  }
}

// The page's lists of numbers, with their lines joined.
std::string Documentation() {
  std::string text = ReadTestFile(TestData("docs/bytecode.md"));
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

TEST(FrozenBytecode, NumbersAreDocumented) {
  const std::string text = Documentation();
  const auto has = [&](const std::string& entry) {
    return text.find(" " + entry + ",") != std::string::npos ||
           text.find(" " + entry + ".") != std::string::npos;
  };
  const std::string reference = ReadTestFile(TestData("docs/isa.md"));
  for (const InstRow& row : AllInstructions()) {
    const std::string entry = fmt::format("\n| 0x{:02X} | `{}` |", row.code, row.mnemonic);
    EXPECT_NE(reference.find(entry), std::string::npos) << row.mnemonic;
  }
  const std::string operations = ReadTestFile(TestData("docs/graph-operations.md"));
  for (const GraphRow& row : AllGraphOps()) {
    EXPECT_NE(operations.find(fmt::format("\n| 0x{:02X} | `{}", row.code, row.word)),
              std::string::npos)
        << row.name;
  }
  for (const DTypeRow& row : AllDTypes()) {
    EXPECT_TRUE(has(fmt::format("{} `{}`", row.code, row.name))) << row.name;
  }
  for (const FuncInfo& info : Functions()) {
    EXPECT_TRUE(has(fmt::format("{} `{}`", static_cast<int>(info.func), info.name))) << info.name;
  }
}

}  // namespace
}  // namespace tarsia
