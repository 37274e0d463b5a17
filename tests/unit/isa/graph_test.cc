// Graphs: text, bytecode, axes, types and specialisation. Errors are in tests/invalid/bad-graph-*.
#include "isa/graph/graph.h"

#include <gtest/gtest.h>

#include <cctype>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isa/bytecode/bytecode.h"
#include "isa/graph/check.h"
#include "isa/graph/other_words.h"
#include "isa/graph/specialise.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "isa/validate.h"
#include "tests/data/test_data.h"

namespace tarsia::graph_test {
namespace {

constexpr char kRbf[] = R"(graph rbf(%x: f32[i:n, d], %z: f32[j:m, d], %v: f32[j:m]) -> f32[i:n]
  const n: int
  const m: int
  const d: int
{
  %s = sqdist<d> %x, %z
  %k = exp(%s * -0.5)
  %y = sum<j>(%k * %v) accumulate kahan
  return %y
}
)";

std::optional<Module> Parsed(const std::string& text) {
  const SourceFile source("graph.tsa", text);
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  EXPECT_TRUE(module) << diagnostics.Render(source);
  return module;
}

std::optional<ValidModule> Valid(const std::string& text) {
  const SourceFile source("graph.tsa", text);
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  std::optional<ValidModule> valid;
  if (module) valid = Validate(*std::move(module), diagnostics);
  EXPECT_TRUE(valid) << diagnostics.Render(source);
  return valid;
}

std::optional<ConcreteGraph> Concrete(const std::string& text,
                                      const std::vector<Binding>& bindings = {}) {
  const auto valid = Valid(text);
  if (!valid) return std::nullopt;
  const Module& module = valid->module();
  Diagnostics diagnostics;
  auto graph = SpecialiseGraph(*valid, module.Name(module.graphs[0]), bindings, diagnostics);
  EXPECT_TRUE(graph) << diagnostics.Render(SourceFile("graph.tsa", text));
  return graph;
}

// The ids of all errors, in order of their places.
std::string IdsOf(const std::string& text, const std::vector<Binding>& bindings = {}) {
  const SourceFile source("graph.tsa", text);
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  std::optional<ValidModule> valid;
  if (module) valid = Validate(*std::move(module), diagnostics);
  if (valid) {
    const Module& checked = valid->module();
    SpecialiseGraph(*valid, checked.Name(checked.graphs[0]), bindings, diagnostics);
  }
  std::string ids;
  for (const Diagnostic& error : diagnostics.list()) {
    ids += (ids.empty() ? "" : " ") + std::string(error.info->id);
  }
  return ids;
}

std::string Bytes(const Module& module, bool debug) {
  EncodeOptions options;
  options.debug = debug;
  const auto bytes = Encode(module, options);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  return bytes.ok() ? *bytes : "";
}

Result<Module> Decoded(const std::string& bytes) {
  return Decode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "graph.tsb");
}

// Text to bytes to text, and text to text.
void ExpectRoundTrip(const std::string& text) {
  const auto module = Parsed(text);
  ASSERT_TRUE(module);
  const std::string printed = Print(*module);
  const auto again = Parsed(printed);
  ASSERT_TRUE(again) << printed;
  EXPECT_TRUE(Equal(*module, *again)) << printed;
  EXPECT_EQ(Print(*again), printed);
  for (const bool debug : {false, true}) {
    const std::string bytes = Bytes(*module, debug);
    const auto decoded = Decoded(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message << "\n" << printed;
    EXPECT_TRUE(Equal(*module, *decoded)) << printed;
    EXPECT_EQ(Print(*decoded), printed);
    EXPECT_EQ(Bytes(*decoded, debug), bytes);
  }
}

// "i, j" for the axes of a value.
std::string AxesOf(const ConcreteGraph& graph, const std::vector<uint32_t>& axes) {
  std::string out;
  for (const uint32_t axis : axes) {
    out += (out.empty() ? "" : ", ") + std::string(graph.axes()[axis].name);
  }
  return out;
}

// "f32[i, j]" for the value with the name.
std::string TypeOf(const ConcreteGraph& graph, std::string_view name) {
  for (uint32_t value = 0; value < graph.values().size(); ++value) {
    if (graph.graph().ValueName(value) != name) continue;
    return std::string(DTypeName(graph.value(value).dtype)) + "[" +
           AxesOf(graph, graph.value(value).axes) + "]";
  }
  return "no such value";
}

// ---- text ------------------------------------------------------------------------------------

TEST(GraphText, CanonicalTextStays) { EXPECT_EQ(Print(*Parsed(kRbf)), kRbf); }

TEST(GraphText, FormatKeepsCommentsAndLines) {
  const std::string text = R"(// before
graph rbf(%x: f32[i:n, d], %v: f32[i:n]) -> f32[i:n]   // the head
  const n: int, d: int  // sizes
{

  // first
  %s = exp( (%x) )     // spread

  %y = (sum<d>(%s)*%v)
  return   %y // done
  // last
}
)";
  const std::string formatted = R"(// before
graph rbf(%x: f32[i:n, d], %v: f32[i:n]) -> f32[i:n]  // the head
  const n: int, d: int  // sizes
{
  // first
  %s = exp %x  // spread

  %y = sum<d>(%s) * %v
  return %y  // done
  // last
}
)";
  Diagnostics diagnostics;
  EXPECT_EQ(Format(SourceFile("f.tsa", text), diagnostics).value_or("errors"), formatted);
  EXPECT_EQ(Format(SourceFile("f.tsa", formatted), diagnostics).value_or("errors"), formatted);
}

