// bmsk and szext, bit by bit.
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::field_test {
namespace {

TEST(Field, Masks) {
  for (const bool clamp : {false, true}) {
    const auto mask = [&](const Tuple& s) {
      const uint64_t from = clamp ? s[0] : s[0] % 32;
      const uint64_t count = clamp ? s[1] : s[1] % 32;
      uint64_t bits = 0;
      for (uint64_t i = 0; i < 32; ++i) {
        if (i >= from && i - from < count) bits |= uint64_t{1} << i;
      }
      return bits;
    };
    CheckRow(Op::kBmsk, clamp ? "bmsk.clamp.b32 d, s0, s1;" : "bmsk.wrap.b32 d, s0, s1;", 32,
             {32, 32}, Combine(2, EdgeIntegers()), mask);
  }
}

TEST(Field, Extensions) {
  for (const bool clamp : {false, true}) {
    for (const bool is_signed : {false, true}) {
      const auto extended = [&](const Tuple& s) {
        const uint64_t width = clamp ? s[1] : s[1] % 32;
        uint64_t bits = 0;
        for (uint64_t i = 0; i < 32; ++i) {
          // Above the field stands its highest bit, or 0.
          const bool inside = i < width;
          const uint64_t from = inside ? i : width - 1;
          if (width != 0 && (inside || is_signed)) bits |= (s[0] >> from & 1) << i;
        }
        return bits;
      };
      CheckRow(Op::kSzext,
               fmt::format("szext.{}.{} d, s0, s1;", clamp ? "clamp" : "wrap",
                           is_signed ? "s32" : "u32"),
               32, {32, 32}, Combine(2, EdgeIntegers()), extended);
    }
  }
}

}  // namespace
}  // namespace tarsia::ptx::field_test
