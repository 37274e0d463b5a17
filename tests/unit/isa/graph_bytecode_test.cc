// The section of graphs, byte by byte: what docs/bytecode.md says, written out by hand, and what it
// forbids.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isa/bytecode/bytecode.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "tests/unit/isa/bytecode_file.h"

namespace tarsia::graph_bytecode_test {
namespace {

using bytecode_file::Decoded;
using bytecode_file::FileOf;
using bytecode_file::Section;
using namespace std::string_literals;  // NOLINT: "\0"s

// A file with these strings, no types, no kernels and this section of graphs.
std::string File(const std::vector<std::string>& strings, const std::string& graphs,
                 uint16_t minor = 4) {
  std::string texts(1, static_cast<char>(strings.size()));
  for (const std::string& text : strings) texts += static_cast<char>(text.size()) + text;
  std::vector<Section> sections = {{1, 0x300, texts}, {2, 0x300, "\0"s}, {3, 0x300, "\0"s}};
  if (!graphs.empty()) sections.push_back({6, 0x300, graphs});
  return FileOf(sections, 0, minor);
}

// The text, or the id of the error.
std::string Read(const std::string& bytes) {
  const auto module = Decoded(bytes);
  return module.ok() ? Print(*module) : module.error().info->id;
}

// graph g(%x: f32[i:4]) with a body.
std::string GraphOf(const std::string& body) {
  return "\x01\x00\x01\x14\x1B\x01\x01\x22\x02\x00\x00\x00"s + static_cast<char>(body.size()) +
         body;
}

const std::vector<std::string>& Strings() {
  static const std::vector<std::string> strings = {"g", "i", "x", "y"};
  return strings;
}

std::string ReadBody(const std::string& body) { return Read(File(Strings(), GraphOf(body))); }

TEST(GraphBytes, OfASmallGraph) {
  const std::string text =
      "graph g(%x: f32[i:4])\n{\n  %y, %p = topk<i>(-%x * 2, k:1)\n  return %y, %x\n}\n";
  const std::string graphs =
      "\x01\x00"s          // one graph, named string 0
      "\x01\x14\x1B"s      // one input, of type 27: f32
      "\x01\x01\x22"s      // one axis: string 1, of extent 4
      "\x02"s              // the input is named string 2
      "\x00\x00\x00"s      // no constants, requirements, types of outputs
      "\x15\x01"s          // a body of 21 bytes, with one statement:
      "\x78\x00"s          // topk, no option
      "\x01\x00\x03\x0A"s  // axes: string 1 without extent, string 3 of extent 1
      "\x00\x12\x00"s      // its operand is an operation: *, no option,
      "\x00\x1D\x00\x02"s  // whose first operand is -, no option, of value 0,
      "\x01\x12"s          // and whose second one is the constant 2
      "\x04\x05"s          // the results are named string 4 and string 5
      "\x02\x01\x00"s;     // two outputs: values 1 and 0
  const std::string bytes = File({"g", "i", "x", "k", "y", "p"}, graphs);
  EXPECT_EQ(Read(bytes), text);
  Diagnostics diagnostics;
  const auto module = Parse(SourceFile("g.tsa", text), diagnostics);
  EncodeOptions options;
  options.debug = false;
  EXPECT_EQ(*Encode(*module, options), bytes);
}

// %y = exp %x: one statement, exp without option of value 0, named string 3; outputs.
TEST(GraphBytes, AreRefusedUnlessTextCanExpressThem) {
  EXPECT_EQ(ReadBody("\x01\x25\x00\x02\x03\x01\x01"s),
            "graph g(%x: f32[i:4])\n{\n  %y = exp %x\n  return %y\n}\n");
  EXPECT_EQ(ReadBody("\x01\x26\x00\x02\x03\x02\x01\x00"s).substr(0, 5), "graph");
  EXPECT_EQ(ReadBody("\x01\xF0\x00\x02\x03\x01\x01"s), "bytecode-code") << "no operation 0xF0";
  EXPECT_EQ(ReadBody("\x01\x25\x01\x02\x03\x01\x01"s), "bytecode-code") << "exp has no option";
  EXPECT_EQ(ReadBody("\x01\x25\x09\x02\x03\x01\x01"s), "bytecode-code") << "no option 9";
  EXPECT_EQ(ReadBody("\x01\x25\x00\x03\x03\x01\x01"s), "bytecode-reference") << "%y of itself";
  EXPECT_EQ(ReadBody("\x01\x25\x00\x02\x02\x01\x01"s), "bytecode-repeated") << "%x again";
  EXPECT_EQ(ReadBody("\x01\x25\x00\x02\x03\x01\x02"s), "bytecode-reference") << "no output 2";
  EXPECT_EQ(ReadBody("\x01\x25\x00\x02\x03\x00"s), "bytecode-form") << "no outputs";
  EXPECT_EQ(ReadBody("\x01\x25\x00\x02\x03\x01\x01\x00"s), "bytecode-rest") << "a byte too many";
  EXPECT_EQ(ReadBody("\x01\x25\x00\x02\x04\x01\x01"s), "bytecode-reference") << "no string 4";
}

TEST(GraphBytes, HaveOneFormOfConstants) {
  // exp(2), as a value of an operation, and 2 + 2, which is a constant.
  EXPECT_EQ(ReadBody("\x01\x25\x00\x01\x12\x03\x01\x01"s).substr(0, 5), "graph");
  EXPECT_EQ(ReadBody("\x01\x10\x00\x01\x12\x01\x12\x03\x01\x01"s), "bytecode-form");
  EXPECT_EQ(ReadBody("\x01\x20\x00\x01\x12\x01\x12\x03\x01\x01"s), "bytecode-form") << "min(2, 2)";
  EXPECT_EQ(ReadBody("\x01\x22\x00\x01\x12\x01\x12\x03\x01\x01"s).substr(0, 5), "graph") << "pow";
  // ~2 alone; a value within a constant.
  EXPECT_EQ(ReadBody("\x01\x25\x00\x01\x38\x12\x03\x01\x01"s), "bytecode-form");
  EXPECT_EQ(ReadBody("\x01\x25\x00\x01\x24\x01\x03\x01\x01"s), "bytecode-reference");
}

TEST(GraphBytes, KeepResultsAndNamesWhereTheyMustBe) {
  // exp(argmax<i>(%x)); grad(-%x, %x).
  EXPECT_EQ(ReadBody("\x01\x25\x00\x00\x74\x00\x01\x00\x02\x03\x01\x01"s), "bytecode-form");
  EXPECT_EQ(ReadBody("\x01\x90\x00\x00\x1D\x00\x02\x02\x03\x01\x01"s), "bytecode-form");
  EXPECT_EQ(ReadBody("\x01\x90\x00\x01\x12\x02\x03\x01\x01"s), "bytecode-form");
  // rename with three axes, or none.
  EXPECT_EQ(ReadBody("\x01\x40\x00\x03\x01\x00\x01\x00\x01\x00\x02\x03\x01\x01"s), "bytecode-form");
  EXPECT_EQ(ReadBody("\x01\x70\x00\x00\x02\x03\x01\x01"s), "bytecode-form");
}

TEST(GraphBytes, OfTheSectionAndItsVersion) {
  const std::string body = "\x01\x25\x00\x02\x03\x01\x01"s;
  EXPECT_EQ(Read(File(Strings(), GraphOf(body), 3)), "bytecode-older");
  EXPECT_EQ(Read(File(Strings(), GraphOf(body), 5)), "bytecode-newer");
  EXPECT_EQ(Read(File({}, "\0"s)), "bytecode-form") << "a section without graphs";
  EXPECT_EQ(Read(File({"g", "i", "x", "y", "z"}, GraphOf(body))), "bytecode-order")
      << "a string that nothing uses";
  // The axis x of %x with the extent x, which is its own name.
  EXPECT_EQ(Read(File({"g", "x"},
                      "\x01\x00\x01\x14\x1B\x01\x01\x1C\x01\x01\x00\x00\x00\x03\x00\x01\x00"s)),
            "bytecode-form");
  // Twice the name g.
  const std::string one = GraphOf("\x00\x01\x00"s).substr(1);
  EXPECT_EQ(Read(File({"g", "i", "x"}, "\x02"s + one + one)), "bytecode-repeated");
  // The constant `sum`, whose name is an operation's.
  EXPECT_EQ(Read(File({"g", "x", "sum"},
                      "\x01\x00\x01\x14\x1B\x00\x01\x01\x02\x00\x00\x00\x00\x00\x03\x00\x01\x00"s)),
            "bytecode-name");
}

TEST(GraphBytes, AreNestedToALimit) {
  const auto nested = [](size_t levels) {
    std::string body = "\x01\x25\x00"s;
    for (size_t i = 1; i < levels; ++i) body += "\x00\x25\x00"s;
    body += "\x02\x03\x01\x01"s;
    const std::string length = {static_cast<char>(0x80 | (body.size() & 0x7F)),
                                static_cast<char>(body.size() >> 7)};
    return "\x01\x00\x01\x14\x1B\x01\x01\x22\x02\x00\x00\x00"s + length + body;
  };
  EXPECT_EQ(Read(File(Strings(), nested(128))).substr(0, 5), "graph");
  EXPECT_EQ(Read(File(Strings(), nested(129))), "bytecode-depth");
}

}  // namespace
}  // namespace tarsia::graph_bytecode_test