TEST(GraphText, FormatKeepsTheOrderOfKernelsAndGraphs) {
  const std::string text = R"(graph a(%x: f32)
{
  return %x
}

kernel k()
{
}

graph b(%x: f32)
{
  return %x
}
)";
  Diagnostics diagnostics;
  EXPECT_EQ(Format(SourceFile("f.tsa", text), diagnostics).value_or("errors"), text);
  const auto module = Parsed(text);
  EXPECT_EQ(module->kernels.size(), 1u);
  EXPECT_EQ(module->graphs.size(), 2u);
}

// Left: as written; right: as printed. Precedence and constants are those of layout/text/expr.h.
TEST(GraphText, ExpressionsAreMinimal) {
  static constexpr std::pair<const char*, const char*> kCases[] = {
      {"(%a + %b) + %a", "%a + %b + %a"},
      {"%a + (%b + %a)", "%a + (%b + %a)"},
      {"(%a * %b) + %a", "%a * %b + %a"},
      {"%a * (%b + %a)", "%a * (%b + %a)"},
      {"-(%a * %b)", "-(%a * %b)"},
      {"-%a * %b", "-%a * %b"},
      {"- -%a", "--%a"},
      {"%a * (2 * n)", "%a * (2 * n)"},
      {"2 * n * %a", "2 * n * %a"},
      {"%a - -0.5", "%a - -0.5"},
      {"%a - (1 - n)", "%a - (1 - n)"},
      {"%a / -(n)", "%a / -n"},
      {"max(min(n, 3), 1) * %a", "max(min(n, 3), 1) * %a"},
      {"max(%a, min(n, 3))", "max(%a, min(n, 3))"},
      {"max %a, %b", "max %a, %b"},
      {"max<i>(%a)", "max<i> %a"},
      {"exp(exp(%a))", "exp(exp(%a))"},
      {"pow((%a), (n + 1) * 2)", "pow(%a, (n + 1) * 2)"},
      {"select(not (%a < %b) and %a == 1 or %b != 2, %a, 0)",
       "select(not %a < %b and %a == 1 or %b != 2, %a, 0)"},
      {"select((%a < 1) == (%b < 1), %a, 0)", "select((%a < 1) == (%b < 1), %a, 0)"},
      {"sum<i>(%a) accumulate f64 * 2", "sum<i>(%a) accumulate f64 * 2"},
      {"%a % 3", "%a % 3"},
  };
  for (const auto& [written, printed] : kCases) {
    SCOPED_TRACE(written);
    const auto text = [](const std::string& expression) {
      return "graph g(%a: f32[i:n], %b: f32[i:n])\n  const n: int\n{\n  %y = " + expression +
             "\n  return %y\n}\n";
    };
    const auto module = Parsed(text(written));
    ASSERT_TRUE(module);
    EXPECT_EQ(Print(*module), text(printed));
    ExpectRoundTrip(text(written));
  }
}

