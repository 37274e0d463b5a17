// RoundTo, which has a short way for f16 and bf16, against the conversions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "dtypes/convert.h"
#include "dtypes/scale_search.h"

namespace tarsia::scale_rounding_test {
namespace {

double ByConversion(DType type, double value) {
  return DecodeToDouble(
      type, EncodeFromDouble(type, value, {Rounding::kNearestEven, Overflow::kSaturate}));
}

void Compare(DType type, double value) {
  const double is = internal::RoundTo(type, value), wanted = ByConversion(type, value);
  ASSERT_EQ(std::bit_cast<uint64_t>(is), std::bit_cast<uint64_t>(wanted))
      << DTypeName(type) << " " << value;
}

// Every number of the type, the middles between neighbours, and what lies next to both.
TEST(ScaleRounding, IsThatOfTheConversions) {
  for (const DType type : {kF16, kBF16}) {
    const double last = DecodeToDouble(type, type == kF16 ? 0x7BFF : 0x7F7F);
    for (uint64_t code = 0; DecodeToDouble(type, code) < last; ++code) {
      const double low = DecodeToDouble(type, code), high = DecodeToDouble(type, code + 1);
      for (const double at : {low, low / 2 + high / 2, high}) {
        for (const double value : {at, std::nextafter(at, 0.0), std::nextafter(at, HUGE_VAL)}) {
          Compare(type, value);
          Compare(type, -value);
        }
      }
    }
    for (const double value : {last * 1.0001, 1e300, HUGE_VAL, 1e-300}) Compare(type, value);
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                                    static_cast<int>(random() % 60) - 30);
    for (const DType type : {kF16, kBF16, kF32, kF8E4M3FN}) Compare(type, value);
  }
}

}  // namespace
}  // namespace tarsia::scale_rounding_test
