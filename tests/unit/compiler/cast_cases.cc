#include "tests/unit/compiler/cast_cases.h"

#include <bit>
#include <cmath>
#include <random>
#include <string_view>

#include "dtypes/convert.h"
#include "tests/settings.h"

namespace tarsia::compiler {
namespace {

// Values where roundings to small types change, as f64; sorted by nothing.
const std::vector<double>& Boundaries() {
  static const std::vector<double> all = [] {
    std::vector<double> values;
    for (const DTypeRow& row : AllDTypes()) {
      const DType type = row.type;
      const int limit = IsLong() ? 16 : 8;
      if ((!type.IsFloat() && !type.IsExponent()) || type.bits > limit) continue;
      const uint64_t most = MaxFiniteCode(type);
      for (uint64_t code = 0; code <= most; ++code) {
        const double value = DecodeToDouble(type, code);
        const double next = code < most ? DecodeToDouble(type, code + 1)
                                        : 2 * value - DecodeToDouble(type, code - 1);
        values.push_back(value);
        values.push_back(value + (next - value) / 2);
      }
      values.push_back(DecodeToDouble(type, 1) / 2);
      values.push_back(2 * DecodeToDouble(type, most));
    }
    return values;
  }();
  return all;
}

void AddAround(DType type, uint64_t code, std::vector<uint64_t>& codes) {
  const uint64_t step = type == kTF32 ? uint64_t{1} << 13 : 1;
  for (const uint64_t c : {code, code + step, code - step}) codes.push_back(c & CodeMask(type));
}

void AddFloats(DType type, std::vector<uint64_t>& codes) {
  const uint64_t sign = uint64_t{1} << (type.bits - 1);
  for (const double value : Boundaries()) {
    const uint64_t code = CastCode(kF64, std::bit_cast<uint64_t>(value), type);
    AddAround(type, code, codes);
    codes.push_back(code | sign);
    codes.push_back((code | sign) + 1);
  }
  const uint64_t infinity = MaxFiniteCode(type) + (type == kTF32 ? 0x2000 : 1);
  for (const uint64_t code :
       {uint64_t{0}, infinity, uint64_t{1} << type.mantissa, CodeMask(type)}) {
    AddAround(type, code, codes);
    AddAround(type, code | sign, codes);
  }
}

void AddIntegers(DType type, std::vector<uint64_t>& codes) {
  for (int bit = 0; bit < type.bits; ++bit) {
    for (uint64_t low = 0; low < 5; ++low) {
      const uint64_t power = uint64_t{1} << bit;
      for (const uint64_t code : {power + low, power - low, ~power + low, power + power / 2 - low,
                                  power | power >> 24 | low, power | power >> 53 | power >> 54}) {
        codes.push_back(code & CodeMask(type));
      }
    }
  }
}

}  // namespace

std::vector<uint64_t> InterestingCodes(DType type) {
  std::vector<uint64_t> codes;
  if (type.IsBool()) return {0, 1};
  if (type.bits <= 16) {
    for (uint64_t code = 0; code <= CodeMask(type); ++code) codes.push_back(code);
    return codes;
  }
  std::mt19937_64 random(type.bits);
  if (type.IsFloat()) AddFloats(type, codes);
  if (type.IsInteger()) AddIntegers(type, codes);
  const int count = IsLong() ? 1000000 : 3000;
  for (int i = 0; i < count; ++i) {
    const uint64_t bits = random();
    codes.push_back(bits & CodeMask(type));
    codes.push_back(type.IsInteger() ? (bits & CodeMask(type)) >> (random() % type.bits)
                                     : bits & CodeMask(type));
  }
  return codes;
}

}  // namespace tarsia::compiler
