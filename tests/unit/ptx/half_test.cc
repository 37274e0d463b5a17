// f16 and bf16 arithmetic against exact values that the types' own library rounds.
#include <bit>
#include <cmath>

#include "dtypes/convert.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::half_test {
namespace {

struct Half {
  const char* name;
  DType type;
};
const Half kHalves[] = {{"f16", kF16}, {"bf16", kBF16}};

// NaN as PTX writes it.
uint64_t Rounded(DType type, double value) {
  return std::isnan(value) ? 0x7FFF : EncodeFromDouble(type, value, {});
}

std::vector<uint64_t> EdgesOf(DType type) {
  std::vector<uint64_t> codes = {0x0001, 0x8001, 0x03FF, 0x7BFF, 0xFBFF, 0x0400, 0x7F7F};
  for (const double value : std::initializer_list<double>{0.0, -0.0, 1.0, -1.0, 1.5, 1.0009765625,
                                                          1.0078125, 3.0, 2048.0, 0.001, 65504.0,
                                                          -0.33, 6e-8, INFINITY, -INFINITY, NAN}) {
    codes.push_back(EncodeFromDouble(type, value, {}));
  }
  return codes;
}

// One value and two at once.
void CheckHalf(Op op, const std::string& name, size_t operands,
               const std::function<uint64_t(DType, const std::vector<double>&)>& formula) {
  for (const Half& half : kHalves) {
    std::string list;
    for (size_t i = 0; i < operands; ++i) list += fmt::format(", s{}", i);
    const auto one = [&](const Tuple& s, int shift) {
      std::vector<double> values;
      for (const uint64_t word : s) {
        values.push_back(DecodeToDouble(half.type, word >> shift & 0xFFFF));
      }
      return formula(half.type, values);
    };
    std::vector<uint64_t> edges = EdgesOf(half.type);
    if (operands == 3) edges.resize(15);
    const auto inputs = Combine(operands, edges);
    CheckRow(op, fmt::format("{}.{} d{};", name, half.name, list), 16,
             std::vector<int>(operands, 16), inputs, [&](const Tuple& s) { return one(s, 0); });
    std::vector<Tuple> pairs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Tuple tuple = inputs[i];
      const Tuple& other = inputs[(i * 31 + 7) % inputs.size()];
      for (size_t k = 0; k < operands; ++k)
        tuple[k] = (tuple[k] & 0xFFFF) | (other[k] & 0xFFFF) << 16;
      pairs.push_back(std::move(tuple));
    }
    CheckRow(op, fmt::format("{}.{}x2 d{};", name, half.name, list), 32,
             std::vector<int>(operands, 32), pairs,
             [&](const Tuple& s) { return one(s, 0) | one(s, 16) << 16; });
  }
}

// x + y rounded to odd at 53 bits, so that no tie of a half is made or lost.
double OddSum(long double x, long double y) {
  const long double sum = x + y;
  const auto near = static_cast<double>(sum);
  if (!std::isfinite(near)) return near;
  const long double part = sum - x;
  const long double error = (sum - near) + ((x - (sum - part)) + (y - part));
  if (error == 0 || (std::bit_cast<uint64_t>(near) & 1) != 0) return near;
  return std::nextafter(near, error > 0 ? INFINITY : -INFINITY);
}

TEST(Half, Adds) {
  CheckHalf(Op::kAddHalf, "add", 2, [](DType type, const std::vector<double>& v) {
    return Rounded(type, OddSum(v[0], v[1]));
  });
  CheckHalf(Op::kSubHalf, "sub", 2, [](DType type, const std::vector<double>& v) {
    return Rounded(type, OddSum(v[0], -v[1]));
  });
}

