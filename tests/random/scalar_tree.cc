#include "tests/random/scalar_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "tests/harness/codec.h"

namespace tarsia {
namespace {

using Wide = __int128;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t LowBits(Wide x) { return static_cast<int64_t>(static_cast<uint64_t>(x)); }

// To the nearest, ties to even, of a float type with so many bits of exponent and fraction.
uint64_t FloatCode(long double x, int exponent_bits, int fraction_bits) {
  const uint64_t sign = std::signbit(x) ? uint64_t{1} << (exponent_bits + fraction_bits) : 0;
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  if (std::isnan(x)) return infinity | uint64_t{1} << (fraction_bits - 1);
  if (std::isinf(x)) return sign | infinity;
  if (x == 0) return sign;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = std::max(std::ilogb(x), 1 - bias);
  // Counted in units of the last place.
  const auto units =
      static_cast<uint64_t>(std::nearbyint(std::ldexp(std::fabs(x), fraction_bits - exponent)));
  // A carry of the fraction goes into the exponent, as it should.
  const uint64_t code = (static_cast<uint64_t>(exponent + bias - 1) << fraction_bits) + units;
  return sign | std::min(code, infinity);
}

uint64_t FloatCodeOf(long double x, DType dtype) {
  if (dtype == kF16) return FloatCode(x, 5, 10);
  if (dtype == kBF16) return FloatCode(x, 8, 7);
  if (dtype == kF32) return FloatCode(x, 8, 23);
  return FloatCode(x, 11, 52);
}

// Toward zero, as far as the type goes; NaN is 0.
uint64_t SaturatedCode(double x, DType dtype) {
  const bool is_signed = dtype.IsSigned();
  const double end = std::ldexp(1.0, is_signed ? dtype.bits - 1 : dtype.bits);
  const uint64_t mask = dtype.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << dtype.bits) - 1;
  if (std::isnan(x)) return 0;
  if (x >= end) return is_signed ? mask >> 1 : mask;
  if (is_signed)
    return x < -end ? (mask >> 1) + 1 : static_cast<uint64_t>(static_cast<int64_t>(x)) & mask;
  return x < 0 ? 0 : static_cast<uint64_t>(x);
}

}  // namespace

uint64_t RoundTo(const ScalarNumber& number, DType dtype) {
  const bool is_float = number.type == ScalarType::kFloat;
  const int64_t whole = number.type == ScalarType::kBool ? (number.b ? 1 : 0) : number.i;
  if (dtype.IsBool()) return (is_float ? number.f != 0 : whole != 0) ? 1 : 0;
  if (!dtype.IsInteger()) {
    return FloatCodeOf(
        is_float ? static_cast<long double>(number.f) : static_cast<long double>(whole), dtype);
  }
  if (is_float) return SaturatedCode(number.f, dtype);
  const auto code = static_cast<uint64_t>(whole);
  return dtype.bits == 64 ? code : code & ((uint64_t{1} << dtype.bits) - 1);
}

ScalarNumber NumberOf(DType dtype, uint64_t code) {
  if (dtype.IsBool()) return ScalarNumber::Bool(code != 0);
  if (!dtype.IsInteger()) return ScalarNumber::Float(harness::Decode(dtype, code));
  const int up = 64 - dtype.bits;
  if (!dtype.IsSigned()) return ScalarNumber::Int(static_cast<int64_t>(code));
  return ScalarNumber::Int(static_cast<int64_t>(code << up) >> up);
}

// ---- values --------------------------------------------------------------------------------

namespace {

// Rounded up, down or toward zero by what the caller adds; b is not 0.
Wide Quotient(Wide a, Wide b) { return a / b; }

// The true result of an operation on integers, which may not fit 64 bits; nothing for a division
// by zero.
std::optional<Wide> Exact(const std::string& op, Wide a, Wide b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "min") return a < b ? a : b;
  if (op == "max") return a < b ? b : a;
  if (b == 0) return std::nullopt;
  if (op == "/") return Quotient(a, b);
  if (op == "%") return a - Quotient(a, b) * b;
  const Wide down = Quotient(a, b);
  const bool up = down * b != a && (a < 0) == (b < 0);
  return down + (up ? 1 : 0);
}

int64_t IntOperation(const std::string& op, int64_t a, int64_t b, bool* error) {
  const std::optional<Wide> exact = Exact(op, a, b);
  if (error != nullptr && (!exact || *exact < kLeast || *exact > kMost)) *error = true;
  if (!exact) return op == "%" ? a : -1;
  return LowBits(*exact);
}

