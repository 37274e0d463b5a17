// cvt against the types' own library and plain formulas.
#include <algorithm>
#include <bit>
#include <cmath>

#include "dtypes/convert.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::convert_test {
namespace {

using Wide = __int128;

struct IntType {
  char kind;
  int width;
  [[nodiscard]] std::string name() const { return fmt::format("{}{}", kind, width); }
  [[nodiscard]] Wide least() const { return kind == 's' ? -(Wide{1} << (width - 1)) : Wide{0}; }
  [[nodiscard]] Wide most() const { return (Wide{1} << (kind == 's' ? width - 1 : width)) - 1; }
  [[nodiscard]] Wide Read(uint64_t bits) const {
    const uint64_t low = Low(bits, width);
    const bool negative = kind == 's' && (low >> (width - 1) & 1) != 0;
    return negative ? Wide{low} - (Wide{1} << width) : Wide{low};
  }
  // Registers have at least 16 bits; 8-bit values are extended to them.
  [[nodiscard]] int reg() const { return std::max(width, 16); }
};

std::vector<IntType> IntTypes() {
  std::vector<IntType> types;
  for (const char kind : {'u', 's'}) {
    for (const int width : {8, 16, 32, 64}) types.push_back({kind, width});
  }
  return types;
}

TEST(Convert, Integers) {
  const auto inputs = Combine(1, EdgeIntegers());
  for (const IntType& to : IntTypes()) {
    for (const IntType& from : IntTypes()) {
      CheckRow(Op::kCvtInt, "cvt." + to.name() + "." + from.name() + " d, s0;", to.reg(),
               {from.reg()}, inputs, [&](const Tuple& s) {
                 return static_cast<uint64_t>(to.Read(static_cast<uint64_t>(from.Read(s[0]))));
               });
      if (from.least() >= to.least() && from.most() <= to.most()) continue;
      CheckRow(Op::kCvtInt, "cvt.sat." + to.name() + "." + from.name() + " d, s0;", to.reg(),
               {from.reg()}, inputs, [&](const Tuple& s) {
                 return static_cast<uint64_t>(std::clamp(from.Read(s[0]), to.least(), to.most()));
               });
    }
  }
}

std::vector<Tuple> Doubles() {
  std::vector<Tuple> inputs;
  for (const double value : std::initializer_list<double>{
           0.0,          0.5,   1.5,    2.5,     0.49999, 0.75,  1.0,          127.5,
           128.0,        255.4, 255.5,  32767.5, 65535.9, 1e9,   2147483647.5, 4294967295.5,
           4294967296.0, 1e18,  9.3e18, 1.9e19,  1e30,    1e300, INFINITY}) {
    inputs.push_back({std::bit_cast<uint64_t>(value)});
    inputs.push_back({std::bit_cast<uint64_t>(-value)});
  }
  return inputs;
}

// Constants and registers of 8 bits, which are as wide as the type and no wider.
TEST(Convert, Bytes) {
  CheckRow(Op::kCvtInt, "cvt.u8.u8 d, 0xF6;", 16, {16}, Combine(1, {0}),
           [](const Tuple&) { return uint64_t{0xF6}; });
  CheckRow(Op::kCvtInt, "cvt.u8.u16 _, s0; cvt.s16.s8 d, 0xF6;", 16, {16}, Combine(1, {0}),
           [](const Tuple&) { return uint64_t{0xFFF6}; });
  CheckRow(Op::kCvtInt, "{ .reg .b8 byte; cvt.u8.u32 byte, s0; cvt.s32.s8 d, byte; }", 32, {32},
           Combine(1, EdgeIntegers()), [](const Tuple& s) {
             const uint64_t byte = s[0] & 0xFF;
             return byte < 0x80 ? byte : byte | 0xFFFFFF00;
           });
}

TEST(Convert, FloatsToIntegers) {
  struct Mode {
    const char* name;
    double (*round)(double);
  };
  const Mode modes[] = {{"rni", [](double v) { return std::nearbyint(v); }},
                        {"rzi", [](double v) { return std::trunc(v); }},
                        {"rmi", [](double v) { return std::floor(v); }},
                        {"rpi", [](double v) { return std::ceil(v); }}};
  for (const IntType& to : IntTypes()) {
    for (const Mode& mode : modes) {
      const auto expected = [&](double value) {
        const double whole = mode.round(value);
        if (whole <= static_cast<double>(to.least())) return static_cast<uint64_t>(to.least());
        if (whole >= static_cast<double>(to.most())) return static_cast<uint64_t>(to.most());
        return static_cast<uint64_t>(static_cast<Wide>(whole));
      };
      CheckRow(Op::kCvt, fmt::format("cvt.{}.{}.f64 d, s0;", mode.name, to.name()), to.reg(), {64},
               Doubles(), [&](const Tuple& s) { return expected(std::bit_cast<double>(s[0])); });
      std::vector<Tuple> floats = Doubles();
      for (Tuple& tuple : floats) {
        tuple[0] = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(tuple[0])));
      }
      CheckRow(Op::kCvt, fmt::format("cvt.{}.{}.f32 d, s0;", mode.name, to.name()), to.reg(), {32},
               floats, [&](const Tuple& s) {
                 return expected(std::bit_cast<float>(static_cast<uint32_t>(s[0])));
               });
    }
  }
  // NaN: zero, but the highest bit from f64 or to 64 bits.
  CheckRow(Op::kCvt, "cvt.rzi.s32.f32 d, s0;", 32, {32}, {{0x7FC00000}},
           [](const Tuple&) { return 0; });
  CheckRow(Op::kCvt, "cvt.rzi.s64.f32 d, s0;", 64, {32}, {{0x7FC00000}},
           [](const Tuple&) { return uint64_t{1} << 63; });
  CheckRow(Op::kCvt, "cvt.rzi.u32.f64 d, s0;", 32, {64}, {{0x7FF8000000000000}},
           [](const Tuple&) { return uint64_t{1} << 31; });
}

