// Integer arithmetic against plain formulas in 128 bits.
#include <algorithm>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::integer_test {
namespace {

using Wide = __int128;

Wide SignedOf(uint64_t bits, int width) {
  const uint64_t low = Low(bits, width);
  return (low >> (width - 1) & 1) != 0 ? Wide{low} - (Wide{1} << width) : Wide{low};
}

struct IntType {
  const char* name;
  int width;
  bool is_signed;
  [[nodiscard]] Wide Read(uint64_t bits) const {
    return is_signed ? SignedOf(bits, width) : Wide{Low(bits, width)};
  }
};

constexpr IntType kTypes[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                              {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

using WideFormula = std::function<Wide(Wide a, Wide b, Wide c)>;

// `name`.type d, s0, .. over all integer types that `take` says.
void CheckInts(Op op, const std::string& name, size_t operands, const WideFormula& formula,
               const std::function<bool(const IntType&)>& take = nullptr) {
  for (const IntType& type : kTypes) {
    if (take && !take(type)) continue;
    std::string text = fmt::format("{}.{} d", name, type.name);
    for (size_t i = 0; i < operands; ++i) text += fmt::format(", s{}", i);
    CheckRow(op, text + ";", type.width, std::vector<int>(operands, type.width),
             Combine(operands, EdgeIntegers()), [&](const Tuple& s) {
               const auto read = [&](size_t i) { return i < operands ? type.Read(s[i]) : Wide{0}; };
               return static_cast<uint64_t>(formula(read(0), read(1), read(2)));
             });
  }
}

TEST(Integer, AddsAndSubtracts) {
  CheckInts(Op::kAddInt, "add", 2, [](Wide a, Wide b, Wide) { return a + b; });
  CheckInts(Op::kSubInt, "sub", 2, [](Wide a, Wide b, Wide) { return a - b; });
  const auto clamp = [](Wide v) { return std::clamp<Wide>(v, INT32_MIN, INT32_MAX); };
  const auto s32 = [](const IntType& t) { return t.width == 32 && t.is_signed; };
  CheckInts(Op::kAddSat, "add.sat", 2, [&](Wide a, Wide b, Wide) { return clamp(a + b); }, s32);
  CheckInts(Op::kSubSat, "sub.sat", 2, [&](Wide a, Wide b, Wide) { return clamp(a - b); }, s32);
}

TEST(Integer, Multiplies) {
  CheckInts(Op::kMulLo, "mul.lo", 2, [](Wide a, Wide b, Wide) {
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
  });
  CheckInts(Op::kMadLo, "mad.lo", 3, [](Wide a, Wide b, Wide c) {
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) +
                             static_cast<unsigned __int128>(c));
  });
  for (const IntType& type : kTypes) {
    // The upper half of a product of 128 bits, from four products of 32 bits.
    const auto high = [&](const Tuple& s) -> uint64_t {
      if (type.width < 64) {
        return static_cast<uint64_t>((type.Read(s[0]) * type.Read(s[1])) >> type.width);
      }
      const uint64_t al = s[0] & 0xFFFFFFFF, ah = s[0] >> 32, bl = s[1] & 0xFFFFFFFF,
                     bh = s[1] >> 32;
      const uint64_t mid = (al * bl >> 32) + (ah * bl & 0xFFFFFFFF) + (al * bh & 0xFFFFFFFF);
      uint64_t out = ah * bh + (ah * bl >> 32) + (al * bh >> 32) + (mid >> 32);
      if (type.is_signed && (s[0] >> 63) != 0) out -= s[1];
      if (type.is_signed && (s[1] >> 63) != 0) out -= s[0];
      return out;
    };
    CheckRow(Op::kMulHi, fmt::format("mul.hi.{} d, s0, s1;", type.name), type.width,
             {type.width, type.width}, Combine(2, EdgeIntegers()), high);
    CheckRow(Op::kMadHi, fmt::format("mad.hi.{} d, s0, s1, s2;", type.name), type.width,
             {type.width, type.width, type.width}, Combine(3, {0, 1, 0x8000, ~uint64_t{0}, 77}),
             [&](const Tuple& s) { return high(s) + s[2]; });
    if (type.width == 64) continue;
    CheckRow(Op::kMulWide, fmt::format("mul.wide.{} d, s0, s1;", type.name), type.width * 2,
             {type.width, type.width}, Combine(2, EdgeIntegers()), [&](const Tuple& s) {
               return static_cast<uint64_t>(type.Read(s[0]) * type.Read(s[1]));
             });
    CheckRow(Op::kMadWide, fmt::format("mad.wide.{} d, s0, s1, s2;", type.name), type.width * 2,
             {type.width, type.width, type.width * 2}, Combine(3, {0, 3, 0x8000, ~uint64_t{0}}),
             [&](const Tuple& s) {
               return static_cast<uint64_t>(type.Read(s[0]) * type.Read(s[1])) + s[2];
             });
    if (type.width == 16) continue;
    const auto low24 = [&](uint64_t bits) {
      return type.is_signed ? SignedOf(bits, 24) : Wide{bits & 0xFFFFFF};
    };
    for (const int shift : {0, 16}) {
      const char* half = shift == 0 ? "lo" : "hi";
      CheckRow(Op::kMul24, fmt::format("mul24.{}.{} d, s0, s1;", half, type.name), 32, {32, 32},
               Combine(2, EdgeIntegers()), [&](const Tuple& s) {
                 return static_cast<uint64_t>((low24(s[0]) * low24(s[1])) >> shift);
               });
      CheckRow(Op::kMad24, fmt::format("mad24.{}.{} d, s0, s1, s2;", half, type.name), 32,
               {32, 32, 32}, Combine(3, {1, 0x800000, 0xFFFFFF, 12345}), [&](const Tuple& s) {
                 return static_cast<uint64_t>(((low24(s[0]) * low24(s[1])) >> shift)) + s[2];
               });
    }
  }
  CheckRow(Op::kMadHiSat, "mad.hi.sat.s32 d, s0, s1, s2;", 32, {32, 32, 32},
           Combine(3, {0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x40000000}), [](const Tuple& s) {
             const Wide high = (SignedOf(s[0], 32) * SignedOf(s[1], 32)) >> 32;
             const Wide sum = high + SignedOf(s[2], 32);
             return static_cast<uint64_t>(std::clamp<Wide>(sum, INT32_MIN, INT32_MAX));
           });
}

TEST(Integer, Divides) {
  CheckInts(Op::kDivInt, "div", 2, [](Wide a, Wide b, Wide) { return b == 0 ? Wide{-1} : a / b; });
  CheckInts(Op::kRemInt, "rem", 2, [](Wide a, Wide b, Wide) { return b == 0 ? a : a % b; });
}

TEST(Integer, ComparesAndTakesSigns) {
  const auto is_signed = [](const IntType& t) { return t.is_signed; };
  CheckInts(Op::kAbsInt, "abs", 1, [](Wide a, Wide, Wide) { return a < 0 ? -a : a; }, is_signed);
  CheckInts(Op::kNegInt, "neg", 1, [](Wide a, Wide, Wide) { return -a; }, is_signed);
  CheckInts(Op::kMinInt, "min", 2, [](Wide a, Wide b, Wide) { return a < b ? a : b; });
  CheckInts(Op::kMaxInt, "max", 2, [](Wide a, Wide b, Wide) { return a < b ? b : a; });
  const auto s32 = [](const IntType& t) { return t.width == 32 && t.is_signed; };
  const auto relu = [](Wide v) { return v < 0 ? Wide{0} : v; };
  CheckInts(
      Op::kMinRelu, "min.relu", 2, [&](Wide a, Wide b, Wide) { return relu(a < b ? a : b); }, s32);
  CheckInts(
      Op::kMaxRelu, "max.relu", 2, [&](Wide a, Wide b, Wide) { return relu(a < b ? b : a); }, s32);
  CheckInts(Op::kSad, "sad", 3, [](Wide a, Wide b, Wide c) { return c + (a < b ? b - a : a - b); });
}

TEST(Integer, WorksOnHalves) {
  for (const bool is_signed : {false, true}) {
    const char* type = is_signed ? "s16x2" : "u16x2";
    const auto both = [&](const Tuple& s, const std::function<Wide(Wide, Wide)>& f) {
      uint64_t out = 0;
      for (const int shift : {0, 16}) {
        const IntType half{"", 16, is_signed};
        out |= Low(static_cast<uint64_t>(f(half.Read(s[0] >> shift), half.Read(s[1] >> shift))), 16)
               << shift;
      }
      return out;
    };
    const auto inputs = Combine(2, EdgeIntegers());
    CheckRow(Op::kAddInt, fmt::format("add.{} d, s0, s1;", type), 32, {32, 32}, inputs,
             [&](const Tuple& s) { return both(s, [](Wide a, Wide b) { return a + b; }); });
    CheckRow(Op::kMaxInt, fmt::format("max.{} d, s0, s1;", type), 32, {32, 32}, inputs,
             [&](const Tuple& s) { return both(s, [](Wide a, Wide b) { return a < b ? b : a; }); });
  }
}

TEST(Integer, CarriesThroughWords) {
  // 128-bit sums and differences of two halves each.
  const auto inputs = Combine(4, {0, 1, 0x7FFFFFFF, ~uint64_t{0}});
  const auto wide = [](uint64_t low, uint64_t high) {
    return (static_cast<unsigned __int128>(high) << 64) | low;
  };
  const auto check = [&](Op op, const std::string& text, bool high, bool subtract) {
    CheckRow(op, text, 64, {64, 64, 64, 64}, inputs, [=](const Tuple& s) {
      const auto a = wide(s[0], s[1]);
      const auto b = wide(s[2], s[3]);
      const auto sum = subtract ? a - b : a + b;
      return static_cast<uint64_t>(high ? sum >> 64 : sum);
    });
  };
  const std::string regs = "{ .reg .b64 t; ";
  check(Op::kAddCc, regs + "add.cc.u64 d, s0, s2; addc.u64 t, s1, s3; }", false, false);
  check(Op::kAddc, regs + "add.cc.u64 t, s0, s2; addc.cc.u64 d, s1, s3; }", true, false);
  check(Op::kSubCc, regs + "sub.cc.u64 d, s0, s2; subc.u64 t, s1, s3; }", false, true);
  check(Op::kSubc, regs + "sub.cc.u64 t, s0, s2; subc.cc.u64 d, s1, s3; }", true, true);
  // d = high word of (s0 * s1 + {s3, s2}), in 32 bits.
  const auto mad = Combine(4, {0, 1, 0xFFFFFFFF, 0x80000001});
  CheckRow(Op::kMadc, "{ .reg .b32 t; mad.lo.cc.u32 t, s0, s1, s2; madc.hi.u32 d, s0, s1, s3; }",
           32, {32, 32, 32, 32}, mad,
           [](const Tuple& s) { return (s[0] * s[1] + (s[3] << 32 | s[2])) >> 32; });
  CheckRow(Op::kMadCc, "{ .reg .b32 t; mad.hi.cc.u32 t, s0, s1, s2; addc.u32 d, s3, 0; }", 32,
           {32, 32, 32, 32}, mad,
           [](const Tuple& s) { return s[3] + (((s[0] * s[1] >> 32) + s[2]) >> 32); });
}

TEST(Integer, CountsAndFindsBits) {
  const auto inputs = Combine(1, EdgeIntegers());
  for (const int width : {32, 64}) {
    const auto bit = [](uint64_t v, int i) { return (v >> i & 1) != 0; };
    CheckRow(Op::kPopc, fmt::format("popc.b{} d, s0;", width), 32, {width}, inputs,
             [&](const Tuple& s) {
               uint64_t n = 0;
               for (int i = 0; i < width; ++i) n += bit(s[0], i) ? 1 : 0;
               return n;
             });
    CheckRow(
        Op::kClz, fmt::format("clz.b{} d, s0;", width), 32, {width}, inputs, [&](const Tuple& s) {
          uint64_t n = 0;
          while (n < static_cast<uint64_t>(width) && !bit(s[0], width - 1 - static_cast<int>(n)))
            ++n;
          return n;
        });
    CheckRow(Op::kBrev, fmt::format("brev.b{} d, s0;", width), width, {width}, inputs,
             [&](const Tuple& s) {
               uint64_t out = 0;
               for (int i = 0; i < width; ++i) out |= uint64_t{bit(s[0], i)} << (width - 1 - i);
               return out;
             });
    for (const bool is_signed : {false, true}) {
      const auto find = [=](uint64_t value) -> uint64_t {
        const bool sign = is_signed && bit(value, width - 1);
        for (int i = width - 1; i >= 0; --i) {
          if (bit(value, i) != sign) return static_cast<uint64_t>(i);
        }
        return 0xFFFFFFFF;
      };
      const char kind = is_signed ? 's' : 'u';
      CheckRow(Op::kBfind, fmt::format("bfind.{}{} d, s0;", kind, width), 32, {width}, inputs,
               [=](const Tuple& s) { return find(s[0]); });
      CheckRow(Op::kBfind, fmt::format("bfind.shiftamt.{}{} d, s0;", kind, width), 32, {width},
               inputs, [=](const Tuple& s) {
                 const uint64_t at = find(s[0]);
                 return at == 0xFFFFFFFF ? at : static_cast<uint64_t>(width - 1) - at;
               });
      const auto fields = Combine(3, {0, 1, 8, 31, 32, 33, 63, 64, 200, 255, 0xF0F0F0F0F0F0F0F0});
      CheckRow(Op::kBfe, fmt::format("bfe.{}{} d, s0, s1, s2;", kind, width), width,
               {width, 32, 32}, fields, [=](const Tuple& s) {
                 // The pseudo-code of the PTX ISA.
                 const int msb = width - 1;
                 const auto pos = static_cast<int>(s[1] & 0xFF);
                 const auto len = static_cast<int>(s[2] & 0xFF);
                 const bool sbit = is_signed && len != 0 && bit(s[0], std::min(pos + len - 1, msb));
                 uint64_t out = 0;
                 for (int i = 0; i <= msb; ++i) {
                   const bool b = i < len && pos + i <= msb ? bit(s[0], pos + i) : sbit;
                   out |= uint64_t{b} << i;
                 }
                 return out;
               });
    }
    const auto fields = Combine(4, {0, 5, 32, 40, 255, 0x0F0F0F0F0F0F0F0F});
    CheckRow(Op::kBfi, fmt::format("bfi.b{} d, s0, s1, s2, s3;", width), width,
             {width, width, 32, 32}, fields, [=](const Tuple& s) {
               const auto pos = static_cast<int>(s[2] & 0xFF);
               const auto len = static_cast<int>(s[3] & 0xFF);
               uint64_t out = 0;
               for (int i = 0; i < width; ++i) {
                 const bool inside = i >= pos && i < pos + len;
                 out |= uint64_t{inside ? bit(s[0], i - pos) : bit(s[1], i)} << i;
               }
               return out;
             });
  }
  // Of 0b10110: by hand.
  const std::vector<Tuple> fns = {{22, 0, 1},           {22, 0, 2}, {22, 0, 3}, {22, 0, 4},
                                  {22, 3, 1},           {22, 3, 0}, {22, 2, 0}, {22, 3, 0xFFFFFFFF},
                                  {22, 31, 0xFFFFFFFE}, {22, 40, 1}};
  const std::vector<uint64_t> nth = {1, 2, 4, 0xFFFFFFFF, 4, 0xFFFFFFFF, 2, 2, 2, 0xFFFFFFFF};
  EXPECT_EQ(RunRow(Op::kFns, "fns.b32 d, s0, s1, s2;", 32, {32, 32, 32}, fns), nth);
  Covers(Op::kFns);
}

TEST(Integer, TakesDotProducts) {
  const auto inputs = Combine(3, {0, 1, 0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0x01020304});
  for (const char a : {'u', 's'}) {
    for (const char b : {'u', 's'}) {
      const auto part = [](uint64_t word, int at, int bits, char kind) {
        return kind == 's' ? SignedOf(word >> (at * bits), bits)
                           : Wide{Low(word >> (at * bits), bits)};
      };
      CheckRow(Op::kDp4a, fmt::format("dp4a.{}32.{}32 d, s0, s1, s2;", a, b), 32, {32, 32, 32},
               inputs, [=](const Tuple& s) {
                 Wide sum = Wide{s[2]};
                 for (int i = 0; i < 4; ++i) sum += part(s[0], i, 8, a) * part(s[1], i, 8, b);
                 return static_cast<uint64_t>(sum);
               });
      for (const int first : {0, 2}) {
        CheckRow(Op::kDp2a,
                 fmt::format("dp2a.{}.{}32.{}32 d, s0, s1, s2;", first == 0 ? "lo" : "hi", a, b),
                 32, {32, 32, 32}, inputs, [=](const Tuple& s) {
                   Wide sum = Wide{s[2]};
                   for (int i = 0; i < 2; ++i) {
                     sum += part(s[0], i, 16, a) * part(s[1], first + i, 8, b);
                   }
                   return static_cast<uint64_t>(sum);
                 });
      }
    }
  }
}

}  // namespace
}  // namespace tarsia::ptx::integer_test