double FloatOperation(const std::string& op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  return op == "/" ? a / b : std::fmod(a, b);
}

template <typename T>
bool Holds(const std::string& op, T a, T b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  return op == ">" ? a > b : a >= b;
}

double AsFloat(const ScalarNumber& x) {
  return x.type == ScalarType::kFloat ? x.f : static_cast<double>(x.i);
}

bool IsComparison(const std::string& op) {
  return op == "==" || op == "!=" || op[0] == '<' || op[0] == '>';
}

ScalarNumber UnaryValue(const ScalarTree& tree, bool* error) {
  const ScalarNumber x = ValueOf(tree.children[0], error);
  if (tree.name == "not") return ScalarNumber::Bool(!x.b);
  if (x.type == ScalarType::kFloat) return ScalarNumber::Float(-x.f);
  return ScalarNumber::Int(IntOperation("-", 0, x.i, error));
}

}  // namespace

ScalarNumber ValueOf(const ScalarTree& tree, bool* error) {
  if (tree.kind != ScalarTree::Kind::kOperation) return tree.number;
  if (tree.children.size() == 1) return UnaryValue(tree, error);
  const std::string& op = tree.name;
  const ScalarNumber a = ValueOf(tree.children[0], error);
  // What the left side settles is not asked of the right one.
  if (op == "and" && !a.b) return a;
  if (op == "or" && a.b) return a;
  const ScalarNumber b = ValueOf(tree.children[1], error);
  if (op == "and" || op == "or") return b;
  const bool is_float = a.type == ScalarType::kFloat || b.type == ScalarType::kFloat;
  if (a.type == ScalarType::kBool) return ScalarNumber::Bool(Holds(op, a.b, b.b));
  if (IsComparison(op)) {
    return ScalarNumber::Bool(is_float ? Holds(op, AsFloat(a), AsFloat(b)) : Holds(op, a.i, b.i));
  }
  if (is_float) return ScalarNumber::Float(FloatOperation(op, AsFloat(a), AsFloat(b)));
  return ScalarNumber::Int(IntOperation(op, a.i, b.i, error));
}

// ---- text ----------------------------------------------------------------------------------

namespace {

std::string IntText(int64_t x) {
  if (x == kLeast) return "(-9223372036854775807 - 1)";
  return x < 0 ? "(" + std::to_string(x) + ")" : std::to_string(x);
}

std::string FloatText(double x) {
  if (std::isnan(x)) return "nan";
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", std::fabs(x));
  std::string out = std::isinf(x) ? "inf" : text;
  if (out.find_first_of(".einf") == std::string::npos) out += ".0";
  return std::signbit(x) ? "(-" + out + ")" : out;
}

std::string NumberText(const ScalarNumber& number) {
  switch (number.type) {
    case ScalarType::kInt:
      return IntText(number.i);
    case ScalarType::kBool:
      return number.b ? "true" : "false";
    case ScalarType::kFloat:
      return FloatText(number.f);
  }
  return "";
}

}  // namespace

std::string TextOf(const ScalarTree& tree) {
  if (tree.kind == ScalarTree::Kind::kLiteral) return NumberText(tree.number);
  if (tree.kind == ScalarTree::Kind::kVariable) return "%" + tree.name;
  const std::string a = TextOf(tree.children[0]);
  if (tree.children.size() == 1) return "(" + tree.name + " " + a + ")";
  const std::string b = TextOf(tree.children[1]);
  const bool call = tree.name == "min" || tree.name == "max" || tree.name == "ceildiv";
  if (!call) return "(" + a + " " + tree.name + " " + b + ")";
  if (tree.keywords) return tree.name + "(b=" + b + ", a=" + a + ")";
  return tree.name + "(" + a + ", " + b + ")";
}

bool ReadsScalars(const ScalarTree& tree) {
  return tree.kind == ScalarTree::Kind::kVariable ||
         std::any_of(tree.children.begin(), tree.children.end(), ReadsScalars);
}

// ---- making --------------------------------------------------------------------------------

ScalarTree Literal(const ScalarNumber& number) {
  ScalarTree out;
  out.number = number;
  return out;
}

