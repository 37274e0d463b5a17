// DecodeToString and ParseValue: numbers as text, exactly, over a small big-integer.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dtypes/convert.h"
#include "dtypes/exact.h"

namespace tarsia {
namespace {

using internal::Exact;
using internal::NumberClass;

// A natural number, 32 bits a limb, least significant first, no leading zero limbs.
class Natural {
 public:
  explicit Natural(uint64_t value) {
    for (; value != 0; value >>= 32) limbs_.push_back(static_cast<uint32_t>(value));
  }
  [[nodiscard]] bool IsZero() const { return limbs_.empty(); }
  [[nodiscard]] int BitLength() const {
    if (limbs_.empty()) return 0;
    return static_cast<int>(limbs_.size()) * 32 - std::countl_zero(limbs_.back());
  }

  void MultiplyAdd(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (uint32_t& limb : limbs_) {
      carry += uint64_t{limb} * factor;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs_.push_back(static_cast<uint32_t>(carry));
  }

  void MultiplyPower(uint32_t base, int exponent) {
    for (; exponent > 0; --exponent) MultiplyAdd(base, 0);
  }

  void ShiftLeft(int count) {
    if (limbs_.empty()) return;
    if (count % 32 != 0) MultiplyAdd(uint32_t{1} << (count % 32), 0);
    limbs_.insert(limbs_.begin(), static_cast<size_t>(count / 32), 0);
  }

  [[nodiscard]] bool Less(const Natural& other) const {
    if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size();
    return std::lexicographical_compare(limbs_.rbegin(), limbs_.rend(), other.limbs_.rbegin(),
                                        other.limbs_.rend());
  }

  // this -= other, which is not larger.
  void Subtract(const Natural& other) {
    int64_t borrow = 0;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      int64_t limb = int64_t{limbs_[i]} + borrow;
      if (i < other.limbs_.size()) limb -= other.limbs_[i];
      limbs_[i] = static_cast<uint32_t>(limb);
      borrow = limb < 0 ? -1 : 0;
    }
    Trim();
  }

