// Types and modifiers of arithmetic, logic and moves that the other files leave out: the same
// formulas, for every word that a row of the table takes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "dtypes/convert.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::variants_test {
namespace {

const std::vector<std::string> kTypes = {"b16", "b32", "b64", "u16", "u32", "u64",
                                         "s16", "s32", "s64", "f32", "f64"};

int WidthOf(const std::string& type) { return std::stoi(type.substr(1)); }

int64_t Signed(uint64_t bits, int width) {
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

// ---- moves -------------------------------------------------------------------------------------

TEST(Variants, MovesAndSelectionsOfEveryType) {
  const auto values = Combine(3, {0, 1, 0x8000, 0x80000000, 0xFEDCBA9876543210});
  for (const std::string& type : kTypes) {
    const int width = WidthOf(type);
    CheckRow(Op::kMov, "mov." + type + " d, s0;", width, {width}, Combine(1, EdgeIntegers()),
             [](const Tuple& s) { return s[0]; });
    CheckRow(Op::kSelp, "selp." + type + " d, s0, s1, s2;", width, {width, width, 1}, values,
             [](const Tuple& s) { return s[2] != 0 ? s[0] : s[1]; });
    CheckRow(Op::kSlct, "slct." + type + ".s32 d, s0, s1, s2;", width, {width, width, 32}, values,
             [](const Tuple& s) { return Signed(s[2], 32) >= 0 ? s[0] : s[1]; });
    CheckRow(Op::kSlctF32, "slct." + type + ".f32 d, s0, s1, s2;", width, {width, width, 32},
             values, [](const Tuple& s) {
               return std::bit_cast<float>(static_cast<uint32_t>(s[2])) >= 0 ? s[0] : s[1];
             });
  }
  CheckRow(Op::kMov,
           "{ .reg .b128 w<2>; .reg .b64 t; mov.b128 w0, {s0, s1}; mov.b128 w1, w0;\n"
           "mov.b128 {t, d}, w1; xor.b64 d, d, t; }",
           64, {64, 64}, Combine(2, EdgeIntegers()), [](const Tuple& s) { return s[0] ^ s[1]; });
}

TEST(Variants, AddressesOfEverySpace) {
  for (const std::string space : {"shared", "shared::cta", "shared::cluster", "local", "param",
                                  "param::entry", "global", "const"}) {
    const std::string there = "{ .reg .b64 t; cvta." + space + ".u64 t, s0; ";
    CheckRow(Op::kCvta, there + "cvta.to." + space + ".u64 d, t; }", 64, {64}, {{1024}, {70000}},
             [](const Tuple& s) { return s[0]; });
    if (space == "const" || space == "global") continue;
    for (const std::string asked : {"shared", "local", "param", "global", "const", "param::entry",
                                    "shared::cta", "shared::cluster"}) {
      const bool same = space.substr(0, 5) == asked.substr(0, 5);
      CheckRow(Op::kIsspacep, there + "isspacep." + asked + " d, t; }", 1, {64}, {{1024}},
               [=](const Tuple&) { return same ? 1 : 0; });
    }
  }
}

// ---- integers ----------------------------------------------------------------------------------

uint64_t Halves(const Tuple& s, const std::function<int(int, int)>& f, bool is_signed) {
  uint64_t out = 0;
  for (const int shift : {0, 16}) {
    const auto part = [&](uint64_t word) {
      const auto bits = static_cast<uint16_t>(word >> shift);
      return is_signed ? static_cast<int>(static_cast<int16_t>(bits)) : static_cast<int>(bits);
    };
    out |= uint64_t{static_cast<uint16_t>(f(part(s[0]), part(s[1])))} << shift;
  }
  return out;
}

TEST(Variants, PackedIntegers) {
  const auto inputs =
      Combine(2, {0, 1, 0xFFFF, 0x7FFF8000, 0x80007FFF, 0x00010002, 0xFFFEFFFF, 0x12348765});
  for (const bool is_signed : {false, true}) {
    const std::string type = is_signed ? ".s16x2" : ".u16x2";
    const auto check = [&](Op op, const std::string& name, const std::function<int(int, int)>& f) {
      CheckRow(op, name + type + " d, s0, s1;", 32, {32, 32}, inputs,
               [=](const Tuple& s) { return Halves(s, f, is_signed); });
    };
    check(Op::kAddInt, "add", [](int a, int b) { return a + b; });
    check(Op::kMinInt, "min", [](int a, int b) { return std::min(a, b); });
    check(Op::kMaxInt, "max", [](int a, int b) { return std::max(a, b); });
    if (!is_signed) continue;
    check(Op::kMinRelu, "min.relu", [](int a, int b) { return std::max(0, std::min(a, b)); });
    check(Op::kMaxRelu, "max.relu", [](int a, int b) { return std::max({0, a, b}); });
  }
}

// Two words of a sum or difference, by the carry between them; signs do not matter.
TEST(Variants, CarriesOfEveryType) {
  using Wide = unsigned __int128;
  for (const int width : {32, 64}) {
    const auto inputs = Combine(4, {0, 1, Low(~uint64_t{0}, width), uint64_t{1} << (width - 1)});
    for (const std::string sign : {"u", "s"}) {
      const std::string type = fmt::format(".{}{}", sign, width);
      const std::string open = fmt::format("{{ .reg .b{} t<3>; ", width);
      const auto check = [&](Op op, const std::string& text, bool high, bool subtract) {
        CheckRow(op, open + text, width, std::vector<int>(4, width), inputs, [=](const Tuple& s) {
          const Wide a = static_cast<Wide>(s[1]) << width | s[0];
          const Wide b = static_cast<Wide>(s[3]) << width | s[2];
          const Wide sum = subtract ? a - b : a + b;
          return static_cast<uint64_t>(high ? sum >> width : sum);
        });
      };
      const auto text = [&](const std::string& first, const std::string& second, bool high) {
        return fmt::format("{}{} {}, s0, s2; {}{} {}, s1, s3; }}", first, type, high ? "t0" : "d",
                           second, type, high ? "d" : "t0");
      };
      check(Op::kAddCc, text("add.cc", "addc", false), false, false);
      check(Op::kAddc, text("add.cc", "addc", true), true, false);
      check(Op::kAddc, text("add.cc", "addc.cc", true), true, false);
      check(Op::kSubCc, text("sub.cc", "subc", false), false, true);
      check(Op::kSubc, text("sub.cc", "subc", true), true, true);
      check(Op::kSubc, text("sub.cc", "subc.cc", true), true, true);
      // What goes out of the second word, which took a carry in.
      const auto third = [&](Op op, const std::string& first, const std::string& next,
                             const std::function<bool(Wide, Wide)>& carries) {
        const std::string words = fmt::format(
            "{0}{1} t0, s0, s2; {2}.cc{1} t1, s1, s3; {2}{1} d, 0, 0; }}", first, type, next);
        CheckRow(op, open + words, width, std::vector<int>(4, width), inputs, [=](const Tuple& s) {
          const Wide low = static_cast<Wide>(s[0]) + (op == Op::kSubc ? 0 : s[2]);
          const bool in = op == Op::kSubc ? s[0] < s[2] : low >> width != 0;
          const bool out = carries(s[1], static_cast<Wide>(s[3]) + (in ? 1 : 0));
          return out ? (op == Op::kSubc ? ~uint64_t{0} : uint64_t{1}) : uint64_t{0};
        });
      };
      third(Op::kAddc, "add.cc", "addc", [=](Wide a, Wide b) { return (a + b) >> width != 0; });
      third(Op::kSubc, "sub.cc", "subc", [](Wide a, Wide b) { return a < b; });
    }
  }
}

// {d, t} = s0 * s1 + {s3, s2}, signed or not: the low words are the same, the high ones not.
TEST(Variants, MultipliesAndCarries) {
  for (const int width : {32, 64}) {
    const auto inputs = Combine(4, {0, 3, Low(~uint64_t{0}, width), uint64_t{1} << (width - 1)});
    for (const bool is_signed : {false, true}) {
      const std::string type = fmt::format(".{}{}", is_signed ? "s" : "u", width);
      const auto sum = [=](const Tuple& s) {
        const auto wide = [=](uint64_t word) {
          return is_signed
                     ? static_cast<unsigned __int128>(static_cast<__int128>(Signed(word, width)))
                     : static_cast<unsigned __int128>(word);
        };
        return wide(s[0]) * wide(s[1]) + ((static_cast<unsigned __int128>(s[3]) << width) | s[2]);
      };
      const auto high = [=](const Tuple& s) { return static_cast<uint64_t>(sum(s) >> width); };
      const std::string open = fmt::format("{{ .reg .b{} t; ", width);
      const std::vector<int> widths(4, width);
      CheckRow(
          Op::kMadCc,
          open + "mad.lo.cc" + type + " d, s0, s1, s2; mov.b" + std::to_string(width) + " t, d; }",
          width, widths, inputs, [=](const Tuple& s) { return static_cast<uint64_t>(sum(s)); });
      for (const std::string more : {"", ".cc"}) {
        CheckRow(Op::kMadc,
                 open + "mad.lo.cc" + type + " t, s0, s1, s2; madc.hi" + more + type +
                     " d, s0, s1, s3; }",
                 width, widths, inputs, high);
      }
      // The carry of a high half, taken by madc.lo.
      CheckRow(Op::kMadc,
               open + "mad.hi.cc" + type + " t, s0, s1, s2; madc.lo" + type + " d, s0, s1, s3; }",
               width, widths, inputs, [=](const Tuple& s) {
                 const auto product = sum({s[0], s[1], 0, 0});
                 const auto upper = Low(static_cast<uint64_t>(product >> width), width);
                 const bool carry = (static_cast<unsigned __int128>(upper) + s[2]) >> width != 0;
                 return static_cast<uint64_t>(product) + s[3] + (carry ? 1 : 0);
               });
    }
  }
}

// ---- comparison --------------------------------------------------------------------------------

const std::vector<std::string> kCombinations = {"and", "or", "xor"};

uint64_t Combined(const std::string& how, bool a, bool b) {
  return how == "and" ? a && b : how == "or" ? a || b : a != b;
}

TEST(Variants, BitsAreEqualOrNot) {
  const auto inputs = Combine(2, EdgeIntegers());
  for (const int width : {16, 32, 64}) {
    const std::string type = fmt::format(".b{} d, s0, s1;", width);
    CheckRow(Op::kSetpInt, "setp.eq" + type, 1, {width, width}, inputs,
             [](const Tuple& s) { return s[0] == s[1]; });
    CheckRow(Op::kSetpInt, "setp.ne" + type, 1, {width, width}, inputs,
             [](const Tuple& s) { return s[0] != s[1]; });
    CheckRow(Op::kSetInt, "set.ne.s32" + type, 32, {width, width}, inputs,
             [](const Tuple& s) { return s[0] != s[1] ? 0xFFFFFFFF : 0; });
    for (const std::string name : {"lo", "ls", "hi", "hs"}) {
      CheckRow(Op::kSetInt, fmt::format("set.{}.u32.u{} d, s0, s1;", name, width), 32,
               {width, width}, inputs, [=](const Tuple& s) {
                 const bool holds = name == "lo"   ? s[0] < s[1]
                                    : name == "ls" ? s[0] <= s[1]
                                    : name == "hi" ? s[0] > s[1]
                                                   : s[0] >= s[1];
                 return holds ? 0xFFFFFFFF : 0;
               });
    }
  }
}

struct FloatType {
  std::string name;
  DType type;
  bool flushes;
};
const std::vector<FloatType> kFloatTypes = {
    {"f32", kF32, true}, {"f64", kF64, false}, {"f16", kF16, true}, {"bf16", kBF16, false}};

double ValueOf(const FloatType& type, uint64_t bits) {
  return type.type == kF64 ? std::bit_cast<double>(bits) : DecodeToDouble(type.type, bits);
}

std::vector<uint64_t> FloatCodes(const FloatType& type) {
  const auto code = [&](double value) {
    return type.type == kF64 ? std::bit_cast<uint64_t>(value)
                             : EncodeFromDouble(type.type, value, {});
  };
  return {code(0.0), code(1.0), code(-2.5), code(NAN), 1};  // 1: the least subnormal
}

TEST(Variants, ComparisonsOfFloatsWithAPredicate) {
  for (const FloatType& type : kFloatTypes) {
    const int width = type.type.bits;
    const std::vector<int> widths = {width, width, 1};
    const Op setp = type.name == "f32" ? Op::kSetpF32 : width == 64 ? Op::kSetpF64 : Op::kSetpHalf;
    const Op set = type.name == "f32" ? Op::kSetF32 : width == 64 ? Op::kSetF64 : Op::kSetHalf;
    std::vector<Tuple> inputs;
    for (const uint64_t a : FloatCodes(type)) {
      for (const uint64_t b : FloatCodes(type)) {
        inputs.push_back({a, b, 0});
        inputs.push_back({a, b, 1});
      }
    }
    for (const std::string& how : kCombinations) {
      const auto holds = [=](const Tuple& s) {
        return Combined(how, ValueOf(type, s[0]) < ValueOf(type, s[1]), s[2] != 0);
      };
      CheckRow(setp, "setp.lt." + how + "." + type.name + " d, s0, s1, s2;", 1, widths, inputs,
               holds);
      for (const std::string dest : {"u32", "s32", "f32"}) {
        if (width == 16 && dest == "f32") continue;
        CheckRow(set, "set.lt." + how + "." + dest + "." + type.name + " d, s0, s1, s2;", 32,
                 widths, inputs, [=](const Tuple& s) {
                   return holds(s) == 0 ? 0 : dest == "f32" ? 0x3F800000 : 0xFFFFFFFF;
                 });
      }
      if (width != 16) continue;
      for (const std::string& dest : {std::string("u16"), std::string("s16"), type.name}) {
        const uint64_t one = dest == "f16" ? 0x3C00 : dest == "bf16" ? 0x3F80 : 0xFFFF;
        CheckRow(set, "set.lt." + how + "." + dest + "." + type.name + " d, s0, s1, s2;", 16,
                 widths, inputs, [=](const Tuple& s) { return holds(s) != 0 ? one : 0; });
      }
    }
    if (!type.flushes) continue;
    const std::vector<Tuple> tiny = {{0, 1}, {1, 1}, {1, 0}};
    CheckRow(setp, "setp.ne.ftz." + type.name + " d, s0, s1;", 1, {width, width}, tiny,
             [](const Tuple&) { return 0; });
    CheckRow(set, "set.eq.ftz.u32." + type.name + " d, s0, s1;", 32, {width, width}, tiny,
             [](const Tuple&) { return 0xFFFFFFFF; });
  }
}

TEST(Variants, ComparisonsOfPairs) {
  const std::vector<std::string> names = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                          "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  const auto holds = [](const std::string& name, double a, double b) {
    const bool nan = std::isnan(a) || std::isnan(b);
    if (name == "num") return !nan;
    if (name == "nan") return nan;
    if (nan) return name.size() == 3;
    const std::string base = name.substr(0, 2);
    return base == "eq"   ? a == b
           : base == "ne" ? a != b
           : base == "lt" ? a < b
           : base == "le" ? a <= b
           : base == "gt" ? a > b
                          : a >= b;
  };
  for (const FloatType& type : {kFloatTypes[2], kFloatTypes[3]}) {
    const uint64_t one = type.name == "f16" ? 0x3C00 : 0x3F80;
    std::vector<Tuple> inputs;
    for (const uint64_t a : FloatCodes(type)) {
      for (const uint64_t b : FloatCodes(type)) {
        for (const uint64_t p : {0, 1}) inputs.push_back({a | b << 16, b | b << 16, p});
      }
    }
    const auto low = [=](uint64_t word) { return ValueOf(type, word & 0xFFFF); };
    const auto high = [=](uint64_t word) { return ValueOf(type, word >> 16); };
    for (const std::string& name : names) {
      for (const std::string how : {"", "and", "or", "xor"}) {
        const std::string words = name + (how.empty() ? "" : "." + how);
        const std::string sources = how.empty() ? "s0, s1;" : "s0, s1, s2;";
        const auto with = [=](double a, double b, uint64_t p) {
          return how.empty() ? uint64_t{holds(name, a, b)}
                             : Combined(how, holds(name, a, b), p != 0);
        };
        CheckRow(Op::kSetpHalf, "setp." + words + "." + type.name + "x2 d|q, " + sources, 1,
                 {32, 32, 1}, inputs,
                 [=](const Tuple& s) { return with(low(s[0]), low(s[1]), s[2]); });
        CheckRow(Op::kSetHalf2,
                 "set." + words + "." + type.name + "x2." + type.name + "x2 d, " + sources, 32,
                 {32, 32, 1}, inputs, [=](const Tuple& s) {
                   return with(low(s[0]), low(s[1]), s[2]) * one |
                          with(high(s[0]), high(s[1]), s[2]) * one << 16;
                 });
      }
    }
  }
  CheckRow(Op::kSetHalf2, "set.eq.ftz.f16x2.f16x2 d, s0, s1;", 32, {32, 32}, {{0x00010400, 0}},
           [](const Tuple&) { return 0x3C000000; });
}

// ---- floats ------------------------------------------------------------------------------------

float FloatOf(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
uint64_t CodeOf(float value) {
  return std::isnan(value) ? 0x7FFFFFFF : std::bit_cast<uint32_t>(value);
}
float Flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}
float Saturated(float value) { return value >= 1 ? 1.0F : value > 0 ? value : 0.0F; }

// Subnormal operands are zeros of their sign, and so are subnormal results.
TEST(Variants, FlushesAndSaturatesF32) {
  const std::vector<uint64_t> edges = {0,          0x80000000, 1,          0x807FFFFF, 0x00800000,
                                       0x80800001, 0x3F800000, 0xBF000000, 0x3F000000, 0x40490FDB,
                                       0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x20000000, 0x1F000000};
  const auto check = [&](Op op, const std::string& name, size_t count,
                         float (*formula)(const float*), bool sat) {
    std::string sources = ".f32 d";
    for (size_t i = 0; i < count; ++i) sources += fmt::format(", s{}", i);
    const auto inputs = Combine(count, edges);
    const std::vector<int> widths(count, 32);
    const auto value = [=](const Tuple& s, bool ftz) {
      float operands[3] = {};
      for (size_t i = 0; i < count; ++i) {
        operands[i] = ftz ? Flushed(FloatOf(s[i])) : FloatOf(s[i]);
      }
      return ftz ? Flushed(formula(operands)) : formula(operands);
    };
    CheckRow(op, name + ".ftz" + sources + ";", 32, widths, inputs,
             [=](const Tuple& s) { return CodeOf(value(s, true)); });
    if (!sat) return;
    CheckRow(op, name + ".sat" + sources + ";", 32, widths, inputs,
             [=](const Tuple& s) { return CodeOf(Saturated(value(s, false))); });
    CheckRow(op, name + ".ftz.sat" + sources + ";", 32, widths, inputs,
             [=](const Tuple& s) { return CodeOf(Saturated(value(s, true))); });
  };
  check(Op::kAddF32, "add.rn", 2, [](const float* v) { return v[0] + v[1]; }, true);
  check(Op::kSubF32, "sub", 2, [](const float* v) { return v[0] - v[1]; }, true);
  check(Op::kMulF32, "mul.rn", 2, [](const float* v) { return v[0] * v[1]; }, true);
  check(Op::kFmaF32, "fma.rn", 3, [](const float* v) { return std::fma(v[0], v[1], v[2]); }, true);
  check(Op::kMadF32, "mad.rn", 3, [](const float* v) { return std::fma(v[0], v[1], v[2]); }, true);
  check(Op::kDivF32, "div.rn", 2, [](const float* v) { return v[0] / v[1]; }, false);
  check(Op::kRcpF32, "rcp.rn", 1, [](const float* v) { return 1 / v[0]; }, false);
  check(Op::kSqrtF32, "sqrt.rn", 1, [](const float* v) { return std::sqrt(v[0]); }, false);
  CheckRow(Op::kAbsF32, "abs.ftz.f32 d, s0;", 32, {32}, {{0x80000001}, {0xBF800000}},
           [](const Tuple& s) { return s[0] == 0xBF800000 ? 0x3F800000 : 0; });
}

// Of approximations the exact cases: subnormal operands count as zeros.
TEST(Variants, FlushesApproximations) {
  const auto check = [](Op op, const std::string& name, float at_zero) {
    CheckRow(op, name + ".approx.ftz.f32 d, s0;", 32, {32}, {{1}, {0x007FFFFF}},
             [=](const Tuple&) { return CodeOf(at_zero); });
  };
  check(Op::kRsqrtF32, "rsqrt", INFINITY);
  check(Op::kSinF32, "sin", 0.0F);
  check(Op::kCosF32, "cos", 1.0F);
  check(Op::kLg2F32, "lg2", -INFINITY);
  CheckRow(Op::kRsqrtF64, "rsqrt.approx.ftz.f64 d, s0;", 64, {64}, {{0x4010000000000000}},
           [](const Tuple&) { return std::bit_cast<uint64_t>(0.5); });
}

// ---- f16 and bf16 ------------------------------------------------------------------------------

double FlushedHalf(double value) {
  return std::abs(value) < 0x1p-14 ? std::copysign(0.0, value) : value;
}

// Formulas on values whose results are exact in double, for f16 alone and in pairs.
TEST(Variants, FlushesAndSaturatesF16) {
  const std::vector<uint64_t> edges = {0,      0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00,
                                       0xB800, 0x4200, 0x7BFF, 0x7C00, 0x7E00, 0x1000};
  const auto check = [&](Op op, const std::string& name, size_t count,
                         double (*formula)(const double*)) {
    std::string sources = " d";
    for (size_t i = 0; i < count; ++i) sources += fmt::format(", s{}", i);
    for (const std::string flags : {".ftz", ".sat", ".ftz.sat"}) {
      const bool ftz = flags[1] == 'f';
      const bool sat = flags.back() == 't';
      const auto one = [=](const Tuple& s, int shift) -> uint64_t {
        double operands[3] = {};
        for (size_t i = 0; i < count; ++i) {
          operands[i] = DecodeToDouble(kF16, s[i] >> shift & 0xFFFF);
          if (ftz) operands[i] = FlushedHalf(operands[i]);
        }
        double value = formula(operands);
        if (std::isnan(value)) return sat ? 0 : 0x7FFF;
        uint64_t code = EncodeFromDouble(kF16, value, {});
        value = DecodeToDouble(kF16, code);
        if (ftz) value = FlushedHalf(value);
        if (sat) value = value >= 1 ? 1 : value > 0 ? value : 0;
        return EncodeFromDouble(kF16, value, {});
      };
      const auto inputs = Combine(count, edges);
      CheckRow(op, name + flags + ".f16" + sources + ";", 16, std::vector<int>(count, 16), inputs,
               [=](const Tuple& s) { return one(s, 0); });
      std::vector<Tuple> pairs = inputs;
      for (Tuple& tuple : pairs) {
        for (uint64_t& word : tuple) word = (word & 0xFFFF) * 0x10001 ^ 0x80000000;
      }
      CheckRow(op, name + flags + ".f16x2" + sources + ";", 32, std::vector<int>(count, 32), pairs,
               [=](const Tuple& s) { return one(s, 0) | one(s, 16) << 16; });
    }
  };
  check(Op::kAddHalf, "add.rn", 2, [](const double* v) { return v[0] + v[1]; });
  check(Op::kSubHalf, "sub.rn", 2, [](const double* v) { return v[0] - v[1]; });
  check(Op::kMulHalf, "mul.rn", 2, [](const double* v) { return v[0] * v[1]; });
  check(Op::kFmaHalf, "fma.rn", 3, [](const double* v) {
    return static_cast<double>(static_cast<long double>(v[0]) * v[1] + v[2]);
  });
}

TEST(Variants, SignsAndExtremesOfHalves) {
  for (const std::string type : {"f16", "f16x2", "bf16", "bf16x2"}) {
    const int width = type.back() == '2' ? 32 : 16;
    const auto inputs = Combine(1, {0, 0x80018001, 0xBC003C00, 0x7F80FF80});
    CheckRow(Op::kAbsHalf, "abs." + type + " d, s0;", width, {width}, inputs,
             [](const Tuple& s) { return s[0] & 0x7FFF7FFF; });
    CheckRow(Op::kNegHalf, "neg." + type + " d, s0;", width, {width}, inputs,
             [](const Tuple& s) { return s[0] ^ 0x80008000; });
    // The sign of the product on the extreme of the magnitudes.
    const auto pairs = Combine(2, {0x3C003C00, 0xC000C000, 0x42004200, 0x80008000});
    for (const bool least : {true, false}) {
      CheckRow(least ? Op::kMinHalf : Op::kMaxHalf,
               fmt::format("{}.xorsign.abs.{} d, s0, s1;", least ? "min" : "max", type), width,
               {width, width}, std::vector<Tuple>(pairs.begin(), pairs.begin() + 16),
               [=](const Tuple& s) {
                 const uint64_t a = s[0] & 0x7FFF7FFF;
                 const uint64_t b = s[1] & 0x7FFF7FFF;
                 return (least ? std::min(a, b) : std::max(a, b)) | ((s[0] ^ s[1]) & 0x80008000);
               });
    }
  }
  const std::vector<Tuple> tiny = {{0x0001, 0x83FF}, {0x83FF, 0x3C00}};
  CheckRow(Op::kAbsHalf, "abs.ftz.f16 d, s0;", 16, {16}, tiny, [](const Tuple&) { return 0; });
  CheckRow(Op::kNegHalf, "neg.ftz.f16 d, s0;", 16, {16}, tiny,
           [](const Tuple& s) { return (s[0] & 0x8000) ^ 0x8000; });
  CheckRow(Op::kMinHalf, "min.ftz.f16 d, s0, s1;", 16, {16, 16}, tiny,
           [](const Tuple&) { return 0x8000; });
  CheckRow(Op::kMaxHalf, "max.ftz.f16 d, s0, s1;", 16, {16, 16}, tiny,
           [](const Tuple& s) { return s[1] == 0x3C00 ? 0x3C00 : 0; });
  CheckRow(Op::kEx2Half, "ex2.approx.ftz.bf16x2 d, s0;", 32, {32}, {{0x40003F80}, {0x00010001}},
           [](const Tuple& s) { return s[0] == 0x10001 ? 0x3F803F80 : 0x40804000; });
}

// ---- conversion --------------------------------------------------------------------------------

TEST(Variants, NarrowingWithModifiers) {
  const std::vector<uint64_t> edges = {0,          0x80000000, 0x3F800001, 0xBF801001, 0x477FF000,
                                       0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0x33000001, 0x3FFFFFFF};
  struct Into {
    std::string name;
    DType type;
  };
  for (const Into& into : {Into{"f16", kF16}, Into{"bf16", kBF16}}) {
    for (const std::string mode : {"rn", "rz"}) {
      for (const std::string flags :
           {"", ".relu", ".satfinite", ".satfinite.relu", ".relu.satfinite"}) {
        const bool relu = flags.find("relu") != std::string::npos;
        const bool finite = flags.find("satfinite") != std::string::npos;
        const auto narrowed = [=](uint64_t bits) -> uint64_t {
          double value = FloatOf(bits);
          if (relu && std::signbit(value)) value = 0;
          CastOptions options;
          options.rounding = mode == "rn" ? Rounding::kNearestEven : Rounding::kTowardZero;
          options.overflow = finite ? Overflow::kSaturate : Overflow::kNonSaturating;
          return EncodeFromDouble(into.type, value, options);
        };
        // Without flags it is a row of all conversions between floats.
        CheckRow(flags.empty() ? Op::kCvt : Op::kCvtNarrow,
                 "cvt." + mode + flags + "." + into.name + ".f32 d, s0;", 16, {32},
                 std::vector<Tuple>{{edges[0]},
                                    {edges[1]},
                                    {edges[2]},
                                    {edges[3]},
                                    {edges[4]},
                                    {edges[5]},
                                    {edges[6]},
                                    {edges[7]},
                                    {edges[8]},
                                    {edges[9]}},
                 [=](const Tuple& s) { return narrowed(s[0]); });
        std::vector<Tuple> pairs;
        for (const uint64_t a : edges) {
          for (const uint64_t b : edges) pairs.push_back({a, b});
        }
        CheckRow(Op::kCvtPair, "cvt." + mode + flags + "." + into.name + "x2.f32 d, s0, s1;", 32,
                 {32, 32}, pairs,
                 [=](const Tuple& s) { return narrowed(s[1]) | narrowed(s[0]) << 16; });
      }
    }
  }
}

TEST(Variants, EightBitFloatsWithRelu) {
  for (const std::string type : {"e4m3x2", "e5m2x2"}) {
    const bool e4m3 = type == "e4m3x2";
    const uint64_t one = e4m3 ? 0x38 : 0x3C;
    CheckRow(Op::kCvtF8Pair, "cvt.rn.satfinite.relu." + type + ".f32 d, s0, s1;", 16, {32, 32},
             {{0x3F800000, 0xBF800000}, {0xBF800000, 0x3F800000}},
             [=](const Tuple& s) { return s[0] == 0x3F800000 ? one << 8 : one; });
    CheckRow(Op::kCvtF8Half, "cvt.rn.satfinite.relu." + type + ".f16x2 d, s0;", 16, {32},
             {{0x3C00BC00}, {0xBC003C00}},
             [=](const Tuple& s) { return s[0] == 0x3C00BC00 ? one << 8 : one; });
    CheckRow(Op::kCvtHalfF8, "cvt.rn.relu.f16x2." + type + " d, s0;", 32, {16},
             {{one << 8 | one | 0x80}, {one << 8 | 0x8000 | one}},
             [=](const Tuple& s) { return (s[0] & 0x80) != 0 ? 0x3C000000 : 0x3C00; });
  }
}

TEST(Variants, PacksIntegersOfBothSigns) {
  const auto inputs = Combine(3, {0, 5, 300, 70000, 0xFFFFFFFF, 0x80000000, 0xFFFF8000});
  const auto clamped = [](uint64_t bits, int64_t least, int64_t most) {
    return static_cast<uint64_t>(std::clamp(Signed(bits, 32), least, most));
  };
  CheckRow(Op::kCvtPack, "cvt.pack.sat.u16.s32 d, s0, s1;", 32, {32, 32, 32}, inputs,
           [=](const Tuple& s) { return clamped(s[1], 0, 65535) | clamped(s[0], 0, 65535) << 16; });
  CheckRow(Op::kCvtPackBytes, "cvt.pack.sat.s8.s32.b32 d, s0, s1, s2;", 32, {32, 32, 32}, inputs,
           [=](const Tuple& s) {
             return Low(clamped(s[1], -128, 127), 8) | Low(clamped(s[0], -128, 127), 8) << 8 |
                    s[2] << 16;
           });
}

// ---- control and barriers ----------------------------------------------------------------------

TEST(Variants, BarriersOfABlock) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 p) {
.reg .pred p<4>; .reg .b32 r<8>; .reg .b64 rd<4>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x;
mul.wide.u32 rd1, r0, 4; add.u64 rd0, rd0, rd1;
setp.lt.u32 p1, r0, 40;
bar.cta.sync 0; barrier.cta.sync.aligned 1; barrier.cta.sync 2, 64;
bar.cta.red.popc.u32 r1, 3, p1;
bar.cta.red.or.pred p2, 4, p1; selp.u32 r2, 1000, 0, p2;
barrier.cta.red.and.aligned.pred p2, 5, p1; selp.u32 r3, 10000, 0, p2;
barrier.cta.red.popc.aligned.u32 r4, 6, p1; mad.lo.u32 r1, r4, 100000, r1;
add.u32 r1, r1, r2; add.u32 r1, r1, r3;
setp.lt.u32 p3, r0, 32;
@p3 bra first;
bar.cta.arrive 7, 64; barrier.cta.arrive.aligned 8, 64;
bra.uni done;
first: bar.cta.sync 7, 64; barrier.cta.sync 8, 64;
done:
st.global.u32 [rd0], r1;
targets: .branchtargets end, other;
mov.u32 r5, 0; brx.idx.uni r5, targets;
other: st.global.u32 [rd0], 0;
end: ret.uni; }
)");
  const uint64_t at = machine.Put(std::vector<uint32_t>(64));
  EXPECT_EQ(Text(machine.Run("k", {1}, {64}, {at})), "");
  EXPECT_EQ(machine.Get<uint32_t>(at, 64), std::vector<uint32_t>(64, 4'001'040));
}

}  // namespace
}  // namespace tarsia::ptx::variants_test
