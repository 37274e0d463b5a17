// Arithmetic on pairs of f32: each half is what the same instruction on f32 gives.
#include <cfenv>
#include <cmath>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::pair_test {
namespace {

const std::vector<uint64_t>& Values() {
  static const std::vector<uint64_t> values = {
      0x3F80000000000000, 0x80000000BF800000, 0x7F8000003EAAAAAB, 0x0000000100800000,
      0x7F7FFFFF33800000, 0x7FC0000140490FDB, 0xC2F6E9793F800001, 0x807FFFFF00000003};
  return values;
}

float Flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

uint32_t Half(const Tuple& s, size_t n, int shift) { return static_cast<uint32_t>(s[n] >> shift); }

// The host's result in a rounding mode.
template <typename F>
uint64_t OnHalves(const Tuple& s, int mode, bool ftz, const F& f) {
  uint64_t out = 0;
  for (const int shift : {0, 32}) {
    float x[3] = {};
    for (size_t n = 0; n < s.size(); ++n) {
      x[n] = std::bit_cast<float>(Half(s, n, shift));
      if (ftz) x[n] = Flushed(x[n]);
    }
    std::fesetround(mode);
    volatile float value = f(x[0], x[1], x[2]);
    std::fesetround(FE_TONEAREST);
    float result = value;
    if (ftz) result = Flushed(result);
    const uint32_t bits = std::isnan(result) ? 0x7FFFFFFF : std::bit_cast<uint32_t>(result);
    out |= uint64_t{bits} << shift;
  }
  return out;
}

struct Rounding {
  const char* name;
  int mode;
};
constexpr Rounding kRoundings[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

template <typename F>
void Check(Op op, const std::string& name, size_t sources, const F& f) {
  const std::string operands = sources == 2 ? " d, s0, s1;" : " d, s0, s1, s2;";
  const std::vector<int> widths(sources, 64);
  for (const Rounding& rounding : kRoundings) {
    for (const bool ftz : {false, true}) {
      CheckRow(
          op, name + "." + rounding.name + (ftz ? ".ftz" : "") + ".f32x2" + operands, 64, widths,
          Combine(sources, Values()),
          [&](const Tuple& s) { return OnHalves(s, rounding.mode, ftz, f); }, kNewHeader);
    }
  }
}

TEST(Pair, Arithmetic) {
  Check(Op::kAddF32x2, "add", 2, [](float a, float b, float) { return a + b; });
  Check(Op::kSubF32x2, "sub", 2, [](float a, float b, float) { return a - b; });
  Check(Op::kMulF32x2, "mul", 2, [](float a, float b, float) { return a * b; });
  Check(Op::kFmaF32x2, "fma", 3, [](float a, float b, float c) { return std::fma(a, b, c); });
}

}  // namespace
}  // namespace tarsia::ptx::pair_test