// A random graph over all operations of the table: it need not be valid, only expressible.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {}

  std::string Text() {
    std::string out = "graph g(%a: f32[i:n, d], %b: T[j:4], %c: bool)";
    if (Chance(2)) out += " -> f32[i:n] in %a, i64";
    out += "\n  const n: int = 3\n  const d: int\n  const T: dtype = u4\n{\n";
    for (int i = 0; i < 6; ++i) out += Statement(i);
    return out + "  return %a, %v5\n}\n";
  }

 private:
  uint32_t Below(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  bool Chance(uint32_t n) { return Below(n) == 0; }

  std::string Statement(int i) {
    const GraphRow& row = AllGraphOps()[Below(kGraphOps)];
    std::string out = "  %v" + std::to_string(i);
    if (row.results() == 2) out += ", %w" + std::to_string(i);
    out += " = " + Operation(row, 0) + "\n";
    values_.push_back("%v" + std::to_string(i));
    return out;
  }

  std::string Operand(int depth) {
    if (depth > 4 || Chance(3)) return values_[Below(static_cast<uint32_t>(values_.size()))];
    if (Chance(4)) return "(" + Constant(depth) + ")";
    while (true) {
      const GraphRow& row = AllGraphOps()[Below(kGraphOps)];
      if (row.results() == 1) return "(" + Operation(row, depth + 1) + ")";
    }
  }

  std::string Constant(int depth) {
    static constexpr const char* kLeaves[] = {"n",    "2",      "-7",   "-0.5",    "inf",
                                              "true", "d",      "1e30", "nan",     "4294967296",
                                              "f16",  "[1, n]", "-inf", "bits(T)", "ceildiv(n, 2)"};
    if (depth > 3 || Chance(2)) return kLeaves[Below(std::size(kLeaves))];
    static constexpr const char* kOperators[] = {" + ", " * ", " - ", " / ", " % "};
    const uint32_t op = Below(8);
    const std::string a = "(" + Constant(depth + 1) + ")";
    const std::string b = "(" + Constant(depth + 1) + ")";
    if (op < 5) return a + kOperators[op] + b;
    return op == 5 ? "-" + a : op == 6 ? "not " + a : "min(" + a + ", " + b + ")";
  }

  std::string Axis(bool extent) {
    static constexpr const char* kNames[] = {"i", "j", "d", "k", "r"};
    static constexpr const char* kExtents[] = {":n", ":4", ":n + 1", ":(n < d)"};
    std::string out = kNames[Below(std::size(kNames))];
    return extent && Chance(2) ? out + kExtents[Below(std::size(kExtents))] : out;
  }

  std::string Axes(AxesForm form) {
    switch (form) {
      case AxesForm::kNoAxes:
        return "";
      case AxesForm::kType:
        return Chance(2) ? "<f16>" : "<T>";
      case AxesForm::kNewAxis:
      case AxesForm::kOneAxis:
      case AxesForm::kOneAxisAndLast:
        return "<" + Axis(true) + ">";
      case AxesForm::kNewAxes:
      case AxesForm::kAxes:
        return "<" + Axis(true) + (Chance(2) ? ", " + Axis(true) : "") + ">";
      case AxesForm::kRenames:
        return "<" + Axis(true) + "->" + Axis(true) +
               (Chance(2) ? ", " + Axis(false) + "->" + Axis(false) : "") + ">";
      case AxesForm::kMap:
        return "<" + Axis(true) + "->" + Axis(true) + ">";
      case AxesForm::kJoin:
        return "<" + Axis(true) + ", " + Axis(true) + "->" + Axis(true) + ">";
      case AxesForm::kRowsColumns:
        return "<" + Axis(true) + ", " + Axis(false) + ">";
    }
    return "";
  }

  // The first operand is a value, so that the operation is no constant.
  std::string Operation(const GraphRow& row, int depth) {
    std::vector<std::string> operands;
    for (size_t i = 0; i < row.operands.size(); ++i) {
      operands.push_back(i == 0 || row.Has(kNamedOperands)
                             ? values_[Below(static_cast<uint32_t>(values_.size()))]
                             : Operand(depth));
    }
    if (row.symbol) {
      if (Chance(2)) std::swap(operands[0], operands[1]);
      return operands[0] + " " + std::string(Spelling(*row.symbol)) + " " + operands[1];
    }
    if (row.IsOperator()) return (row.op == GraphOp::kNot ? "not " : "-") + operands[0];
    std::string out = std::string(row.word) + Axes(row.axes);
    for (size_t i = 0; i < operands.size(); ++i) out += (i == 0 ? "(" : ", ") + operands[i];
    if (row.axes == AxesForm::kOneAxisAndLast) out += ", " + Axis(true);
    if (!operands.empty()) out += ")";
    for (const OptionRow& option : kOptionRows) {
      if (!row.Takes(option.option) || !Chance(3)) continue;
      return out + " " + std::string(option.word) + " " + std::string(option.value);
    }
    return out;
  }

  std::mt19937 random_;
  std::vector<std::string> values_ = {"%a", "%b", "%c"};
};

