// The cost of recipes in machine code, compared with the table of docs/dtypes.md: instructions per
// weight as the slope of a loop between two tiles and four, without its loads and its tensor
// instructions, of the pinned ptxas for sm_90a. All types and contiguous codes too with
// TARSIA_LONG=1; a row that differs is printed as it should be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/sass.h"
#include "compiler/assemble/tools.h"
#include "layout/recipe.h"
#include "tests/data/test_data.h"
#include "tests/settings.h"
#include "tests/unit/compiler/recipe_kernel.h"

namespace tarsia::compiler::recipe_cost_test {
namespace {

constexpr int kTiles[] = {2, 4};

// A column of the table, in its order.
struct Column {
  BitOrder order;
  DType compute;
  RecipeForm form;
};
constexpr Column kColumns[] = {
    {BitOrder::kLanes, kF16, RecipeForm::kUnpack},
    {BitOrder::kLanes, kF16, RecipeForm::kCast},
    {BitOrder::kLanes, kBF16, RecipeForm::kUnpack},
    {BitOrder::kLanes, kBF16, RecipeForm::kCast},
    {BitOrder::kContiguous, kF16, RecipeForm::kUnpack},
    {BitOrder::kContiguous, kF16, RecipeForm::kCast},
    {BitOrder::kContiguous, kBF16, RecipeForm::kUnpack},
    {BitOrder::kContiguous, kBF16, RecipeForm::kCast},
};
constexpr size_t kLaneColumns = 4;

bool Exists(DType type, const Column& column) {
  return !type.IsFloat() || type.exponent <= column.compute.exponent;
}

// Codes per tile: the least whole number of tensor fragments and of periods.
int64_t CodesOf(const Column& column) { return column.order == BitOrder::kLanes ? 32 : 64; }

Recipe RecipeOf(DType type, const Column& column) {
  const int64_t codes = CodesOf(column);
  const auto layout = column.order == BitOrder::kLanes
                          ? BitLayout::Lanes(type, codes, column.compute)
                          : BitLayout::Contiguous(type, codes);
  return *MakeRecipe(*layout, column.compute, column.form);
}

bool IsMeasured(DType type, size_t column) {
  return Exists(type, kColumns[column]) &&
         (IsLong() || (type.IsInteger() && column < kLaneColumns));
}

// A constant that ptxas loads into a register, in the loop or before it. Their number does not
// depend on the tiles.
bool IsConstantMove(const SassInstruction& instruction) {
  const bool from_zero = instruction.operands.find("RZ, RZ, ") != std::string::npos;
  bool moves = instruction.opcode.starts_with("MOV");
  for (const char* const opcode : {"IMAD.MOV", "IMAD.U32", "HFMA2"}) {
    moves = moves || (from_zero && instruction.opcode.starts_with(opcode));
  }
  const size_t last = instruction.operands.rfind(", ");
  return moves && last != std::string::npos && instruction.operands[last + 2] != 'R';
}

// Instructions of a loop that decode.
int64_t Decoding(const SassKernel& kernel) {
  int64_t count = 0;
  for (const SassInstruction& instruction : kernel.MainLoop()) {
    const bool aside = instruction.sass_class == SassClass::kTensor ||
                       instruction.sass_class == SassClass::kLoadGlobal ||
                       instruction.guard == "@!UPT" ||  // never runs: a gap between others
                       IsConstantMove(instruction);
    if (!aside) ++count;
  }
  return count;
}

std::string NameOf(std::string_view type, size_t column, int tiles) {
  return fmt::format("{}_{}_{}", type, column, tiles);
}

// Cost by "type_column".
std::map<std::string, double> MeasureAll() {
  std::string ptx = RecipeModuleHeader();
  for (const DTypeRow& row : AllDTypes()) {
    if (!LowPrecision(row.type)) continue;
    for (size_t column = 0; column < std::size(kColumns); ++column) {
      if (!IsMeasured(row.type, column)) continue;
      const Recipe recipe = RecipeOf(row.type, kColumns[column]);
      for (const int tiles : kTiles) {
        ptx += RecipeKernel(NameOf(row.name, column, tiles), recipe, tiles);
      }
    }
  }
  const auto assembled = Assemble(ptx, Target::kSm90a);
  EXPECT_TRUE(assembled.ok()) << assembled.error().message;
  if (!assembled.ok()) return {};
  const auto kernels = Disassemble(assembled->cubin);
  EXPECT_TRUE(kernels.ok()) << kernels.error().message;
  if (!kernels.ok()) return {};
  std::map<std::string, int64_t> counts;
  for (const SassKernel& kernel : *kernels) counts[kernel.name] = Decoding(kernel);
  std::map<std::string, double> costs;
  for (const DTypeRow& row : AllDTypes()) {
    for (size_t column = 0; column < std::size(kColumns); ++column) {
      const auto two = counts.find(NameOf(row.name, column, 2));
      const auto four = counts.find(NameOf(row.name, column, 4));
      if (two == counts.end() || four == counts.end()) continue;
      const auto weights = static_cast<double>(2 * CodesOf(kColumns[column]));
      costs[fmt::format("{}_{}", row.name, column)] =
          static_cast<double>(four->second - two->second) / weights;
    }
  }
  return costs;
}

const std::map<std::string, double>& Measure() {
  static const std::map<std::string, double> costs = MeasureAll();
  return costs;
}

// Rows "| `u3` | .66 | .." of the table: the name, then a cell a column.
std::map<std::string, std::vector<std::string>> Documented() {
  std::istringstream file(ReadTestFile(TestData("docs/dtypes.md")));
  std::map<std::string, std::vector<std::string>> rows;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| type | lanes")) in_table = true;
    if (line.empty()) in_table = false;
    if (!in_table || !line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::stringstream text(line.substr(2));
    for (std::string cell; std::getline(text, cell, '|');) {
      const size_t begin = cell.find_first_not_of(" `");
      if (begin == std::string::npos) continue;
      cells.push_back(cell.substr(begin, cell.find_last_not_of(" `") + 1 - begin));
    }
    rows[cells[0]] = {cells.begin() + 1, cells.end()};
  }
  return rows;
}

TEST(RecipeCost, IsWhatTheTableSays) {
  if (const auto tool = FindTool(Tool::kPtxas); !tool.ok()) GTEST_SKIP() << tool.error().message;
  if (const auto tool = FindTool(Tool::kNvdisasm); !tool.ok()) GTEST_SKIP() << tool.error().message;
  const std::map<std::string, double>& costs = Measure();
  auto documented = Documented();
  for (const DTypeRow& row : AllDTypes()) {
    if (!LowPrecision(row.type)) continue;
    std::vector<std::string> cells = documented[std::string(row.name)];
    cells.resize(std::size(kColumns));
    std::vector<std::string> wanted = cells;
    for (size_t column = 0; column < std::size(kColumns); ++column) {
      const auto cost = costs.find(fmt::format("{}_{}", row.name, column));
      if (cost != costs.end()) wanted[column] = fmt::format("{:.2f}", cost->second);
      if (!Exists(row.type, kColumns[column])) wanted[column] = "-";
    }
    EXPECT_EQ(cells, wanted) << fmt::format("| `{}` | {} |", row.name, fmt::join(wanted, " | "));
  }
}

// The limits of the cost of `unpack` to f16, in hundredths; the same for signed types, half more
// for `cast`.
TEST(RecipeCost, IsWithinItsBounds) {
  if (const auto tool = FindTool(Tool::kPtxas); !tool.ok()) GTEST_SKIP() << tool.error().message;
  if (const auto tool = FindTool(Tool::kNvdisasm); !tool.ok()) GTEST_SKIP() << tool.error().message;
  constexpr int kBounds[] = {53, 56, 72, 63, 94, 94, 109, 50};
  const std::map<std::string, double>& costs = Measure();
  for (int width = 1; width <= 8; ++width) {
    const double bound = kBounds[width - 1] / 100.0 + 0.005;  // as rounded
    for (const char sign : {'u', 'i'}) {
      const auto cost = [&](size_t column) {
        return costs.at(fmt::format("{}{}_{}", sign, width, column));
      };
      EXPECT_LE(cost(0), bound) << sign << width;
      EXPECT_LE(cost(1), bound + 0.5) << sign << width;
    }
  }
}

}  // namespace
}  // namespace tarsia::compiler::recipe_cost_test
