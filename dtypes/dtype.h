// Element types as data: the meaning of a code of N bits. One table (dtypes.def) lists them all; no
// type has its own class. All functions here are pure, and may be called from any thread.
#ifndef TARSIA_DTYPES_DTYPE_H_
#define TARSIA_DTYPES_DTYPE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace tarsia {

enum class DTypeKind : uint8_t {
  kUnsigned,
  kSigned,    // two's complement
  kBool,      // one byte, 0 or 1
  kFloat,     // sign, exponent, mantissa
  kExponent,  // e8m0: a power of two without sign
  kComplex,   // two floats of half the width, the real part in the low half
};

// Which codes of a float are not finite numbers.
enum class Specials : uint8_t {
  kNone,    // not a float
  kIeee,    // exponent all ones: infinity (mantissa 0) or NaN
  kFinite,  // every code is a finite number
  kFn,      // no infinities, NaN where exponent and mantissa are all ones
  kFnuz,    // no infinities, no negative zero; its code is the only NaN
};

struct DType {
  DTypeKind kind = DTypeKind::kUnsigned;
  uint8_t bits = 0;      // width in memory; 0: no type
  uint8_t exponent = 0;  // exponent bits (of a component, for complex)
  uint8_t mantissa = 0;  // mantissa bits without the hidden one
  int16_t bias = 0;      // a normal number is (1 + m / 2^mantissa) * 2^(e - bias)
  Specials specials = Specials::kNone;

  friend constexpr bool operator==(const DType&, const DType&) = default;

  [[nodiscard]] constexpr bool IsUnsigned() const { return kind == DTypeKind::kUnsigned; }
  // A two's complement integer (not a float, although floats have a sign too).
  [[nodiscard]] constexpr bool IsSigned() const { return kind == DTypeKind::kSigned; }
  [[nodiscard]] constexpr bool IsInteger() const { return IsUnsigned() || IsSigned(); }
  [[nodiscard]] constexpr bool IsBool() const { return kind == DTypeKind::kBool; }
  [[nodiscard]] constexpr bool IsFloat() const { return kind == DTypeKind::kFloat; }
  [[nodiscard]] constexpr bool IsExponent() const { return kind == DTypeKind::kExponent; }
  [[nodiscard]] constexpr bool IsComplex() const { return kind == DTypeKind::kComplex; }
  [[nodiscard]] constexpr bool IsSubByte() const { return bits < 8; }
  [[nodiscard]] constexpr bool HasInfinity() const { return specials == Specials::kIeee; }
  [[nodiscard]] constexpr bool HasNan() const {
    return specials == Specials::kIeee || specials == Specials::kFn || specials == Specials::kFnuz;
  }
};
static_assert(sizeof(DType) == 8 && std::is_trivially_copyable_v<DType>);

// The constants: kU1 .. kU64, kI1 .. kI64, kBoolType, kF16, kBF16, kTF32, kF32, kF64, kF3E1M1 ..
// kF8E7M0, kF8E4M3FN, ..., kE8M0, kC32, kC64.
#define DTYPE(code, name, constant, kind, bits, exponent, mantissa, bias, specials, doc) \
  inline constexpr DType constant{DTypeKind::kind, bits, exponent,                       \
                                  mantissa,        bias, Specials::specials};
#include "dtypes/dtypes.def"
#undef DTYPE

struct DTypeRow {
  uint8_t code;           // frozen number in bytecode
  std::string_view name;  // canonical
  DType type;
  std::string_view doc;  // one line
};

// All types in the order of the table.
std::span<const DTypeRow> AllDTypes();
// All canonical names in the same order, for suggestions.
std::span<const std::string_view> DTypeNames();

// The type with this name. Besides the canonical names, a float of fewer than 8 bits may be
// followed by `fn`, which does not change the type.
std::optional<DType> FindDType(std::string_view name);
// The canonical name; "?" for a type that is not in the table. Constant time.
std::string_view DTypeName(DType type);
// The index in AllDTypes(); kNoDTypeIndex for a type that is not in the table.
inline constexpr uint8_t kNoDTypeIndex = 0xFF;
uint8_t DTypeIndex(DType type);
// The frozen number; 0 for a type that is not in the table.
uint8_t DTypeCode(DType type);
std::optional<DType> DTypeFromCode(uint8_t code);

// Bytes of the native container that holds one code in the low bits: 1, 2, 4 or 8.
constexpr int ContainerBytes(DType type) {
  return type.bits <= 8 ? 1 : type.bits <= 16 ? 2 : type.bits <= 32 ? 4 : 8;
}

// All bits that a code of the type may use.
constexpr uint64_t CodeMask(DType type) {
  return type.bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1;
}

// An integer or float of at most 8 bits: the types of weights.
constexpr bool LowPrecision(DType type) {
  return type.bits >= 1 && type.bits <= 8 && (type.IsInteger() || type.IsFloat());
}

// The types that arithmetic is defined on: i/u 8, 16, 32, 64, f16, bf16, f32, f64.
constexpr bool IsArithmetic(DType type) {
  return (type.IsInteger() && type.bits >= 8) || type == kF16 || type == kBF16 || type == kF32 ||
         type == kF64;
}

// The float type of a component of a complex type: c32 of f16, c64 of f32.
constexpr DType ComponentOf(DType complex) { return complex.bits == 32 ? kF16 : kF32; }
// The complex type of two such components.
constexpr DType ComplexOf(DType component) { return component.bits == 16 ? kC32 : kC64; }

// Code of the largest finite number (positive; the sign bit is bits - 1), of any float or e8m0.
constexpr uint64_t MaxFiniteCode(DType type) {
  const uint64_t all = (uint64_t{1} << (type.exponent + type.mantissa)) - 1;
  uint64_t code = all;
  if (type.specials == Specials::kIeee) code = all - (uint64_t{1} << type.mantissa);
  if (type.specials == Specials::kFn) code = all - 1;
  return type == kTF32 ? code << 13 : code;
}

}  // namespace tarsia

#endif  // TARSIA_DTYPES_DTYPE_H_