  // Divides by 10^9 and returns the remainder.
  uint32_t DivideBillion() {
    uint64_t remainder = 0;
    for (size_t i = limbs_.size(); i-- > 0;) {
      remainder = remainder << 32 | limbs_[i];
      limbs_[i] = static_cast<uint32_t>(remainder / 1'000'000'000);
      remainder %= 1'000'000'000;
    }
    Trim();
    return static_cast<uint32_t>(remainder);
  }

 private:
  void Trim() {
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  }
  std::vector<uint32_t> limbs_;
};

std::string DecimalDigits(Natural number) {
  std::string reversed;
  while (!number.IsZero()) {
    uint32_t chunk = number.DivideBillion();
    for (int i = 0; i < 9 && (chunk != 0 || !number.IsZero()); ++i, chunk /= 10) {
      reversed += static_cast<char>('0' + chunk % 10);
    }
  }
  return {reversed.rbegin(), reversed.rend()};
}

// --- printing ---

// 0.digits * 10^point as text. Positional if that is short, else d.ddde+-x.
std::string PlaceDigits(const std::string& digits, int point, bool positional) {
  const int count = static_cast<int>(digits.size());
  if (!positional && (point > 17 || point < -4)) {
    std::string out = digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    return out + "e" + std::to_string(point - 1);
  }
  if (point <= 0) return "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (count <= point) return digits + std::string(static_cast<size_t>(point - count), '0');
  return digits.substr(0, static_cast<size_t>(point)) + "." +
         digits.substr(static_cast<size_t>(point));
}

std::string ExactDecimal(const Exact& value, bool positional) {
  if (value.significand == 0) return "0";
  Natural number(value.significand);
  int point = 0;
  if (value.exponent >= 0) {
    number.ShiftLeft(value.exponent);
  } else {  // m / 2^n = m * 5^n / 10^n
    number.MultiplyPower(5, -value.exponent);
    point = value.exponent;
  }
  std::string digits = DecimalDigits(std::move(number));
  point += static_cast<int>(digits.size());
  digits.erase(digits.find_last_not_of('0') + 1);
  return PlaceDigits(digits, point, positional);
}

template <typename T>
std::string ShortestDecimal(T magnitude) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, magnitude);
  return {buffer, result.ptr};
}

std::string MagnitudeToString(DType type, uint64_t code, const Exact& value) {
  if (type == kF32) {
    return ShortestDecimal(std::bit_cast<float>(static_cast<uint32_t>(code & 0x7FFFFFFF)));
  }
  if (type == kF64) return ShortestDecimal(std::bit_cast<double>(code & ~(uint64_t{1} << 63)));
  return ExactDecimal(value, type.IsInteger());
}

// --- parsing ---

// Far outside of the range of every type, and far from overflow of an int.
constexpr int kFar = 1 << 20;

// A cursor over the text of a number.
struct Reader {
  std::string_view rest;
  [[nodiscard]] char Peek() const { return rest.empty() ? '\0' : rest.front(); }
  bool Accept(char lower) {  // of a letter, in either case
    const bool upper = Peek() >= 'A' && Peek() <= 'Z';
    if ((upper ? static_cast<char>(Peek() + ('a' - 'A')) : Peek()) != lower) return false;
    rest.remove_prefix(1);
    return true;
  }
};

int DigitValue(char c, int base) {
  int value = 99;
  if (c >= '0' && c <= '9') value = c - '0';
  if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
  if (c >= 'A' && c <= 'F') value = c - 'A' + 10;
  return value < base ? value : -1;
}

// Digits around an optional point: the significant ones, and the number of digits after the point.
struct Digits {
  std::vector<uint8_t> values;  // no leading zeros
  int64_t behind_point = 0;
};

std::optional<Digits> ReadDigits(Reader& reader, int base) {
  Digits out;
  bool any = false, point = false;
  while (true) {
    if (!point && reader.Accept('.')) {
      point = true;
      continue;
    }
    const int digit = DigitValue(reader.Peek(), base);
    if (digit < 0) break;
    reader.rest.remove_prefix(1);
    any = true;
    if (point) ++out.behind_point;
    if (digit != 0 || !out.values.empty()) out.values.push_back(static_cast<uint8_t>(digit));
  }
  return any ? std::optional<Digits>(std::move(out)) : std::nullopt;
}

// An optional exponent after `mark`; its size is clamped to kFar.
std::optional<int> ReadExponent(Reader& reader, char mark) {
  if (!reader.Accept(mark)) return 0;
  const bool negative = reader.Accept('-');
  if (!negative) reader.Accept('+');
  int value = 0;
  bool any = false;
  for (int digit; (digit = DigitValue(reader.Peek(), 10)) >= 0; any = true) {
    reader.rest.remove_prefix(1);
    value = std::min(kFar, value * 10 + digit);
  }
  if (!any) return std::nullopt;
  return negative ? -value : value;
}

// A number as read, its magnitude rounded to odd in 64 bits: exact, or inexact with the last bit
// set for what was lost. Rounding it again to fewer than 63 bits is the same as rounding the exact
// number.
struct Number : Exact {
  bool inexact = false;
};

// numerator / denominator, both positive.
Number DivideToOdd(Natural numerator, Natural denominator) {
  Number out;
  const int excess = numerator.BitLength() - denominator.BitLength();
  if (excess > 0) denominator.ShiftLeft(excess);
  if (excess < 0) numerator.ShiftLeft(-excess);
  out.exponent = excess;
  if (numerator.Less(denominator)) {
    numerator.ShiftLeft(1);
    --out.exponent;
  }
  for (int i = 0; i < 64; ++i) {  // the quotient is in [1, 2): bit by bit
    const bool bit = !numerator.Less(denominator);
    if (bit) numerator.Subtract(denominator);
    out.significand = out.significand << 1 | (bit ? 1 : 0);
    numerator.ShiftLeft(1);
  }
  out.inexact = !numerator.IsZero();
  if (out.inexact) out.significand |= 1;
  out.exponent -= 63;
  return out;
}

// A value outside of the range of all types.
Number FarValue(bool large) {
  return {{NumberClass::kFinite, false, 1, large ? 5000 : -5000}, true};
}

Number FromDecimal(const Digits& digits, int exponent) {
  // 768 digits tell every midpoint of f64 from its neighbours; later ones only break ties.
  constexpr size_t kKept = 800;
  const size_t count = digits.values.size();
  const size_t kept = std::min(count, kKept);
  if (kept == 0) return {};
  const int64_t scale = exponent - digits.behind_point + static_cast<int64_t>(count - kept);
  const int64_t leading = scale + static_cast<int64_t>(kept);  // 10^(leading-1) <= value
  if (leading > 400 || leading < -400) return FarValue(leading > 0);
  Natural numerator(0), denominator(1);
  for (size_t i = 0; i < kept; ++i) numerator.MultiplyAdd(10, digits.values[i]);
  const bool lost = std::any_of(digits.values.begin() + static_cast<std::ptrdiff_t>(kept),
                                digits.values.end(), [](uint8_t digit) { return digit != 0; });
  if (lost) numerator.MultiplyAdd(10, 1);
  const int64_t power = scale - (lost ? 1 : 0);
  if (power >= 0) numerator.MultiplyPower(10, static_cast<int>(power));
  if (power < 0) denominator.MultiplyPower(10, static_cast<int>(-power));
  return DivideToOdd(std::move(numerator), std::move(denominator));
}

Number FromHexadecimal(const Digits& digits, int exponent) {
  Number out;
  if (digits.values.empty()) return out;
  const size_t kept = std::min<size_t>(digits.values.size(), 16);
  for (size_t i = 0; i < kept; ++i) out.significand = out.significand << 4 | digits.values[i];
  const int free_bits = std::countl_zero(out.significand);
  out.significand <<= free_bits;
  int64_t scale = exponent - free_bits - 4 * digits.behind_point;
  for (size_t i = kept; i < digits.values.size(); ++i) {
    scale += 4;
    // If bits are left, the first dropped digit still contributes to them.
    if (i == kept && free_bits > 0) {
      out.significand |= uint64_t{digits.values[i]} >> (4 - free_bits);
    }
    const unsigned lost_mask = i == kept ? 0xFu >> free_bits : 0xFu;
    if ((digits.values[i] & lost_mask) != 0) out.inexact = true;
  }
  if (scale > 5000 || scale < -5000) return FarValue(scale > 0);
  if (out.inexact) out.significand |= 1;
  out.exponent = static_cast<int>(scale);
  return out;
}

std::optional<Number> ReadNumber(std::string_view text) {
  Reader reader{text};
  const bool negative = reader.Accept('-');
  if (!negative) reader.Accept('+');
  std::optional<Number> out;
  if (reader.rest == "inf") {
    out = Number{{NumberClass::kInfinity, false, 0, 0}, false};
  } else if (reader.rest == "nan") {
    out = Number{{NumberClass::kNan, false, 0, 0}, false};
  } else {
    const bool hexadecimal = reader.rest.starts_with("0x") || reader.rest.starts_with("0X");
    if (hexadecimal) reader.rest.remove_prefix(2);
    const std::optional<Digits> digits = ReadDigits(reader, hexadecimal ? 16 : 10);
    if (!digits) return std::nullopt;
    const std::optional<int> exponent = ReadExponent(reader, hexadecimal ? 'p' : 'e');
    if (!exponent || !reader.rest.empty()) return std::nullopt;
    out = hexadecimal ? FromHexadecimal(*digits, *exponent) : FromDecimal(*digits, *exponent);
  }
  out->negative = negative;
  return out;
}

// A finite value as an integer, if it is one and below 2^64 in magnitude.
std::optional<uint64_t> WholeMagnitude(const Exact& value) {
  if (value.significand == 0) return 0;
  const int zeros = std::countr_zero(value.significand);
  const uint64_t odd = value.significand >> zeros;
  const int shift = value.exponent + zeros;
  if (shift < 0 || shift > std::countl_zero(odd)) return std::nullopt;
  return odd << shift;
}

std::optional<uint64_t> ParseInteger(DType type, const Number& value) {
  // A value that 64 bits cannot hold has a fraction or is too large.
  if (value.number_class != NumberClass::kFinite || value.inexact) return std::nullopt;
  const std::optional<uint64_t> magnitude = WholeMagnitude(value);
  if (!magnitude) return std::nullopt;
  const uint64_t most = type.IsBool() ? 1 : type.IsSigned() ? CodeMask(type) >> 1 : CodeMask(type);
  if (value.negative && *magnitude != 0) {
    if (!type.IsSigned() || *magnitude > most + 1) return std::nullopt;
    return (uint64_t{0} - *magnitude) & CodeMask(type);
  }
  return *magnitude <= most ? magnitude : std::nullopt;
}

std::optional<uint64_t> ParseFloat(DType type, const Exact& value) {
  if (value.number_class == NumberClass::kNan && !type.HasNan()) return std::nullopt;
  if (value.number_class == NumberClass::kInfinity && !type.HasInfinity()) return std::nullopt;
  if (type.IsExponent() && (value.IsZero() || value.negative)) return std::nullopt;
  if (value.number_class == NumberClass::kFinite && value.significand != 0 &&
      internal::RoundMagnitude(type, value.significand, value.exponent, Rounding::kNearestEven, 0) >
          internal::MaxMagnitude(type)) {
    return std::nullopt;
  }
  const CastOptions options{Rounding::kNearestEven, Overflow::kNonSaturating};
  return internal::EncodeExact(type, value, options, 0);
}

std::string_view TrimSpaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// `(real, imaginary)`, or a real number.
std::optional<uint64_t> ParseComplex(DType type, std::string_view text) {
  const DType part = ComponentOf(type);
  if (!text.starts_with('(') || !text.ends_with(')')) return ParseValue(part, text);
  text = text.substr(1, text.size() - 2);
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto real = ParseValue(part, TrimSpaces(text.substr(0, comma)));
  const auto imaginary = ParseValue(part, TrimSpaces(text.substr(comma + 1)));
  if (!real || !imaginary) return std::nullopt;
  return *imaginary << part.bits | *real;
}

}  // namespace

std::string DecodeToString(DType type, uint64_t code) {
  if (type.IsComplex()) {
    const DType part = ComponentOf(type);
    return "(" + DecodeToString(part, code) + ", " + DecodeToString(part, code >> part.bits) + ")";
  }
  const Exact value = internal::DecodeExact(type, code);
  if (type.IsBool()) return value.IsZero() ? "false" : "true";
  if (value.number_class == NumberClass::kNan) return "nan";
  std::string out = value.negative ? "-" : "";
  if (value.number_class == NumberClass::kInfinity) return out + "inf";
  return out + MagnitudeToString(type, code, value);
}

std::optional<uint64_t> ParseValue(DType type, std::string_view text) {
  if (type.IsComplex()) return ParseComplex(type, text);
  if (type.IsBool() && (text == "true" || text == "false")) return text == "true" ? 1 : 0;
  const std::optional<Number> value = ReadNumber(text);
  if (!value) return std::nullopt;
  if (type.IsInteger() || type.IsBool()) return ParseInteger(type, *value);
  return ParseFloat(type, *value);
}

}  // namespace tarsia