TEST(GraphText, RandomGraphsSurviveBothForms) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const std::string text = RandomGraph(seed).Text();
    SCOPED_TRACE(text);
    ExpectRoundTrip(text);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(GraphText, DeepExpressionsAreRefusedOrSurvive) {
  const auto nested = [](int levels) {
    std::string text = "%a";
    for (int i = 0; i < levels; ++i) text = "exp(" + text + ")";
    return "graph g(%a: f32)\n{\n  %y = " + text + "\n  return %y\n}\n";
  };
  ExpectRoundTrip(nested(128));
  EXPECT_EQ(IdsOf(nested(129)), "too-deep");
  std::string chain = "%a";
  for (int i = 0; i < 1000; ++i) chain += " + %a";
  EXPECT_EQ(IdsOf("graph g(%a: f32)\n{\n  %y = " + chain + "\n  return %y\n}\n"), "too-deep");
  const std::string open = "graph g(%a: f32)\n{\n  %y = " + std::string(100000, '(') + "\n}\n";
  EXPECT_NE(IdsOf(open).find("too-deep"), std::string::npos);
}

// The page shows each operation in an example, which the test `docs` runs.
TEST(GraphDocs, HaveAnExampleOfEveryOperation) {
  std::string page = ReadTestFile(TestData("docs/graphs.md"));
  std::vector<bool> found(kGraphOps);
  for (size_t begin = page.find("```tsa"); begin != std::string::npos;
       begin = page.find("```tsa", begin + 1)) {
    const size_t text = page.find('\n', begin) + 1;
    if (page.compare(begin, 9, "```tsa-er") == 0) continue;
    const auto module = Parsed(page.substr(text, page.find("```", text) - text));
    ASSERT_TRUE(module);
    for (const Graph& graph : module->graphs) {
      for (const GraphNode& node : graph.nodes) found[static_cast<size_t>(node.op)] = true;
    }
  }
  for (const GraphRow& row : AllGraphOps()) {
    EXPECT_TRUE(found[static_cast<size_t>(row.op)]) << row.name << " has no example";
  }
}

// ---- bytecode --------------------------------------------------------------------------------

TEST(GraphBytecode, NeedsVersionFour) {
  const auto module = Parsed(kRbf);
  std::string_view needs;
  EXPECT_EQ(LowestVersion(*module, &needs), (BytecodeVersion{0, 4}));
  EXPECT_EQ(needs, "graph");
  EncodeOptions old;
  old.version = BytecodeVersion{0, 3};
  const auto refused = Encode(*module, old);
  ASSERT_FALSE(refused.ok());
  EXPECT_STREQ(refused.error().info->id, "bytecode-target");
}

TEST(GraphBytecode, EveryChangeOfAByteIsRefusedOrCanonical) {
  const auto module = Parsed(kRbf);
  const std::string bytes = Bytes(*module, true);
  size_t accepted = 0;
  for (size_t i = 32; i < bytes.size(); ++i) {
    for (const int flip : {1, 0x80, 0xFF}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto decoded = Decoded(changed);
      if (!decoded.ok()) continue;
      ++accepted;
      EXPECT_EQ(Bytes(*decoded, true), changed) << i;
    }
  }
  EXPECT_EQ(accepted, 0u) << "the checksum finds every change";
}

// ---- axes and types --------------------------------------------------------------------------