TEST(Convert, IntegersToFloats) {
  const auto inputs = Combine(1, EdgeIntegers());
  for (const IntType& from : IntTypes()) {
    CheckRow(Op::kCvt, "cvt.rn.f32." + from.name() + " d, s0;", 32, {from.reg()}, inputs,
             [&](const Tuple& s) {
               const Wide value = from.Read(s[0]);
               return std::bit_cast<uint32_t>(
                   from.kind == 's' ? static_cast<float>(static_cast<int64_t>(value))
                                    : static_cast<float>(static_cast<uint64_t>(value)));
             });
    CheckRow(Op::kCvt, "cvt.rn.f64." + from.name() + " d, s0;", 64, {from.reg()}, inputs,
             [&](const Tuple& s) {
               const Wide value = from.Read(s[0]);
               return std::bit_cast<uint64_t>(
                   from.kind == 's' ? static_cast<double>(static_cast<int64_t>(value))
                                    : static_cast<double>(static_cast<uint64_t>(value)));
             });
  }
  // 2^24 + 1 lies between two floats.
  const auto check = [](const char* mode, uint64_t value, float expected) {
    CheckRow(Op::kCvt, fmt::format("cvt.{}.f32.s32 d, s0;", mode), 32, {32}, {{value}},
             [=](const Tuple&) { return std::bit_cast<uint32_t>(expected); });
  };
  check("rz", 16777217, 16777216.0F);
  check("rp", 16777217, 16777218.0F);
  check("rm", 0xFEFFFFFF, -16777218.0F);
  CheckRow(Op::kCvt, "cvt.rn.f16.s32 d, s0;", 16, {32}, {{2049}, {70000}, {0xFFFFFFFF}},
           [](const Tuple& s) { return s[0] == 2049    ? 0x6800
                                       : s[0] == 70000 ? 0x7C00
                                                       : 0xBC00; });
}