ScalarTree Operation(std::string name, std::vector<ScalarTree> children) {
  ScalarTree out;
  out.kind = ScalarTree::Kind::kOperation;
  out.name = std::move(name);
  out.children = std::move(children);
  return out;
}

int64_t TroublesomeInt(Rng& rng) {
  const int64_t near = rng.Between(-2, 2);
  switch (rng.Below(9)) {
    case 0:
      return LowBits(Wide{int64_t{1} << 31} + near);
    case 1:
      return LowBits(Wide{-(int64_t{1} << 31)} + near);
    case 2:
      return LowBits(Wide{int64_t{1} << 32} + near);
    case 3:
      return LowBits(Wide{kMost} + near);
    case 4:
      return LowBits(Wide{int64_t{1} << 62} + near);
    case 5:
      return static_cast<int64_t>(rng.Next());
    case 6:
      return rng.Between(-100, 100);
    default:
      return near;
  }
}

ScalarTree ScalarTreeWriter::Make(ScalarType type, int depth) {
  if (depth <= 0 || rng_.Chance(10)) return Leaf(type);
  switch (type) {
    case ScalarType::kInt:
      return IntTree(depth - 1);
    case ScalarType::kBool:
      return BoolTree(depth - 1);
    case ScalarType::kFloat:
      return FloatTree(depth - 1);
  }
  return Leaf(type);
}

ScalarTree ScalarTreeWriter::Leaf(ScalarType type) {
  std::vector<const ScalarVariable*> fitting;
  for (const ScalarVariable& variable : variables_) {
    if (variable.number.type == type) fitting.push_back(&variable);
  }
  if (!closed_ && !fitting.empty() && rng_.Chance(65)) {
    const ScalarVariable& variable = *rng_.Of(fitting);
    ScalarTree out;
    out.kind = ScalarTree::Kind::kVariable;
    out.name = variable.name;
    out.number = variable.number;
    return out;
  }
  switch (type) {
    case ScalarType::kInt:
      return Literal(ScalarNumber::Int(TroublesomeInt(rng_)));
    case ScalarType::kBool:
      return Literal(ScalarNumber::Bool(rng_.Chance(50)));
    case ScalarType::kFloat:
      break;
  }
  return Literal(ScalarNumber::Float(FloatLiteral()));
}

double ScalarTreeWriter::FloatLiteral() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return rng_.Of({0.0, -0.0, 0.5, 1.0, -1.5, 3.0, 0.1, 65519.0, 65520.0, 3e9, -1e19, 1e300, 5e-324,
                  kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()});
}

ScalarTree ScalarTreeWriter::IntTree(int depth) {
  if (rng_.Chance(8)) return Operation("-", {Make(ScalarType::kInt, depth)});
  const std::string op =
      rng_.Of<const char*>({"+", "-", "*", "/", "%", "/", "%", "ceildiv", "min", "max"});
  ScalarTree out = Operation(op, {Make(ScalarType::kInt, depth), Make(ScalarType::kInt, depth)});
  out.keywords = rng_.Chance(15);
  return out;
}

ScalarTree ScalarTreeWriter::Comparison(int depth) {
  const std::string op = rng_.Of<const char*>({"==", "!=", "<", "<=", ">", ">="});
  const auto number = [&] { return rng_.Chance(70) ? ScalarType::kInt : ScalarType::kFloat; };
  const ScalarType a = number(), b = number();
  return Operation(op, {Make(a, depth), Make(b, depth)});
}

ScalarTree ScalarTreeWriter::BoolTree(int depth) {
  if (rng_.Chance(50)) return Comparison(depth);
  if (rng_.Chance(25)) return Operation("not", {Make(ScalarType::kBool, depth)});
  const std::string op = rng_.Of<const char*>({"and", "or", "and", "or", "==", "!="});
  return Operation(op, {Make(ScalarType::kBool, depth), Make(ScalarType::kBool, depth)});
}

ScalarTree ScalarTreeWriter::FloatTree(int depth) {
  if (rng_.Chance(8)) return Operation("-", {Make(ScalarType::kFloat, depth)});
  const std::string op = rng_.Of<const char*>({"+", "-", "*", "/", "%"});
  const bool left = rng_.Chance(70);
  const bool right = !left || rng_.Chance(60);
  return Operation(op, {Make(left ? ScalarType::kFloat : ScalarType::kInt, depth),
                        Make(right ? ScalarType::kFloat : ScalarType::kInt, depth)});
}

}  // namespace tarsia
