#include "tools/dtype_card.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "dtypes/convert.h"
#include "layout/recipe.h"

namespace tarsia::tools {
namespace {

// 2^n of a power of two.
std::optional<int> PowerOfTwo(double value) {
  int exponent = 0;
  if (std::frexp(value, &exponent) != 0.5) return std::nullopt;
  return exponent - 1;
}

// The value of a code: an exact decimal if that is short, and as a power of two if it is one.
std::string Number(DType type, uint64_t code) {
  constexpr size_t kLong = 24;
  const auto power = PowerOfTwo(DecodeToDouble(type, code));
  const std::string decimal = DecodeToString(type, code);
  // f32 and f64 print the shortest decimal that reads back, which may not be the exact number.
  const bool exact = type.bits <= 16 && decimal.size() <= kLong;
  if (!power) return decimal;
  if (*power >= 0 && *power < 10) return decimal;
  return exact ? fmt::format("2^{} = {}", *power, decimal) : fmt::format("2^{}", *power);
}

// From the least to the largest finite number of a float, as a formula if decimals are long.
std::string RangeText(DType type) {
  constexpr size_t kLong = 12;
  const uint64_t code = MaxFiniteCode(type);
  const std::string most = DecodeToString(type, code);
  if (type.bits <= 16 && most.size() <= kLong) return fmt::format("-{0} to {0}", most);
  if (const auto power = PowerOfTwo(DecodeToDouble(type, code)))
    return fmt::format("+-2^{}", *power);
  const int exponent = std::ilogb(DecodeToDouble(type, code));
  return fmt::format("+-(2 - 2^-{}) x 2^{}", type.mantissa, exponent);
}

std::string Hex(DType type, uint64_t code) {
  return fmt::format("0x{:0{}X}", code, (type.bits + 3) / 4);
}

// Bits of a code below its fields: those of a tf32 that are always zero.
int UnusedBits(DType type) { return type.bits - 1 - type.exponent - type.mantissa; }

uint64_t FloatCode(DType type, uint64_t field, uint64_t fraction) {
  return (field << type.mantissa | fraction) << UnusedBits(type);
}

// The highest bit of a code.
uint64_t SignBit(DType type) { return CodeMask(type) ^ (CodeMask(type) >> 1); }

std::string SignMask(DType type, uint64_t code) { return Hex(type, code | SignBit(type)); }

std::string NanText(DType type) {
  const uint64_t top = (uint64_t{1} << type.exponent) - 1;
  const uint64_t all = (uint64_t{1} << type.mantissa) - 1;
  switch (type.specials) {
    case Specials::kNone:
    case Specials::kFinite:
      return "none";
    case Specials::kIeee: {
      const uint64_t first = FloatCode(type, top, 1), last = FloatCode(type, top, all);
      return fmt::format("{} to {}, {} to {}", Hex(type, first), Hex(type, last),
                         SignMask(type, first), SignMask(type, last));
    }
    case Specials::kFn: {
      const uint64_t code = FloatCode(type, top, all);
      return fmt::format("{}, {}", Hex(type, code), SignMask(type, code));
    }
    case Specials::kFnuz:
      return SignMask(type, 0);
  }
  return "none";
}

std::string InfinityText(DType type) {
  if (!type.HasInfinity()) return "none";
  const uint64_t code = FloatCode(type, (uint64_t{1} << type.exponent) - 1, 0);
  return fmt::format("{}, {}", Hex(type, code), SignMask(type, code));
}

std::string SubnormalText(DType type) {
  const uint64_t count = (uint64_t{1} << type.mantissa) - 1;
  if (count == 0) return "none";
  return fmt::format("{} of each sign, in steps of {}", count, Number(type, FloatCode(type, 0, 1)));
}

// The number of finite codes of a type of at most 16 bits.
std::string FiniteText(DType type) {
  uint64_t finite = 0;
  for (uint64_t code = 0; code <= CodeMask(type); ++code) {
    if (std::isfinite(DecodeToDouble(type, code))) ++finite;
  }
  return fmt::format("{} of {} codes", finite, CodeMask(type) + 1);
}

void AddFloat(DType type, std::vector<Fact>& facts) {
  std::string layout = fmt::format("sign, {} exponent, {} mantissa; bias {}", type.exponent,
                                   type.mantissa, type.bias);
  if (UnusedBits(type) > 0) layout += fmt::format("; {} unused", UnusedBits(type));
  facts.push_back({"layout", layout});
  facts.push_back({"range", RangeText(type)});
  facts.push_back({"smallest normal", Number(type, FloatCode(type, 1, 0))});
  facts.push_back({"subnormals", SubnormalText(type)});
  facts.push_back({"epsilon", type.mantissa > 0 ? fmt::format("2^-{}", type.mantissa) : "1"});
  facts.push_back({"zeros", type.specials == Specials::kFnuz ? "+0" : "+0 and -0"});
  facts.push_back({"infinities", InfinityText(type)});
  facts.push_back({"nan", NanText(type)});
  if (type.bits <= 16) facts.push_back({"finite numbers", FiniteText(type)});
}

void AddInteger(DType type, std::vector<Fact>& facts) {
  const uint64_t sign = SignBit(type);
  const uint64_t most = type.IsSigned() ? sign - 1 : CodeMask(type);
  const std::string least = type.IsSigned() ? DecodeToString(type, sign) : "0";
  facts.push_back({"range", fmt::format("{} to {}", least, DecodeToString(type, most))});
}

// Of the recipe for lanes.
size_t StepsOf(const BitLayout& bits, RecipeForm form) {
  const Result<Recipe> recipe = MakeRecipe(bits, bits.compute(), form);
  return recipe.ok() ? recipe->steps.size() : 0;
}

// The cost of converting packed codes to values for tensor cores.
void AddRecipes(DType type, std::vector<Fact>& facts) {
  constexpr int64_t kCodes = 32;  // the least count of `lanes`
  constexpr std::pair<DType, std::string_view> kLanes[] = {{kF16, "lanes, f16"},
                                                           {kBF16, "lanes, bf16"},
                                                           {kI8, "lanes, i8"},
                                                           {kF8E4M3FN, "lanes, f8e4m3fn"}};
  for (const auto& [compute, name] : kLanes) {
    if (!CheckUnpack(type, compute).ok()) continue;
    const BitLayout bits = *BitLayout::Lanes(type, kCodes, compute);
    std::string text =
        fmt::format("{} instructions unpack {} codes", StepsOf(bits, RecipeForm::kUnpack), kCodes);
    if (HasRecipe(bits, compute, RecipeForm::kCast)) {
      text += fmt::format(", {} cast them", StepsOf(bits, RecipeForm::kCast));
    }
    facts.push_back({name, text});
  }
}

}  // namespace

std::vector<Fact> FactsOf(DType type) {
  std::vector<Fact> facts = {{"bits", std::to_string(type.bits)}};
  switch (type.kind) {
    case DTypeKind::kUnsigned:
    case DTypeKind::kSigned:
      AddInteger(type, facts);
      break;
    case DTypeKind::kBool:
      facts.push_back({"values", "0 (false) and 1 (true); any other code is read as true"});
      break;
    case DTypeKind::kFloat:
      AddFloat(type, facts);
      break;
    case DTypeKind::kExponent:
      facts.push_back({"layout", "8 exponent; bias 127"});
      facts.push_back(
          {"range", fmt::format("{} to {}", Number(type, 0), Number(type, MaxFiniteCode(type)))});
      facts.push_back({"zeros", "none"});
      facts.push_back({"nan", "0xFF"});
      break;
    case DTypeKind::kComplex:
      facts.push_back({"parts", fmt::format("two {0}: real in the low {1} bits, imaginary above",
                                            DTypeName(ComponentOf(type)), type.bits / 2)});
      break;
  }
  if (type.bits <= 8 && (type.IsInteger() || type.IsFloat())) AddRecipes(type, facts);
  facts.push_back({"in bytecode", std::to_string(DTypeCode(type))});
  return facts;
}

}  // namespace tarsia::tools
