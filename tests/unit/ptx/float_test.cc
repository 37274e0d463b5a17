// f32 and f64 against the host's own arithmetic in every rounding mode (this file is compiled with
// -frounding-math).
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::float_test {
namespace {

struct Mode {
  const char* name;
  int host;
};
constexpr Mode kModes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <typename T>
T FloatOf(uint64_t bits) {
  return std::bit_cast<T>(static_cast<BitsOf<T>>(bits));
}

uint64_t CodeOf(float value) {
  return std::isnan(value) ? 0x7FFFFFFF : std::bit_cast<uint32_t>(value);
}
uint64_t CodeOf(double value) {
  return std::isnan(value) ? 0x7FF8000000000000 : std::bit_cast<uint64_t>(value);
}

// Values where rounding, overflow, underflow and signs of zero matter.
template <typename T>
std::vector<uint64_t> Edges() {
  using L = std::numeric_limits<T>;
  std::vector<uint64_t> bits;
  for (const T value : std::initializer_list<T>{
           T{0}, T{1}, T{1} + L::epsilon(), T{3}, T{1} / T{3}, L::epsilon() / 2, L::max(), L::min(),
           L::denorm_min(), L::min() - L::denorm_min(), static_cast<T>(0.75) * L::min(),
           L::infinity(), L::quiet_NaN(), static_cast<T>(1.5), static_cast<T>(16777215),
           static_cast<T>(1e-20)}) {
    bits.push_back(std::bit_cast<BitsOf<T>>(value));
    bits.push_back(std::bit_cast<BitsOf<T>>(T{-value}));
  }
  return bits;
}

// NaN operands of f64 go through with a payload of their own; those tests leave them out.
template <typename T>
std::vector<Tuple> Inputs(size_t operands) {
  std::vector<uint64_t> edges = Edges<T>();
  if (operands == 3) edges.resize(22);
  std::vector<Tuple> all = Combine(operands, edges);
  if (sizeof(T) == 4) return all;
  std::erase_if(all, [](const Tuple& tuple) {
    for (const uint64_t word : tuple) {
      if (std::isnan(std::bit_cast<double>(word))) return true;
    }
    return false;
  });
  return all;
}

// Runs F in a rounding mode of the host.
template <typename F>
auto InMode(int host, const F& f) {
  const int before = std::fegetround();
  std::fesetround(host);
  volatile auto value = f();
  std::fesetround(before);
  return value;
}

template <typename T>
void CheckRounded(Op op, const std::string& name, size_t operands, T (*formula)(T, T, T)) {
  const int width = sizeof(T) * 8;
  const std::vector<Tuple> inputs = Inputs<T>(operands);
  for (const Mode& mode : kModes) {
    std::string text = fmt::format("{}.{}.f{} d", name, mode.name, width);
    for (size_t i = 0; i < operands; ++i) text += fmt::format(", s{}", i);
    CheckRow(op, text + ";", width, std::vector<int>(operands, width), inputs, [&](const Tuple& s) {
      const auto read = [&](size_t i) { return i < operands ? FloatOf<T>(s[i]) : T{0}; };
      const T a = read(0);
      const T b = read(1);
      const T c = read(2);
      return CodeOf(InMode(mode.host, [&] { return formula(a, b, c); }));
    });
  }
}

template <typename T>
T AddOf(T a, T b, T) {
  const volatile T x = a;
  const volatile T y = b;
  return x + y;
}
template <typename T>
T SubOf(T a, T b, T) {
  const volatile T x = a;
  const volatile T y = b;
  return x - y;
}
template <typename T>
T MulOf(T a, T b, T) {
  const volatile T x = a;
  const volatile T y = b;
  return x * y;
}
template <typename T>
T DivOf(T a, T b, T) {
  const volatile T x = a;
  const volatile T y = b;
  return x / y;
}
template <typename T>
T FmaOf(T a, T b, T c) {
  const volatile T x = a;
  const volatile T y = b;
  const volatile T z = c;
  return std::fma(x, y, z);
}
template <typename T>
T RcpOf(T a, T, T) {
  const volatile T x = a;
  return 1 / x;
}
template <typename T>
T SqrtOf(T a, T, T) {
  const volatile T x = a;
  return std::sqrt(x);
}

TEST(F32, RoundsInEveryMode) {
  CheckRounded<float>(Op::kAddF32, "add", 2, &AddOf<float>);
  CheckRounded<float>(Op::kSubF32, "sub", 2, &SubOf<float>);
  CheckRounded<float>(Op::kMulF32, "mul", 2, &MulOf<float>);
  CheckRounded<float>(Op::kDivF32, "div", 2, &DivOf<float>);
  CheckRounded<float>(Op::kFmaF32, "fma", 3, &FmaOf<float>);
  CheckRounded<float>(Op::kMadF32, "mad", 3, &FmaOf<float>);
  CheckRounded<float>(Op::kRcpF32, "rcp", 1, &RcpOf<float>);
  CheckRounded<float>(Op::kSqrtF32, "sqrt", 1, &SqrtOf<float>);
}

TEST(F64, RoundsInEveryMode) {
  CheckRounded<double>(Op::kAddF64, "add", 2, &AddOf<double>);
  CheckRounded<double>(Op::kSubF64, "sub", 2, &SubOf<double>);
  CheckRounded<double>(Op::kMulF64, "mul", 2, &MulOf<double>);
  CheckRounded<double>(Op::kDivF64, "div", 2, &DivOf<double>);
  CheckRounded<double>(Op::kFmaF64, "fma", 3, &FmaOf<double>);
  CheckRounded<double>(Op::kMadF64, "mad", 3, &FmaOf<double>);
  CheckRounded<double>(Op::kRcpF64, "rcp", 1, &RcpOf<double>);
  CheckRounded<double>(Op::kSqrtF64, "sqrt", 1, &SqrtOf<double>);
}

float Flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}
float Saturated(float value) { return std::isnan(value) || value <= 0 ? 0 : value < 1 ? value : 1; }

TEST(F32, FlushesAndSaturates) {
  const auto inputs = Inputs<float>(2);
  CheckRow(Op::kAddF32, "add.ftz.f32 d, s0, s1;", 32, {32, 32}, inputs, [](const Tuple& s) {
    return CodeOf(Flushed(Flushed(FloatOf<float>(s[0])) + Flushed(FloatOf<float>(s[1]))));
  });
  CheckRow(Op::kMulF32, "mul.rn.ftz.sat.f32 d, s0, s1;", 32, {32, 32}, inputs, [](const Tuple& s) {
    return CodeOf(
        Saturated(Flushed(Flushed(FloatOf<float>(s[0])) * Flushed(FloatOf<float>(s[1])))));
  });
  CheckRow(Op::kSubF32, "sub.sat.f32 d, s0, s1;", 32, {32, 32}, inputs, [](const Tuple& s) {
    return CodeOf(Saturated(FloatOf<float>(s[0]) - FloatOf<float>(s[1])));
  });
}

template <typename T>
uint64_t ExtremeOf(T a, T b, bool less, bool nan) {
  const uint64_t quiet = sizeof(T) == 4 ? 0x7FFFFFFF : 0x7FF8000000000000;
  if (std::isnan(a) && std::isnan(b)) return quiet;
  if (std::isnan(a) || std::isnan(b)) {
    return nan ? quiet : std::bit_cast<BitsOf<T>>(std::isnan(a) ? b : a);
  }
  if (a == 0 && b == 0) return std::bit_cast<BitsOf<T>>(std::signbit(a) == less ? a : b);
  return std::bit_cast<BitsOf<T>>((a < b) == less ? a : b);
}

// Two at a time: a NaN gives way to a number, or spoils all.
TEST(F32, TakesExtremesOfThree) {
  const auto inputs = Inputs<float>(3);
  for (const bool less : {true, false}) {
    const Op op = less ? Op::kMinThreeF32 : Op::kMaxThreeF32;
    const std::string name = less ? "min" : "max";
    const auto check = [&](const std::string& words, bool nan, float (*read)(float)) {
      CheckRow(
          op, name + words + ".f32 d, s0, s1, s2;", 32, {32, 32, 32}, inputs,
          [=](const Tuple& s) {
            const auto source = [&](int n) { return read(FloatOf<float>(s[n])); };
            const uint64_t two = ExtremeOf(source(0), source(1), less, nan);
            return ExtremeOf(FloatOf<float>(two), source(2), less, nan);
          },
          kNewHeader);
    };
    check("", false, [](float a) { return a; });
    check(".NaN", true, [](float a) { return a; });
    check(".ftz", false, &Flushed);
    check(".abs", false, [](float a) { return std::fabs(a); });
    check(".ftz.NaN.abs", true, [](float a) { return std::fabs(Flushed(a)); });
  }
}

// What a half of 16 bits stands for, by its definition.
float HalfOf(uint64_t code, bool f16) {
  if (!f16) return FloatOf<float>(code << 16);
  const int exponent = static_cast<int>(code >> 10 & 31);
  const auto fraction = static_cast<float>(code & 1023);
  float value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return (code & 0x8000) != 0 ? -value : value;
}

// Halves come first and are widened, which is exact; one rounding follows.
TEST(F32, AddsHalves) {
  std::vector<Tuple> inputs;
  for (const Tuple& tuple : Inputs<float>(3)) {
    inputs.push_back({tuple[0] >> 16, tuple[1] >> 13, tuple[2]});
  }
  struct Form {
    Op op;
    const char* name;
    const char* sources;
    float (*of)(float, float, float);
  };
  const Form forms[] = {
      {Op::kAddMixed, "add", " d, s0, s2;", [](float a, float, float c) { return a + c; }},
      {Op::kSubMixed, "sub", " d, s0, s2;", [](float a, float, float c) { return a - c; }},
      {Op::kFmaMixed, "fma", " d, s0, s1, s2;",
       [](float a, float b, float c) { return std::fma(a, b, c); }}};
  for (const Form& form : forms) {
    for (const Mode& mode : kModes) {
      for (const bool sat : {false, true}) {
        for (const bool f16 : {false, true}) {
          const std::string words =
              std::string(".") + mode.name + (sat ? ".sat" : "") + ".f32." + (f16 ? "f16" : "bf16");
          CheckRow(
              form.op, form.name + words + form.sources, 32, {16, 16, 32}, inputs,
              [&](const Tuple& s) {
                const float a = HalfOf(s[0], f16);
                const float b = HalfOf(s[1], f16);
                std::fesetround(mode.host);
                const float value = form.of(a, b, FloatOf<float>(s[2]));
                std::fesetround(FE_TONEAREST);
                return CodeOf(sat ? Saturated(value) : value);
              },
              kNewHeader);
        }
      }
    }
  }
  EXPECT_NE(ErrorsOf(std::string(kNewHeader) + ".entry k() { .reg .b32 a; min.f32 a, a, a, a, a; }")
                .find("another number of operands"),
            std::string::npos);
}

TEST(F32, TakesExtremes) {
  const auto inputs = Inputs<float>(2);
  for (const bool less : {true, false}) {
    const Op op = less ? Op::kMinF32 : Op::kMaxF32;
    const std::string name = less ? "min" : "max";
    for (const bool nan : {false, true}) {
      CheckRow(op, name + (nan ? ".NaN" : "") + ".f32 d, s0, s1;", 32, {32, 32}, inputs,
               [=](const Tuple& s) {
                 return ExtremeOf(FloatOf<float>(s[0]), FloatOf<float>(s[1]), less, nan);
               });
    }
    CheckRow(op, name + ".ftz.f32 d, s0, s1;", 32, {32, 32}, inputs, [=](const Tuple& s) {
      return ExtremeOf(Flushed(FloatOf<float>(s[0])), Flushed(FloatOf<float>(s[1])), less, false);
    });
    CheckRow(op, name + ".xorsign.abs.f32 d, s0, s1;", 32, {32, 32}, inputs, [=](const Tuple& s) {
      const uint64_t bits =
          ExtremeOf(std::abs(FloatOf<float>(s[0])), std::abs(FloatOf<float>(s[1])), less, false);
      const uint64_t sign = (s[0] ^ s[1]) & 0x80000000;
      return bits == 0x7FFFFFFF ? bits : bits | sign;
    });
  }
}

TEST(F64, TakesExtremesAndSigns) {
  for (const bool less : {true, false}) {
    CheckRow(less ? Op::kMinF64 : Op::kMaxF64,
             fmt::format("{}.f64 d, s0, s1;", less ? "min" : "max"), 64, {64, 64},
             Inputs<double>(2), [=](const Tuple& s) {
               return ExtremeOf(FloatOf<double>(s[0]), FloatOf<double>(s[1]), less, false);
             });
  }
  const auto one = Inputs<double>(1);
  CheckRow(Op::kAbsF64, "abs.f64 d, s0;", 64, {64}, one,
           [](const Tuple& s) { return s[0] << 1 >> 1; });
  CheckRow(Op::kNegF64, "neg.f64 d, s0;", 64, {64}, one,
           [](const Tuple& s) { return s[0] + 0x8000000000000000; });
  CheckRow(Op::kCopysignF64, "copysign.f64 d, s0, s1;", 64, {64, 64}, Inputs<double>(2),
           [](const Tuple& s) { return (s[0] >> 63 << 63) | (s[1] << 1 >> 1); });
  CheckRow(Op::kRcpApproxF64, "rcp.approx.ftz.f64 d, s0;", 64, {64},
           {{0x4008000000000000}, {0x4000000000000000}}, [](const Tuple& s) {
             return std::bit_cast<uint64_t>(1 / std::bit_cast<double>(s[0])) >> 32 << 32;
           });
  CheckRow(Op::kRsqrtF64, "rsqrt.approx.f64 d, s0;", 64, {64}, {{0x4010000000000000}},
           [](const Tuple&) { return std::bit_cast<uint64_t>(0.5); });
}

TEST(F32, TakesSigns) {
  const auto one = Inputs<float>(1);
  CheckRow(Op::kAbsF32, "abs.f32 d, s0;", 32, {32}, one,
           [](const Tuple& s) { return s[0] & 0x7FFFFFFF; });
  CheckRow(Op::kNegF32, "neg.f32 d, s0;", 32, {32}, one,
           [](const Tuple& s) { return s[0] ^ 0x80000000; });
  CheckRow(Op::kNegF32, "neg.ftz.f32 d, s0;", 32, {32}, {{0x80000001}, {0x00000001}},
           [](const Tuple& s) { return s[0] == 1 ? 0x80000000 : 0; });
  CheckRow(Op::kCopysignF32, "copysign.f32 d, s0, s1;", 32, {32, 32}, Inputs<float>(2),
           [](const Tuple& s) { return (s[0] >> 31 << 31) | (s[1] & 0x7FFFFFFF); });
}

// Approximations: within one unit in the last place of the function in long double, and the values
// that PTX names.
void CheckApproximation(Op op, const std::string& name, long double (*formula)(long double),
                        const std::vector<float>& values) {
  std::vector<Tuple> inputs;
  for (const float value : values) inputs.push_back({std::bit_cast<uint32_t>(value)});
  const auto results = RunRow(op, name + ".approx.f32 d, s0;", 32, {32}, inputs);
  ASSERT_EQ(results.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const long double expected = formula(values[i]);
    const auto result = static_cast<long double>(FloatOf<float>(results[i]));
    const auto near = static_cast<float>(expected);
    if (std::isnan(near)) {
      EXPECT_EQ(results[i], 0x7FFFFFFFU) << name << " of " << values[i];
    } else if (std::isinf(near)) {
      EXPECT_EQ(FloatOf<float>(results[i]), near) << name << " of " << values[i];
    } else {
      const float ulp = std::nextafter(std::abs(near), INFINITY) - std::abs(near);
      EXPECT_LE(std::abs(result - expected), ulp) << name << " of " << values[i];
    }
  }
  Covers(op);
}

TEST(F32, Approximates) {
  const std::vector<float> values = {0.0F,  -0.0F, 1.0F,   -1.0F,   0.3F,   2.0F,     3.7F,
                                     -5.2F, 10.0F, 100.0F, 1e-30F,  1e30F,  INFINITY, -INFINITY,
                                     NAN,   0.5F,  -0.1F,  -140.0F, 1e-42F, 127.5F};
  CheckApproximation(Op::kEx2F32, "ex2", [](long double x) { return std::exp2(x); }, values);
  CheckApproximation(Op::kLg2F32, "lg2", [](long double x) { return std::log2(x); }, values);
  CheckApproximation(Op::kSinF32, "sin", [](long double x) { return std::sin(x); }, values);
  CheckApproximation(Op::kCosF32, "cos", [](long double x) { return std::cos(x); }, values);
  CheckApproximation(Op::kTanhF32, "tanh", [](long double x) { return std::tanh(x); }, values);
  CheckApproximation(
      Op::kRsqrtF32, "rsqrt", [](long double x) { return 1 / std::sqrt(x); }, values);
  CheckApproximation(Op::kRcpF32, "rcp", [](long double x) { return 1 / x; }, values);
  CheckApproximation(Op::kSqrtF32, "sqrt", [](long double x) { return std::sqrt(x); }, values);
  CheckRow(Op::kEx2F32, "ex2.approx.ftz.f32 d, s0;", 32, {32}, {{std::bit_cast<uint32_t>(-140.0F)}},
           [](const Tuple&) { return 0; });
}

TEST(F32, DividesApproximately) {
  const auto bits = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
  const auto check = [&](const std::string& kind, float a, float b, float expected) {
    const Op op = kind.starts_with("full") ? Op::kDivFull : Op::kDivApprox;
    CheckRow(op, "div." + kind + ".f32 d, s0, s1;", 32, {32, 32}, {{bits(a), bits(b)}},
             [&](const Tuple&) { return CodeOf(expected); });
  };
  check("full", 1.0F, 3.0F, 1.0F / 3.0F);
  check("full", 1.0F, 0x1p127F, 0x1p-127F);
  check("full.ftz", 1.0F, 0x1p127F, 0.0F);
  check("approx", 6.0F, 3.0F, 2.0F);
  check("approx", 0x1p-60F, 0x1p80F, 0x1p-140F);
  check("approx.ftz", 0x1p-60F, 0x1p80F, 0.0F);
  check("approx", 1.0F, 0x1p127F, 0.0F);     // beyond 2^126 the result is zero,
  check("approx", INFINITY, 0x1p127F, NAN);  // or NaN for an infinite dividend
}

}  // namespace
}  // namespace tarsia::ptx::float_test
