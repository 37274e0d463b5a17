// The emulator supports everything that the compiler emits: the inline assembly in its sources,
// word by word, and the PTX of the examples and of every operation on single elements.
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/llvm/backend.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "ptx/parse/module.h"
#include "ptx/table/table.h"
#include "tests/data/test_data.h"
#include "tests/settings.h"
#include "tests/unit/compiler/cast_cases.h"
#include "tests/unit/compiler/operations.h"

namespace tarsia::compiler::emulator_coverage_test {
namespace {

// ---- inline assembly ---------------------------------------------------------------------------

// String literals of a source, those that stand side by side as one.
std::vector<std::string> Literals(const std::string& source) {
  static const std::regex kLiteral(R"re("((?:[^"\\\n]|\\.)*)")re");
  static const std::regex kAdjacent(R"re("[ \n]*")re");
  const std::string joined = std::regex_replace(source, kAdjacent, "");
  std::vector<std::string> literals;
  for (std::sregex_iterator at(joined.begin(), joined.end(), kLiteral), end; at != end; ++at) {
    literals.push_back((*at)[1]);
  }
  return literals;
}

// The modifier of a row that matches a whole or partial word of a source.
bool RowsTake(std::string_view mnemonic, std::string_view word) {
  return std::ranges::any_of(ptx::RowsOf(mnemonic), [&](const ptx::Row* row) {
    return std::ranges::any_of(row->slots, [&](const ptx::ModifierSlot& slot) {
      return std::ranges::find(slot.words, word) != slot.words.end();
    });
  });
}

// The error in "cvt.rn.f16x2.e5m2x2", a mnemonic with modifiers, or "".
std::string WrongWith(const std::string& instruction) {
  const size_t dot = std::min(instruction.find('.'), instruction.size());
  const std::string mnemonic = instruction.substr(0, dot);
  if (ptx::RowsOf(mnemonic).empty()) return "unknown instruction " + instruction;
  for (size_t at = dot; at < instruction.size();) {
    const size_t next = std::min(instruction.find('.', at + 1), instruction.size());
    const std::string word = instruction.substr(at + 1, next - at - 1);
    if (!word.empty() && !RowsTake(mnemonic, word)) return instruction + ": unknown ." + word;
    at = next;
  }
  return "";
}

// Instructions at the beginnings of statements in a literal. A text that begins with a known
// mnemonic and continues after a dot is one, too: a part that code completes.
std::vector<std::string> InstructionsIn(const std::string& literal) {
  static const std::regex kStatement(
      R"re((?:^|[;{}] *|@!?[%$\w]+ )([a-z][a-z0-9]*(?:\.[A-Za-z0-9_:]+)*)(?= [%$[{]|$|\.$))re");
  std::vector<std::string> found;
  for (std::sregex_iterator at(literal.begin(), literal.end(), kStatement), end; at != end; ++at) {
    const std::string text = (*at)[1];
    const bool known = !ptx::RowsOf(text.substr(0, text.find('.'))).empty();
    const bool operands = literal.find('$') != std::string::npos;
    if (operands || (known && text.find('.') != std::string::npos)) found.push_back(text);
  }
  return found;
}

TEST(EmulatorCoverage, KnowsInlineAssembly) {
  std::set<std::string> seen;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TestData("compiler/llvm"))) {
    if (!entry.is_regular_file()) continue;
    for (const std::string& literal : Literals(ReadTestFile(entry.path()))) {
      for (const std::string& instruction : InstructionsIn(literal)) {
        seen.insert(instruction);
        EXPECT_EQ(WrongWith(instruction), "")
            << entry.path().filename() << ": \"" << literal << "\"";
      }
    }
  }
  // The scan finds instructions.
  EXPECT_TRUE(seen.contains("cvt.rn.f16x2.e5m2x2"));
  EXPECT_TRUE(seen.contains("cp.async") || seen.contains("cp.async.cg"));
}

TEST(EmulatorCoverage, ScanFindsWhatIsUnknown) {
  EXPECT_EQ(InstructionsIn("{ frob.b32 $0, $1; @$2 cp.async.ca.shared.global [$0], 4; }"),
            (std::vector<std::string>{"frob.b32", "cp.async.ca.shared.global"}));
  EXPECT_EQ(WrongWith("frob.b32"), "unknown instruction frob.b32");
  EXPECT_EQ(WrongWith("cvt.rn.satfinite.e2m1x2.f32"),
            "cvt.rn.satfinite.e2m1x2.f32: unknown .e2m1x2");
  EXPECT_EQ(WrongWith("cvt.rn.satfinite.e4m3x2.f32"), "");
}

// ---- PTX of the backend ------------------------------------------------------------------------

void ExpectKnown(const std::string& ptx) {
  const SourceFile source("emitted.ptx", ptx);
  Diagnostics diagnostics;
  EXPECT_NE(ptx::ParseModule(source, &diagnostics), nullptr) << diagnostics.Render(source);
}

class EmulatorKnows : public testing::TestWithParam<TargetRow> {};

TEST_P(EmulatorKnows, ElementwiseOperations) {
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  for (const DTypeRow& type : AllDTypes()) {
    for (const InstRow* row : ElementwiseRows(type.type)) {
      // Without the long form, types take turns on the targets.
      const size_t turn = (DTypeIndex(type.type) + static_cast<size_t>(row->opcode)) % 9;
      if (!IsLong() && turn != static_cast<size_t>(GetParam().target)) continue;
      AddKernel(module, ElementwiseOperation(*row, type.type), GetParam().target);
    }
  }
  const auto ptx = EmitPtx(module, GetParam().target);
  ASSERT_TRUE(ptx.ok()) << ptx.error().message;
  ExpectKnown(*ptx);
}

void ExpectExampleKnown(const std::string& name, const std::vector<Binding>& constants,
                        Target target) {
  const SourceFile source(name, ReadTestFile(TestData("examples/" + name)));
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  ASSERT_TRUE(module) << diagnostics.Render(source);
  const auto valid = Validate(*std::move(module), diagnostics);
  ASSERT_TRUE(valid) << diagnostics.Render(source);
  for (const Kernel& kernel : valid->module().kernels) {
    const auto program =
        Specialise(*valid, valid->module().Name(kernel), constants, LimitsOf(target), diagnostics);
    ASSERT_TRUE(program) << diagnostics.Render(source);
    const auto compiled = Compile(*program, target);
    ASSERT_TRUE(compiled.ok()) << Render(compiled.error(), source);
    ExpectKnown(compiled->ptx);
  }
}

TEST_P(EmulatorKnows, Examples) {
  const Target target = GetParam().target;
  ExpectExampleKnown("softmax.tsa", {}, target);
  for (const std::string type : {"u4", "i3", "f6e3m2", "f8e4m3fn", "u8"}) {
    ExpectExampleKnown("matmul.tsa", {{"K", "128"}, {"N", "128"}, {"W", type}}, target);
  }
  ExpectExampleKnown("matmul.tsa", {{"K", "128"}, {"N", "128"}, {"W", "f8e5m2"}, {"X", "bf16"}},
                     target);
  ExpectExampleKnown("matmul_scaled.tsa", {{"K", "128"}, {"N", "128"}, {"G", "64"}, {"W", "u4"}},
                     target);
  ExpectExampleKnown("matmul_unpack.tsa", {{"K", "128"}, {"N", "128"}, {"W", "u4"}}, target);
}

INSTANTIATE_TEST_SUITE_P(Target, EmulatorKnows,
                         testing::ValuesIn(AllTargets().begin(), AllTargets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tarsia::compiler::emulator_coverage_test