TEST(GraphAxes, OutputsKeepAxesInOrderOfFirstAppearance) {
  const auto graph = Concrete(R"(graph g(%a: f32[j:2, i:3], %b: f32[k:4, j:2], %idx: i64[q:5])
{
  %sum = %a + %b
  %dot = dot<j> %a, %b
  %picked = gather<i> %a, %idx
  %best, %at = topk<i> %sum, top:2
  %segments = segment_sum<q->s:7> %picked, %idx
  %part = slice<i->h:2> %a, 1
  %both = concat<h, i->both> %part, %a
  %wide = broadcast<w:9> %a
  %far = rename<j->f> %a
  return %sum, %dot, %picked, %best, %at, %segments, %part, %both, %wide, %far
}
)");
  ASSERT_TRUE(graph);
  EXPECT_EQ(TypeOf(*graph, "sum"), "f32[j, i, k]");
  EXPECT_EQ(TypeOf(*graph, "dot"), "f32[i, k]");
  EXPECT_EQ(TypeOf(*graph, "picked"), "f32[j, q]");
  EXPECT_EQ(TypeOf(*graph, "best"), "f32[j, k, top]");
  EXPECT_EQ(TypeOf(*graph, "at"), "i64[j, k, top]");
  EXPECT_EQ(TypeOf(*graph, "segments"), "f32[j, s]");
  EXPECT_EQ(TypeOf(*graph, "part"), "f32[j, h]");
  EXPECT_EQ(TypeOf(*graph, "both"), "f32[j, both]");
  EXPECT_EQ(TypeOf(*graph, "wide"), "f32[j, i, w]");
  EXPECT_EQ(TypeOf(*graph, "far"), "f32[f, i]");
  EXPECT_EQ(graph->axes()[graph->AxisOf(graph->graph().axes[0])].name, "j");
  for (const ConcreteAxis& axis : graph->axes()) {
    if (axis.name == "both") {
      EXPECT_EQ(axis.extent, 5);
    }
  }
}

TEST(GraphAxes, DeclaredOutputsNameTheirOrder) {
  const auto graph = Concrete("graph g(%a: f32[i:2, j:3]) -> f32[j:3, i:2]\n{\n  return %a\n}\n");
  ASSERT_TRUE(graph);
  EXPECT_EQ(AxesOf(*graph, graph->output_axes(0)), "j, i");
  EXPECT_EQ(AxesOf(*graph, graph->value(0).axes), "i, j");
}

TEST(GraphTypes, FollowFromOperands) {
  const auto graph = Concrete(R"(graph g(%h: f16[i:4], %q: i8[i:4], %c: c32[i:4], %w: u4[i:4])
{
  %dot_h = dot<i> %h, %h
  %dot_q = dot<i> %q, %q
  %dot_c = dot<i> %c, %c
  %sum_h = sum<i> %h
  %size = abs %c
  %z = complex %h, %h
  %mask = iota<i> < 2
  %picked = select(%mask, %h, 0)
  %f = cast<f32> %w
  %u = uniform<i> 1
  %one = cast<f64> 1
  return %dot_h, %dot_q, %dot_c, %sum_h, %size, %z, %mask, %picked, %f, %u, %one
}
)");
  ASSERT_TRUE(graph);
  EXPECT_EQ(TypeOf(*graph, "dot_h"), "f32[]");
  EXPECT_EQ(TypeOf(*graph, "dot_q"), "i32[]");
  EXPECT_EQ(TypeOf(*graph, "dot_c"), "c64[]");
  EXPECT_EQ(TypeOf(*graph, "sum_h"), "f16[]");
  EXPECT_EQ(TypeOf(*graph, "size"), "f16[i]");
  EXPECT_EQ(TypeOf(*graph, "z"), "c32[i]");
  EXPECT_EQ(TypeOf(*graph, "mask"), "bool[i]");
  EXPECT_EQ(TypeOf(*graph, "picked"), "f16[i]");
  EXPECT_EQ(TypeOf(*graph, "f"), "f32[i]");
  EXPECT_EQ(TypeOf(*graph, "u"), "f32[i]");
  EXPECT_EQ(TypeOf(*graph, "one"), "f64[]");
}

// ---- specialisation --------------------------------------------------------------------------

TEST(GraphSpecialise, GivesEveryValueItsExtents) {
  const auto graph = Concrete(kRbf, {{"n", "1000000"}, {"m", "2000000"}, {"d", "3"}});
  ASSERT_TRUE(graph);
  EXPECT_EQ(TypeOf(*graph, "s"), "f32[i, j]");
  EXPECT_EQ(graph->value(3).elements, 2000000000000);
  EXPECT_EQ(TypeOf(*graph, "y"), "f32[i]");
  ASSERT_EQ(graph->axes().size(), 3u);
  EXPECT_EQ(graph->axes()[0].extent, 1000000);
  EXPECT_EQ(graph->axes()[1].extent, 3);
  EXPECT_EQ(graph->axes()[2].extent, 2000000);
  EXPECT_EQ(graph->constants().size(), 3u);
  EXPECT_EQ(graph->name(), "rbf");
  EXPECT_TRUE(graph->graph().constants.empty());
}

