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
    // of a table of its own
    {BitOrder::kLanes, kI8, RecipeForm::kUnpack},
    {BitOrder::kLanes, kI8, RecipeForm::kCast},
    {BitOrder::kLanes, kF8E4M3FN, RecipeForm::kUnpack},
    {BitOrder::kLanes, kF8E4M3FN, RecipeForm::kCast},
};
constexpr size_t kSixteenBits = 8;  // columns of the first table

BitLayout LayoutOf(DType type, const Column& column) {
  const int64_t codes = column.order == BitOrder::kLanes ? 32 : 64;
  return column.order == BitOrder::kLanes ? *BitLayout::Lanes(type, codes, column.compute)
                                          : *BitLayout::Contiguous(type, codes);
}

bool Exists(DType type, const Column& column) {
  return CheckUnpack(type, column.compute).ok() &&
         HasRecipe(LayoutOf(type, column), column.compute, column.form);
}

// Codes per tile: the least whole number of tensor fragments and of periods.
int64_t CodesOf(const Column& column) { return column.order == BitOrder::kLanes ? 32 : 64; }

Recipe RecipeOf(DType type, const Column& column) {
  return *MakeRecipe(LayoutOf(type, column), column.compute, column.form);
}

bool IsMeasured(DType type, size_t column) {
  const Column& of = kColumns[column];
  return Exists(type, of) &&
         (IsLong() || of.compute.bits == 8 || (type.IsInteger() && of.order == BitOrder::kLanes));
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

using Cells = std::map<std::string, std::vector<std::string>>;

// Rows "| `u3` | .66 | .." of the table whose first line begins so: the name, then a cell a column.
Cells Documented(std::string_view first_line) {
  std::istringstream file(ReadTestFile(TestData("docs/dtypes.md")));
  Cells rows;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(first_line)) in_table = true;
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

// The columns from `first` to `end`; a type without any has no row.
void ExpectTable(Cells documented, size_t first, size_t end) {
  const std::map<std::string, double>& costs = Measure();
  for (const DTypeRow& row : AllDTypes()) {
    if (!LowPrecision(row.type)) continue;
    std::vector<std::string> cells = documented[std::string(row.name)];
    cells.resize(end - first);
    std::vector<std::string> wanted = cells;
    bool any = false;
    for (size_t column = first; column < end; ++column) {
      std::string& cell = wanted[column - first];
      const auto cost = costs.find(fmt::format("{}_{}", row.name, column));
      if (cost != costs.end()) cell = fmt::format("{:.2f}", cost->second);
      const bool exists = Exists(row.type, kColumns[column]);
      if (!exists) cell = "-";
      any = any || exists;
    }
    if (!any) wanted.assign(wanted.size(), "");
    EXPECT_EQ(cells, wanted) << fmt::format("| `{}` | {} |", row.name, fmt::join(wanted, " | "));
  }
}

TEST(RecipeCost, IsWhatTheTableSays) {
  if (const auto tool = FindTool(Tool::kPtxas); !tool.ok()) GTEST_SKIP() << tool.error().message;
  if (const auto tool = FindTool(Tool::kNvdisasm); !tool.ok()) GTEST_SKIP() << tool.error().message;
  ExpectTable(Documented("| type | lanes, f16"), 0, kSixteenBits);
  ExpectTable(Documented("| type | lanes, i8"), kSixteenBits, std::size(kColumns));
}

// Four codes of a word take a mask at least, whole bytes nothing; each other view of a word takes
// an instruction. In hundredths; the table's steps over 32 codes, since nothing but them remains.
TEST(RecipeCost, IsWithinItsFloorToEightBits) {
  if (const auto tool = FindTool(Tool::kPtxas); !tool.ok()) GTEST_SKIP() << tool.error().message;
  if (const auto tool = FindTool(Tool::kNvdisasm); !tool.ok()) GTEST_SKIP() << tool.error().message;
  constexpr int kSteps[] = {15, 14, 17, 12, 19, 18, 21, 8};
  const std::map<std::string, double>& costs = Measure();
  for (size_t width = 1; width <= 8; ++width) {
    const double floor = kSteps[width - 1] / 32.0;
    EXPECT_LE(costs.at(fmt::format("u{}_{}", width, kSixteenBits)), floor + 0.005) << width;
    if (width == 8) continue;
    EXPECT_LE(costs.at(fmt::format("i{}_{}", width, kSixteenBits)), floor + 0.005) << width;
    // The sign takes two more for four codes.
    EXPECT_LE(costs.at(fmt::format("i{}_{}", width, kSixteenBits + 1)), floor + 0.505) << width;
  }
  EXPECT_LE(costs.at(fmt::format("i8_{}", kSixteenBits + 1)), 0.005);
  EXPECT_LE(costs.at(fmt::format("f8e4m3fn_{}", kSixteenBits + 3)), 0.005);
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
