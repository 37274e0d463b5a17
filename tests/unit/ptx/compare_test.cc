// setp, set and testp.
#include <bit>
#include <cmath>

#include "dtypes/convert.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::compare_test {
namespace {

// Whether the comparison of this name holds for values of which `nan` says that one is NaN.
template <typename T>
bool Holds(const std::string& name, T a, T b, bool nan) {
  if (name == "num") return !nan;
  if (name == "nan") return nan;
  const bool unordered = name.size() == 3;
  if (nan) return unordered;
  const std::string ordered = name.substr(0, 2);
  if (ordered == "eq") return a == b;
  if (ordered == "ne") return a != b;
  if (ordered == "lt" || ordered == "lo") return a < b;
  if (ordered == "le" || ordered == "ls") return a <= b;
  if (ordered == "gt" || ordered == "hi") return a > b;
  return a >= b;
}

constexpr const char* kOrdered[] = {"eq", "ne", "lt", "le", "gt", "ge"};
constexpr const char* kFloats[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                   "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

TEST(Compare, Integers) {
  const auto inputs = Combine(2, EdgeIntegers());
  for (const int width : {16, 32, 64}) {
    const auto extended = [=](uint64_t bits) {
      return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
    };
    for (const std::string name : kOrdered) {
      CheckRow(Op::kSetpInt, fmt::format("setp.{}.u{} d, s0, s1;", name, width), 1, {width, width},
               inputs, [=](const Tuple& s) { return Holds(name, s[0], s[1], false); });
      CheckRow(Op::kSetpInt, fmt::format("setp.{}.s{} d, s0, s1;", name, width), 1, {width, width},
               inputs,
               [=](const Tuple& s) { return Holds(name, extended(s[0]), extended(s[1]), false); });
      CheckRow(Op::kSetInt, fmt::format("set.{}.u32.s{} d, s0, s1;", name, width), 32,
               {width, width}, inputs, [=](const Tuple& s) {
                 return Holds(name, extended(s[0]), extended(s[1]), false) ? 0xFFFFFFFF : 0;
               });
    }
    for (const std::string name : {"lo", "ls", "hi", "hs"}) {
      CheckRow(Op::kSetpInt, fmt::format("setp.{}.u{} d, s0, s1;", name, width), 1, {width, width},
               inputs, [=](const Tuple& s) { return Holds(name, s[0], s[1], false); });
    }
  }
  CheckRow(Op::kSetInt, "set.lt.f32.u32 d, s0, s1;", 32, {32, 32}, inputs,
           [](const Tuple& s) { return s[0] < s[1] ? 0x3F800000 : 0; });
}

TEST(Compare, CombinesWithAPredicate) {
  const auto inputs = Combine(3, {0, 1, 5});
  for (const std::string name : {"and", "or", "xor"}) {
    const auto with = [=](bool a, bool b) {
      return name == "and" ? (a && b) : name == "or" ? (a || b) : a != b;
    };
    CheckRow(Op::kSetpInt, "setp.lt." + name + ".u32 d, s0, s1, s2;", 1, {32, 32, 1}, inputs,
             [=](const Tuple& s) { return with(s[0] < s[1], s[2] != 0); });
    CheckRow(Op::kSetpInt, "setp.lt." + name + ".u32 d, s0, s1, !s2;", 1, {32, 32, 1}, inputs,
             [=](const Tuple& s) { return with(s[0] < s[1], s[2] == 0); });
    // The second destination is of the comparison's opposite.
    CheckRow(Op::kSetpInt, "setp.lt." + name + ".u32 q|d, s0, s1, s2;", 1, {32, 32, 1}, inputs,
             [=](const Tuple& s) { return with(s[0] >= s[1], s[2] != 0); });
    CheckRow(Op::kSetInt, "set.lt." + name + ".u32.u32 d, s0, s1, s2;", 32, {32, 32, 1}, inputs,
             [=](const Tuple& s) { return with(s[0] < s[1], s[2] != 0) ? 0xFFFFFFFF : 0; });
  }
}

std::vector<uint64_t> CodesOf(DType type) {
  std::vector<uint64_t> codes;
  for (const double value :
       std::initializer_list<double>{0.0, -0.0, 1.0, -1.0, 1.5, 1e30, -INFINITY, INFINITY, NAN}) {
    codes.push_back(EncodeFromDouble(type, value, {}));
  }
  return codes;
}

void CheckFloats(Op setp, Op set, const std::string& name, DType type, bool f64) {
  const int width = type.bits;
  for (const std::string compare : kFloats) {
    const auto holds = [=](const Tuple& s) {
      const double a = f64 ? std::bit_cast<double>(s[0]) : DecodeToDouble(type, s[0]);
      const double b = f64 ? std::bit_cast<double>(s[1]) : DecodeToDouble(type, s[1]);
      return Holds(compare, a, b, std::isnan(a) || std::isnan(b));
    };
    const auto inputs = Combine(2, CodesOf(type));
    CheckRow(setp, fmt::format("setp.{}.{} d, s0, s1;", compare, name), 1, {width, width}, inputs,
             holds);
    CheckRow(set, fmt::format("set.{}.u32.{} d, s0, s1;", compare, name), 32, {width, width},
             inputs, [=](const Tuple& s) { return holds(s) ? 0xFFFFFFFF : 0; });
  }
}

TEST(Compare, Floats) {
  CheckFloats(Op::kSetpF32, Op::kSetF32, "f32", kF32, false);
  CheckFloats(Op::kSetpF64, Op::kSetF64, "f64", kF64, true);
  CheckFloats(Op::kSetpHalf, Op::kSetHalf, "f16", kF16, false);
  CheckFloats(Op::kSetpHalf, Op::kSetHalf, "bf16", kBF16, false);
  // With .ftz a subnormal is a zero.
  CheckRow(Op::kSetpF32, "setp.eq.ftz.f32 d, s0, s1;", 1, {32, 32},
           {{1, 0x80000002}, {1, 0x800000}}, [](const Tuple& s) { return s[1] == 0x80000002; });
  CheckRow(Op::kSetHalf, "set.lt.f16.f16 d, s0, s1;", 16, {16, 16}, {{0, 0x3C00}, {0x3C00, 0}},
           [](const Tuple& s) { return s[0] == 0 ? 0x3C00 : 0; });
}

TEST(Compare, Halves) {
  const std::vector<Tuple> inputs = {
      {0x3C000000, 0x40000000}, {0x3C004000, 0x3C003C00}, {0x00003C00, 0x80004000}};
  const auto low = [](uint64_t v) { return DecodeToDouble(kF16, v & 0xFFFF); };
  const auto high = [](uint64_t v) { return DecodeToDouble(kF16, v >> 16); };
  CheckRow(Op::kSetpHalf, "setp.lt.f16x2 d|q, s0, s1;", 1, {32, 32}, inputs,
           [&](const Tuple& s) { return low(s[0]) < low(s[1]); });
  CheckRow(Op::kSetpHalf, "setp.lt.f16x2 q|d, s0, s1;", 1, {32, 32}, inputs,
           [&](const Tuple& s) { return high(s[0]) < high(s[1]); });
  CheckRow(Op::kSetHalf2, "set.le.f16x2.f16x2 d, s0, s1;", 32, {32, 32}, inputs,
           [&](const Tuple& s) {
             return (low(s[0]) <= low(s[1]) ? 0x3C00U : 0U) |
                    (high(s[0]) <= high(s[1]) ? 0x3C000000U : 0U);
           });
  CheckRow(Op::kSetHalf2, "set.eq.bf16x2.bf16x2 d, s0, s1;", 32, {32, 32},
           {{0x3F800000, 0x3F801234}, {0x12340000, 0x00008000}},
           [](const Tuple& s) { return s[0] == 0x3F800000 ? 0x3F800000U : 0x00003F80U; });
}

TEST(Compare, TestsProperties) {
  const std::vector<Tuple> inputs = {{0},          {1},          {0x3F800000},
                                     {0xFF800000}, {0x7FC00000}, {0x807FFFFF}};
  const auto value = [](const Tuple& s) {
    return std::bit_cast<float>(static_cast<uint32_t>(s[0]));
  };
  CheckRow(Op::kTestp, "testp.finite.f32 d, s0;", 1, {32}, inputs,
           [&](const Tuple& s) { return std::isfinite(value(s)); });
  CheckRow(Op::kTestp, "testp.infinite.f32 d, s0;", 1, {32}, inputs,
           [&](const Tuple& s) { return std::isinf(value(s)); });
  CheckRow(Op::kTestp, "testp.number.f32 d, s0;", 1, {32}, inputs,
           [&](const Tuple& s) { return !std::isnan(value(s)); });
  CheckRow(Op::kTestp, "testp.notanumber.f32 d, s0;", 1, {32}, inputs,
           [&](const Tuple& s) { return std::isnan(value(s)); });
  CheckRow(Op::kTestp, "testp.normal.f32 d, s0;", 1, {32}, inputs,
           [&](const Tuple& s) { return std::isnormal(value(s)); });
  CheckRow(Op::kTestp, "testp.subnormal.f32 d, s0;", 1, {32}, inputs,
           [&](const Tuple& s) { return std::fpclassify(value(s)) == FP_SUBNORMAL; });
  CheckRow(Op::kTestp, "testp.normal.f64 d, s0;", 1, {64}, {{1}, {0x3FF0000000000000}},
           [](const Tuple& s) { return s[0] != 1; });
}

}  // namespace
}  // namespace tarsia::ptx::compare_test