uint64_t Encoded(DType type, double value, CastOptions options = {}) {
  if (std::isnan(value)) return type == kF32 ? 0x7FFFFFFF : 0x7FFF;
  return EncodeFromDouble(type, value, options);
}

TEST(Convert, Floats) {
  const auto floats = Combine(1, {0, 0x80000000, 0x3F800000, 0x3F801000, 0x3F802000, 0x3F808000,
                                  0x3F818000, 0x477FE000, 0x477FF000, 0x7F7FFFFF, 0x7F800000,
                                  0xFF800000, 0x33000000, 0x33000001, 0x387FC000, 1, 0x00800000});
  const auto value = [](const Tuple& s) {
    return double{std::bit_cast<float>(static_cast<uint32_t>(s[0]))};
  };
  const std::pair<const char*, DType> halves[] = {{"f16", kF16}, {"bf16", kBF16}};
  for (const auto& half : halves) {
    const char* const name = half.first;
    const DType type = half.second;
    CheckRow(Op::kCvt, fmt::format("cvt.rn.{}.f32 d, s0;", name), 16, {32}, floats,
             [&](const Tuple& s) { return Encoded(type, value(s)); });
    CheckRow(Op::kCvt, fmt::format("cvt.f32.{} d, s0;", name), 32, {16}, floats,
             [&](const Tuple& s) { return Encoded(kF32, DecodeToDouble(type, s[0])); });
    CheckRow(Op::kCvtPair, fmt::format("cvt.rn.{}x2.f32 d, s0, s1;", name), 32, {32, 32},
             Combine(2, {0x3F801000, 0x477FF000, 0xBF818000, 0x7FC00000}), [&](const Tuple& s) {
               return Encoded(type, value(s)) << 16 | Encoded(type, value({s[1]}));
             });
    CheckRow(Op::kCvtPair, fmt::format("cvt.rn.relu.{}x2.f32 d, s0, s1;", name), 32, {32, 32},
             {{0xBF800000, 0x3F800000}},
             [&](const Tuple& s) { return Encoded(type, value({s[1]})); });
    CheckRow(Op::kCvtNarrow, fmt::format("cvt.rn.relu.{}.f32 d, s0;", name), 16, {32}, floats,
             [&](const Tuple& s) {
               const uint64_t code = Encoded(type, value(s));
               return (code & 0x8000) != 0 ? 0 : code;
             });
    CheckRow(Op::kCvt, fmt::format("cvt.rz.{}.f32 d, s0;", name), 16, {32}, floats,
             [&](const Tuple& s) {
               if (std::isinf(value(s))) return Encoded(type, value(s));
               return Encoded(type, value(s), {.rounding = Rounding::kTowardZero});
             });
  }
  CheckRow(Op::kCvt, "cvt.rn.f32.f64 d, s0;", 32, {64},
           Combine(1, {0x3FF0000010000000, 0x3FF0000030000000}), [](const Tuple& s) {
             const double number = std::bit_cast<double>(s[0]);
             return std::isnan(number) ? 0x7FFFFFFF
                                       : std::bit_cast<uint32_t>(static_cast<float>(number));
           });
  CheckRow(Op::kCvt, "cvt.sat.f32.f32 d, s0;", 32, {32}, floats, [&](const Tuple& s) {
    const double v = value(s);
    return std::bit_cast<uint32_t>(
        static_cast<float>(std::isnan(v) || v <= 0 ? 0.0 : std::min(v, 1.0)));
  });
  CheckRow(Op::kCvt, "cvt.rni.f32.f32 d, s0;", 32, {32},
           {{0x40200000}, {0x40600000}, {0xBE800000}, {0x4B000001}}, [&](const Tuple& s) {
             return std::bit_cast<uint32_t>(static_cast<float>(std::nearbyint(value(s))));
           });
  CheckRow(Op::kCvt, "cvt.rmi.ftz.f32.f32 d, s0;", 32, {32}, {{0x80000001}, {0xBF000000}},
           [](const Tuple& s) { return s[0] == 0x80000001 ? 0x80000000 : 0xBF800000; });
}

