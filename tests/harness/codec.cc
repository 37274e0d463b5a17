#include "tests/harness/codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tests/unit/dtypes/oracle.h"

namespace tarsia::harness {
namespace {

// Formats are made from the names of types; names are looked up once.
const oracle::Format& FormatOf(DType type) {
  static const auto formats = [] {
    std::array<oracle::Format, 256> all;
    for (const DTypeRow& row : AllDTypes()) {
      const bool wide = row.type == kF32 || row.type == kF64;
      if (row.type.IsFloat() && !wide) all[DTypeIndex(row.type)] = oracle::FormatOf(row.name);
    }
    all[DTypeIndex(kF32)] = {8, 23, 127, 0, 32, oracle::Kind::kIeee};
    all[DTypeIndex(kF64)] = {11, 52, 1023, 0, 64, oracle::Kind::kIeee};
    return all;
  }();
  return formats[DTypeIndex(type)];
}

double DecodeFloat(DType type, uint64_t code) {
  if (type == kF64) return std::bit_cast<double>(code);
  if (type == kF32) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(code)));
  return oracle::Decode(FormatOf(type), code);
}

std::optional<uint64_t> EncodeSpecial(const oracle::Format& f, double value) {
  const int magnitude_bits = f.exponent + f.mantissa;
  const uint64_t top = ((uint64_t{1} << f.exponent) - 1) << f.mantissa;
  const uint64_t sign = uint64_t{std::signbit(value)} << magnitude_bits;
  if (std::isinf(value)) {
    if (f.kind != oracle::Kind::kIeee) return std::nullopt;
    return (sign | top) << f.low;
  }
  switch (f.kind) {
    case oracle::Kind::kIeee:
      return (top | uint64_t{1} << (f.mantissa - 1)) << f.low;
    case oracle::Kind::kFn:
      return (uint64_t{1} << magnitude_bits) - 1;
    case oracle::Kind::kFnuz:
      return uint64_t{1} << magnitude_bits;
    case oracle::Kind::kFinite:
      break;
  }
  return std::nullopt;
}

std::optional<uint64_t> EncodeFloat(DType type, double value) {
  if (type == kF64) return std::bit_cast<uint64_t>(value);
  const oracle::Format& f = FormatOf(type);
  if (!std::isfinite(value)) return EncodeSpecial(f, value);
  const uint64_t sign = uint64_t{std::signbit(value)} << (f.exponent + f.mantissa);
  uint64_t code = 0;
  if (value != 0) {
    const int exponent = std::max(std::ilogb(value), 1 - f.bias);
    const double scaled = std::ldexp(std::fabs(value), f.mantissa - exponent);
    if (scaled != std::floor(scaled)) return std::nullopt;
    const auto significand = static_cast<uint64_t>(scaled);
    const uint64_t hidden = uint64_t{1} << f.mantissa;
    code = significand;
    if (significand >= hidden) {
      const auto field = static_cast<uint64_t>(exponent + f.bias);
      if (field >= uint64_t{1} << f.exponent) return std::nullopt;
      code = (field << f.mantissa) + (significand - hidden);
    }
  }
  code = (sign | code) << f.low;
  const double back = DecodeFloat(type, code);
  const bool same = back == value && std::signbit(back) == std::signbit(value);
  return same ? std::optional(code) : std::nullopt;
}

}  // namespace

int64_t DecodeInteger(DType type, uint64_t code) {
  code &= CodeMask(type);
  const bool negative = type.IsSigned() && (code >> (type.bits - 1) & 1) != 0;
  return static_cast<int64_t>(negative ? code | ~CodeMask(type) : code);
}

double Decode(DType type, uint64_t code) {
  switch (type.kind) {
    case DTypeKind::kUnsigned:
      return static_cast<double>(code & CodeMask(type));
    case DTypeKind::kSigned:
      return static_cast<double>(DecodeInteger(type, code));
    case DTypeKind::kBool:
      return (code & 0xFF) != 0 ? 1 : 0;
    case DTypeKind::kFloat:
      return DecodeFloat(type, code & CodeMask(type));
    case DTypeKind::kExponent:
      return (code & 0xFF) == 0xFF ? oracle::kNan
                                   : std::ldexp(1.0, static_cast<int>(code & 0xFF) - 127);
    case DTypeKind::kComplex:
      return DecodeFloat(ComponentOf(type), code & CodeMask(ComponentOf(type)));
  }
  return 0;
}

double DecodeImaginary(DType type, uint64_t code) {
  if (!type.IsComplex()) return 0;
  const DType part = ComponentOf(type);
  return DecodeFloat(part, code >> part.bits & CodeMask(part));
}

std::optional<uint64_t> EncodeInteger(DType type, bool negative, uint64_t magnitude) {
  if (!type.IsInteger()) return std::nullopt;
  const uint64_t half = uint64_t{1} << (type.bits - 1);
  uint64_t most = CodeMask(type);
  if (type.IsSigned()) most = negative ? half : half - 1;
  if (type.IsUnsigned() && negative) most = 0;
  if (magnitude > most) return std::nullopt;
  return (negative ? ~magnitude + 1 : magnitude) & CodeMask(type);
}

std::optional<uint64_t> EncodeExact(DType type, double value) {
  if (type.IsFloat()) return EncodeFloat(type, value);
  if (type.IsComplex()) return EncodeFloat(ComponentOf(type), value);
  if (!std::isfinite(value)) {
    return type.IsExponent() && std::isnan(value) ? std::optional<uint64_t>(0xFF) : std::nullopt;
  }
  if (type.IsBool()) {
    if (value != 0 && value != 1) return std::nullopt;
    return value == 1 ? 1 : 0;
  }
  if (type.IsExponent()) {
    if (value <= 0) return std::nullopt;
    const int exponent = std::ilogb(value);
    if (std::ldexp(1.0, exponent) != value || exponent < -127 || exponent > 127) {
      return std::nullopt;
    }
    return static_cast<uint64_t>(exponent + 127);
  }
  if (value != std::floor(value) || std::fabs(value) >= 0x1p64) return std::nullopt;
  return EncodeInteger(type, value < 0, static_cast<uint64_t>(std::fabs(value)));
}

bool IsNan(DType type, uint64_t code) { return std::isnan(Decode(type, code)); }

double UlpAt(DType type, double value) {
  if (!type.IsFloat() && !type.IsComplex()) return 1;
  const oracle::Format& f = FormatOf(type.IsComplex() ? ComponentOf(type) : type);
  const int least = 1 - f.bias;
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - f.mantissa);
}

double LargestFinite(DType type) {
  const DType real = type.IsComplex() ? ComponentOf(type) : type;
  const uint64_t sign = real.IsUnsigned() || real.IsExponent() ? 0 : uint64_t{1} << (real.bits - 1);
  uint64_t code = CodeMask(real) & ~sign;
  while (!std::isfinite(Decode(real, code))) --code;
  return Decode(real, code);
}

std::string Show(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  if (std::strtod(text, nullptr) != value) std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string Show(DType type, uint64_t code) {
  char text[48];
  std::snprintf(text, sizeof(text), " (0x%0*" PRIX64 ")", (type.bits + 3) / 4, code);
  if (type == kU64) return std::to_string(code) + text;
  if (type.IsInteger()) return std::to_string(DecodeInteger(type, code)) + text;
  const double value = Decode(type, code);
  if (!type.IsComplex()) return Show(value) + text;
  return "(" + Show(value) + ", " + Show(DecodeImaginary(type, code)) + ")" + text;
}

}  // namespace tarsia::harness