TEST(GraphSpecialise, DecidesWhatConstantsLeftOpen) {
  const std::string text = R"(graph g(%a: T[i:n], %b: f32[i:m])
  const n: int
  const m: int
  const T: dtype = f32
  require n > 0, "n must be positive"
{
  %s = %a + %b
  %y = sum<i>(%s) + sum<h>(slice<i->h:2>(%s, 1)) * 0.5
  return %y
}
)";
  EXPECT_EQ(IdsOf(text, {{"n", "4"}, {"m", "4"}}), "");
  EXPECT_EQ(IdsOf(text, {{"n", "4"}, {"m", "5"}}), "graph-axis-differs");
  EXPECT_EQ(IdsOf(text, {{"n", "2"}, {"m", "2"}}), "graph-extent");
  EXPECT_EQ(IdsOf(text, {{"n", "0"}, {"m", "0"}}), "requirement");
  EXPECT_EQ(IdsOf(text, {{"n", "4"}, {"m", "4"}, {"T", "f64"}}), "graph-types");
  EXPECT_EQ(IdsOf(text, {{"n", "4"}}), "unbound-constant");
  EXPECT_EQ(IdsOf(text, {{"n", "4"}, {"m", "4"}, {"q", "4"}}), "unknown-binding");
  EXPECT_EQ(IdsOf(text, {{"n", "2000000000000"}, {"m", "4"}}), "graph-extent-range");
}

// The operations in a text: names before `<` and `(`.
std::vector<std::string> CallsIn(std::string_view text) {
  std::vector<std::string> out;
  std::string name;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
      name += c;
      continue;
    }
    if ((c == '<' || c == '(') && !name.empty()) out.push_back(name);
    name.clear();
  }
  return out;
}

TEST(GraphWords, ThoseOfOtherLanguages) {
  for (const OtherWord& other : OtherGraphWords()) {
    EXPECT_FALSE(IsGraphWord(other.word)) << other.word;
    EXPECT_EQ(FindOther(OtherGraphWords(), other.word), other.here) << "it is there twice";
    const auto calls = CallsIn(other.here);
    EXPECT_FALSE(calls.empty()) << other.word;
    for (const std::string& call : calls) EXPECT_TRUE(IsGraphWord(call)) << call;
  }
  for (const OtherWord& other : OtherTypes()) {
    EXPECT_FALSE(FindDType(other.word)) << other.word;
    EXPECT_TRUE(FindDType(other.here)) << other.here;
  }
  EXPECT_EQ(FindOther(OtherTypes(), "float32"), "f32");
  EXPECT_EQ(FindOther(OtherTypes(), "f32"), "");
}

// Of a tensor, and of a value that is never in memory.
TEST(GraphSpecialise, SizesAreNumbersOf64Bits) {
  const std::string text =
      "graph g(%x: f32[i:n], %y: f32[j:m]) -> f32\n"
      "  const n: int, m: int\n"
      "{\n"
      "  %t = sum<i, j>(%x * %y)\n"
      "  return %t\n"
      "}\n";
  EXPECT_EQ(IdsOf(text, {{"n", "1099511627776"}, {"m", "262144"}}), "");  // 2^60 bytes
  EXPECT_EQ(IdsOf(text, {{"n", "1099511627776"}, {"m", "262145"}}), "graph-too-large");
  EXPECT_EQ(IdsOf(text, {{"n", "1099511627776"}, {"m", "0"}}), "");
}

TEST(GraphSpecialise, ExtractionKeepsTheGraphAlone) {
  const auto module = Parsed(std::string(kRbf) + "\nkernel k()\n{\n}\n");
  ASSERT_TRUE(module);
  EXPECT_EQ(Print(module->ExtractGraph(0)), kRbf);
  EXPECT_EQ(Print(module->Extract(0)), "kernel k()\n{\n}\n");
  EXPECT_TRUE(Equal(*module, module->Clone()));
}

TEST(GraphSpecialise, ElementsAreCountedWithoutOverflow) {
  constexpr int64_t kMost = int64_t{1} << 40;
  EXPECT_EQ(CountElements(std::vector<int64_t>{}), 1);
  EXPECT_EQ(CountElements(std::vector<int64_t>{kMost, 1 << 22}), int64_t{1} << 62);
  EXPECT_EQ(CountElements(std::vector<int64_t>{kMost, (1 << 22) + 1}), std::nullopt);
  EXPECT_EQ(CountElements(std::vector<int64_t>{kMost, kMost}), std::nullopt);
  EXPECT_EQ(CountElements(std::vector<int64_t>{kMost, kMost, kMost, kMost, 0}), 0);
}

}  // namespace
}  // namespace tarsia::graph_test
