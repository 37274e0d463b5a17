#include "layout/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dtypes/arith.h"

namespace tarsia {
namespace {

constexpr std::string_view kOpNames[] = {"turn", "permute", "lop3", "add", "fma"};

uint32_t Permute(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> (i * 4) & 0xF;
    auto byte = static_cast<uint32_t>(bytes >> ((nibble & 7) * 8) & 0xFF);
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    out |= byte << (i * 8);
  }
  return out;
}

uint32_t Lop3(uint32_t a, uint32_t b, uint32_t c, uint8_t table) {
  uint32_t out = 0;
  for (uint32_t row = 0; row < 8; ++row) {
    if ((table >> row & 1) == 0) continue;
    out |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  return out;
}

template <typename T>
uint32_t FmaPairs(uint32_t a, uint32_t b, uint32_t c) {
  const auto lane = [](uint32_t x, int i) { return T{static_cast<uint16_t>(x >> (i * 16))}; };
  uint32_t out = 0;
  for (int i = 0; i < 2; ++i) {
    out |= uint32_t{arith::Fma(lane(a, i), lane(b, i), lane(c, i)).bits} << (i * 16);
  }
  return out;
}

uint32_t RunStep(const RecipeStep& step, DType compute, uint32_t a, uint32_t b, uint32_t c) {
  switch (step.op) {
    case RecipeOp::kTurn:
      return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> (c % 32));
    case RecipeOp::kPermute:
      return Permute(a, b, c);
    case RecipeOp::kLop3:
      return Lop3(a, b, c, step.table);
    case RecipeOp::kAdd:
      return a + b;
    case RecipeOp::kFma:
      return compute == kF16 ? FmaPairs<arith::F16>(a, b, c) : FmaPairs<arith::BF16>(a, b, c);
  }
  return 0;
}

std::string OperandText(const RecipeOperand& operand) {
  return operand.is_constant ? fmt::format("0x{:08X}", operand.value)
                             : fmt::format("r{}", operand.value);
}

}  // namespace

void RunRecipe(const Recipe& recipe, std::span<const uint32_t> words, std::span<uint16_t> values) {
  std::vector<uint32_t> registers(words.begin(), words.begin() + recipe.words);
  registers.reserve(recipe.words + recipe.steps.size());
  const auto read = [&](const RecipeOperand& operand) {
    return operand.is_constant ? operand.value : registers[operand.value];
  };
  for (const RecipeStep& step : recipe.steps) {
    registers.push_back(RunStep(step, recipe.compute, read(step.a), read(step.b), read(step.c)));
  }
  const size_t lanes = recipe.lanes();
  const auto mask = static_cast<uint16_t>(CodeMask(recipe.compute));
  for (size_t slot = 0; slot < values.size(); ++slot) {
    const uint32_t value = registers[recipe.values[slot / lanes]];
    values[slot] = static_cast<uint16_t>(value >> slot % lanes * recipe.compute.bits) & mask;
  }
}

std::string ToString(const Recipe& recipe) {
  std::string out;
  uint32_t result = recipe.words;
  for (const RecipeStep& step : recipe.steps) {
    out += fmt::format("r{} = {}({}, {}", result++, kOpNames[static_cast<size_t>(step.op)],
                       OperandText(step.a), OperandText(step.b));
    if (step.op != RecipeOp::kAdd) out += ", " + OperandText(step.c);
    if (step.op == RecipeOp::kLop3) out += fmt::format(", 0x{:02X}", step.table);
    out += ")\n";
  }
  return out;
}

}  // namespace tarsia