TEST(Half, Multiplies) {
  CheckHalf(Op::kMulHalf, "mul", 2,
            [](DType type, const std::vector<double>& v) { return Rounded(type, v[0] * v[1]); });
  CheckHalf(Op::kFmaHalf, "fma.rn", 3, [](DType type, const std::vector<double>& v) {
    return Rounded(type, OddSum(static_cast<long double>(v[0]) * v[1], v[2]));
  });
  CheckHalf(Op::kFmaHalf, "fma.rn.relu", 3, [](DType type, const std::vector<double>& v) {
    const uint64_t code = Rounded(type, OddSum(static_cast<long double>(v[0]) * v[1], v[2]));
    return (code & 0x8000) != 0 ? 0 : code;
  });
}

TEST(Half, FlushesF16) {
  const auto flushed = [](uint64_t code) { return (code & 0x7C00) == 0 ? code & 0x8000 : code; };
  CheckRow(Op::kAddHalf, "add.ftz.f16 d, s0, s1;", 16, {16, 16},
           {{1, 0x0400}, {0x0400, 0x8401}, {0x83FF, 0x8000}, {0x3C00, 0x3C00}},
           [&](const Tuple& s) {
             const double sum =
                 DecodeToDouble(kF16, flushed(s[0])) + DecodeToDouble(kF16, flushed(s[1]));
             return flushed(Rounded(kF16, sum));
           });
}

TEST(Half, TakesExtremesAndSigns) {
  for (const bool less : {true, false}) {
    for (const bool nan : {true, false}) {
      CheckHalf(less ? Op::kMinHalf : Op::kMaxHalf,
                std::string(less ? "min" : "max") + (nan ? ".NaN" : ""), 2,
                [=](DType type, const std::vector<double>& v) -> uint64_t {
                  const bool nan_a = std::isnan(v[0]);
                  const bool nan_b = std::isnan(v[1]);
                  if ((nan_a && nan_b) || (nan && (nan_a || nan_b))) return 0x7FFF;
                  if (nan_a || nan_b) return Rounded(type, nan_a ? v[1] : v[0]);
                  if (v[0] == 0 && v[1] == 0) {
                    return Rounded(type, std::signbit(v[0]) == less ? v[0] : v[1]);
                  }
                  return Rounded(type, (v[0] < v[1]) == less ? v[0] : v[1]);
                });
    }
  }
  for (const Half& half : kHalves) {
    CheckRow(Op::kAbsHalf, fmt::format("abs.{} d, s0;", half.name), 16, {16},
             Combine(1, EdgesOf(half.type)), [](const Tuple& s) { return s[0] & 0x7FFF; });
    CheckRow(Op::kNegHalf, fmt::format("neg.{}x2 d, s0;", half.name), 32, {32},
             Combine(1, EdgeIntegers()), [](const Tuple& s) { return s[0] ^ 0x80008000; });
  }
}

// ex2 of bf16 takes subnormals for zeros, which for it is the same.
TEST(Half, Approximates) {
  const auto check = [](Op op, const std::string& name, const Half& half,
                        double (*formula)(double)) {
    CheckRow(op, fmt::format("{}.{} d, s0;", name, half.name), 16, {16},
             Combine(1, EdgesOf(half.type)), [=](const Tuple& s) {
               return Rounded(half.type, formula(DecodeToDouble(half.type, s[0])));
             });
    CheckRow(op, fmt::format("{}.{}x2 d, s0;", name, half.name), 32, {32},
             {{0x3F803C00}, {0x80000001}, {0xC0004900}}, [=](const Tuple& s) {
               const auto part = [&](uint64_t bits) {
                 return Rounded(half.type, formula(DecodeToDouble(half.type, bits & 0xFFFF)));
               };
               return part(s[0]) | part(s[0] >> 16) << 16;
             });
  };
  const auto exp2 = [](double x) { return std::exp2(x); };
  for (const Half& half : kHalves) {
    check(Op::kTanhHalf, "tanh.approx", half, [](double x) { return std::tanh(x); });
    check(Op::kEx2Half, half.type == kF16 ? "ex2.approx" : "ex2.approx.ftz", half, exp2);
  }
}

}  // namespace
}  // namespace tarsia::ptx::half_test