TEST(Convert, TensorFormats) {
  // tf32 keeps 10 bits of the fraction: to nearest, ties away or to even.
  const std::vector<Tuple> ties = {
      {0x3F801000}, {0x3F803000}, {0xBF801000}, {0x3F800FFF}, {0x7F7FFFFF}};
  CheckRow(Op::kCvtNarrow, "cvt.rna.tf32.f32 d, s0;", 32, {32}, ties,
           [](const Tuple& s) { return (s[0] + 0x1000) & 0xFFFFE000; });
  CheckRow(Op::kCvtNarrow, "cvt.rn.tf32.f32 d, s0;", 32, {32}, ties,
           [](const Tuple& s) { return (s[0] + 0x0FFF + (s[0] >> 13 & 1)) & 0xFFFFE000; });
  const auto inputs = Combine(2, {0, 0x3F800000, 0xBF880000, 0x43E00000, 0x43E80000, 0x44000000,
                                  0x47600000, 0x7F800000, 0x3A800000, 0x38000000, 0xC3E10000});
  const std::pair<const char*, DType> types[] = {{"e4m3x2", kF8E4M3FN}, {"e5m2x2", kF8E5M2}};
  for (const auto& pair : types) {
    const char* const name = pair.first;
    const DType type = pair.second;
    const auto code = [type](double v) -> uint64_t {
      if (std::isnan(v)) return 0x7F;
      return EncodeFromDouble(type, v, {.overflow = Overflow::kSaturate});
    };
    const auto f32 = [](uint64_t bits) {
      return double{std::bit_cast<float>(static_cast<uint32_t>(bits))};
    };
    CheckRow(Op::kCvtF8Pair, fmt::format("cvt.rn.satfinite.{}.f32 d, s0, s1;", name), 16, {32, 32},
             inputs, [&](const Tuple& s) { return code(f32(s[0])) << 8 | code(f32(s[1])); });
    CheckRow(Op::kCvtF8Half, fmt::format("cvt.rn.satfinite.{}.f16x2 d, s0;", name), 16, {32},
             Combine(1, {0x3C007BFF, 0x5F00DF80, 0x00010400, 0x7C00FC00}), [&](const Tuple& s) {
               return code(DecodeToDouble(kF16, s[0] >> 16)) << 8 |
                      code(DecodeToDouble(kF16, s[0] & 0xFFFF));
             });
    std::vector<Tuple> all;
    for (uint64_t i = 0; i < 256; ++i) all.push_back({i << 8 | (255 - i)});
    CheckRow(Op::kCvtHalfF8, fmt::format("cvt.rn.f16x2.{} d, s0;", name), 32, {16}, all,
             [type](const Tuple& s) {
               return Encoded(kF16, DecodeToDouble(type, s[0] >> 8)) << 16 |
                      Encoded(kF16, DecodeToDouble(type, s[0] & 0xFF));
             });
  }
}

TEST(Convert, Packs) {
  const auto inputs = Combine(3, {0, 5, 0x7FFFFFFF, 0x80000000, 300, 0xFFFFFF00});
  const auto clamp = [](uint64_t bits, int64_t least, int64_t most) {
    return static_cast<uint64_t>(std::clamp<int64_t>(static_cast<int32_t>(bits), least, most));
  };
  CheckRow(Op::kCvtPack, "cvt.pack.sat.s16.s32 d, s0, s1;", 32, {32, 32, 32}, inputs,
           [&](const Tuple& s) {
             return clamp(s[0], -32768, 32767) << 16 | (clamp(s[1], -32768, 32767) & 0xFFFF);
           });
  CheckRow(Op::kCvtPackBytes, "cvt.pack.sat.u8.s32.b32 d, s0, s1, s2;", 32, {32, 32, 32}, inputs,
           [&](const Tuple& s) {
             return (s[2] & 0xFFFF) << 16 | clamp(s[0], 0, 255) << 8 | clamp(s[1], 0, 255);
           });
}

}  // namespace
}  // namespace tarsia::ptx::convert_test
