#include "dtypes/bulk.h"

#include "dtypes/cast_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "dtypes/arith.h"
#include "dtypes/bulk_simd.h"
#include "dtypes/container.h"
#include "dtypes/exact.h"

namespace tarsia {
namespace {

template <typename T>
T LoadAt(const void* src, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(src) + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void StoreAt(void* dst, size_t index, T value) {
  std::memcpy(static_cast<uint8_t*>(dst) + index * sizeof(T), &value, sizeof(T));
}

// Calls visit(T{}) with the native type that a container of this integer type is read as. Codes
// below 8 bits are not native integers; such sources do not occur here.
template <typename Visit>
void VisitNative(DType type, const Visit& visit) {
  VisitContainer(ContainerBytes(type), [&](auto container) {
    using U = decltype(container);
    if (type.IsSigned()) {
      visit(std::make_signed_t<U>{});
    } else {
      visit(U{});
    }
  });
}

void CastEach(DType from, const void* src, DType to, void* dst, size_t n, CastOptions options,
              const uint32_t* random) {
  const bool use_random = options.rounding == Rounding::kStochastic && random != nullptr;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t code = LoadContainer(from, src, i);
    StoreContainer(to, dst, i, CastCode(from, code, to, options, use_random ? random[i] : 0));
  }
}

// --- sources of at most 8 bits: a table of 256 results ---

constexpr size_t kMaxTypes = 80;    // AllDTypes() and room to grow
constexpr size_t kVariants = 8;     // nearest or toward zero, four kinds of overflow
constexpr size_t kTableCodes = 64;  // fewer are converted without a table, if there is none yet
using TableSlot = std::atomic<const uint8_t*>;

// One slot per pair of types and variant. Tables are built once and kept until the process ends.
TableSlot* FindSlot(DType from, DType to, CastOptions options) {
  static std::array<TableSlot, kMaxTypes * kMaxTypes * kVariants> slots;
  const size_t a = DTypeIndex(from), b = DTypeIndex(to);
  if (a >= kMaxTypes || b >= kMaxTypes) return nullptr;
  const size_t variant = static_cast<size_t>(options.overflow) * 2 +
                         (options.rounding == Rounding::kTowardZero ? 1 : 0);
  return &slots[(a * kMaxTypes + b) * kVariants + variant];
}

const uint8_t* BuildTable(DType from, DType to, CastOptions options, TableSlot& slot) {
  auto table = std::make_unique<uint8_t[]>(256 * static_cast<size_t>(ContainerBytes(to)));
  for (size_t code = 0; code < 256; ++code) {
    StoreContainer(to, table.get(), code, CastCode(from, code, to, options));
  }
  const uint8_t* expected = nullptr;
  if (!slot.compare_exchange_strong(expected, table.get(), std::memory_order_acq_rel)) {
    return expected;  // another thread was first
  }
  return table.release();
}

bool CastByTable(DType from, const void* src, DType to, void* dst, size_t n, CastOptions options) {
  if (from.bits > 8) return false;
  TableSlot* slot = FindSlot(from, to, options);
  if (slot == nullptr) return false;
  const uint8_t* table = slot->load(std::memory_order_acquire);
  if (table == nullptr) {
    if (n < kTableCodes) return false;
    table = BuildTable(from, to, options, *slot);
  }
  const int bytes = ContainerBytes(to);
  if (from.bits <= 4 && bytes <= 2) {
    internal::LookUp16(src, table, dst, n, bytes);
    return true;
  }
  VisitContainer(bytes, [&](auto container) {
    using T = decltype(container);
    const auto* in = static_cast<const uint8_t*>(src);
    for (size_t i = 0; i < n; ++i) StoreAt<T>(dst, i, LoadAt<T>(table, in[i]));
  });
  return true;
}

// --- between integers ---

template <typename From, typename To>
void SaturateAll(const void* src, DType to, void* dst, size_t n) {
  // The bounds of the target within the source's own type.
  using Wide = std::conditional_t<std::is_signed_v<From>, int64_t, uint64_t>;
  const uint64_t most_code = to.IsSigned() ? CodeMask(to) >> 1 : CodeMask(to);
  const auto limit = static_cast<uint64_t>(std::numeric_limits<From>::max());
  const From most = static_cast<From>(std::min(most_code, limit));
  From least = 0;
  if constexpr (std::is_signed_v<From>) {
    const int64_t wanted = to.IsSigned() ? -static_cast<int64_t>(most_code) - 1 : 0;
    least = static_cast<From>(std::max<Wide>(wanted, std::numeric_limits<From>::min()));
  }
  const auto mask = static_cast<To>(CodeMask(to));
  for (size_t i = 0; i < n; ++i) {
    const From value = std::clamp(LoadAt<From>(src, i), least, most);
    StoreAt<To>(dst, i, static_cast<To>(static_cast<To>(value) & mask));
  }
}

template <typename From, typename To>
void WrapAll(const void* src, DType to, void* dst, size_t n) {
  const auto mask = static_cast<To>(CodeMask(to));
  for (size_t i = 0; i < n; ++i) {
    StoreAt<To>(dst, i, static_cast<To>(static_cast<To>(LoadAt<From>(src, i)) & mask));
  }
}

void CastIntegers(DType from, const void* src, DType to, void* dst, size_t n, bool wrap) {
  VisitNative(from, [&](auto source) {
    VisitContainer(ContainerBytes(to), [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      if (wrap) {
        WrapAll<From, To>(src, to, dst, n);
      } else {
        SaturateAll<From, To>(src, to, dst, n);
      }
    });
  });
}

// --- through f32 ---

// Rounds toward zero to 24 bits and sets the last bit if anything was lost: a further rounding to
// at least two bits fewer is then the same as from the double. Values too large for f32 become its
// largest.
float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;  // toward zero
  return std::bit_cast<float>(bits | 1);
}

// 64-bit integers lose bits already in double, so they are rounded to odd there first.
template <typename T>
double IntegerToDoubleOdd(T value) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<double>(value);
  } else {
    const bool negative = value < T{0};
    uint64_t magnitude =
        negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> 53 != 0) {
      magnitude = (magnitude & ~uint64_t{0x7FF}) |
                  ((magnitude & 0x7FF) != 0 ? uint64_t{0x800} : uint64_t{0});
    }
    const auto exact = static_cast<double>(magnitude);
    return negative ? -exact : exact;
  }
}

constexpr size_t kChunk = 512;

// n <= kChunk elements of any wide type as f32, exact or rounded to odd.
void ToF32Chunk(DType from, const void* src, float* out, size_t n) {
  if (from == kF16) return internal::WidenF16(src, out, n);
  if (from == kBF16) return internal::WidenBF16(src, out, n);
  if (from == kF64) {
    for (size_t i = 0; i < n; ++i) out[i] = RoundToOdd(LoadAt<double>(src, i));
  } else if (from == kF32 || from == kTF32) {
    const uint32_t mask = from == kTF32 ? 0xFFFFE000 : 0xFFFFFFFF;
    for (size_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(LoadAt<uint32_t>(src, i) & mask);
  } else {
    VisitNative(from, [&](auto source) {
      using From = decltype(source);
      for (size_t i = 0; i < n; ++i) {
        out[i] = RoundToOdd(IntegerToDoubleOdd(LoadAt<From>(src, i)));
      }
    });
  }
}

internal::IntegerRange RangeOf(DType to) {
  const auto most = static_cast<float>(to.IsSigned() ? CodeMask(to) >> 1 : CodeMask(to));
  return {to.IsSigned() ? -most - 1 : 0.0f, most, static_cast<uint32_t>(CodeMask(to))};
}

// Whether FromF32 makes this type and the 24 bits of an f32 rounded to odd are enough for it.
bool IsNarrowTarget(DType to) {
  return (to.IsFloat() && to.mantissa <= 10) || (to.IsInteger() && to.bits <= 16) || to.IsBool() ||
         to.IsExponent();
}

// 2^127, or infinity, as f32.
uint32_t ExponentLimit(Overflow overflow) {
  return internal::Saturates(kE8M0, overflow) ? 0x7F000000 : 0x7F800000;
}

void FromF32(const void* src, DType to, void* dst, size_t n, const internal::Narrowing& narrowing,
             Overflow overflow) {
  if (to.IsFloat()) {
    internal::NarrowF32(src, dst, n, narrowing, ContainerBytes(to));
  } else if (to.IsInteger()) {
    internal::F32ToInteger(src, dst, n, RangeOf(to), ContainerBytes(to));
  } else if (to.IsExponent()) {
    internal::F32ToExponent(src, dst, n, ExponentLimit(overflow));
  } else {
    internal::F32ToBool(src, dst, n);
  }
}

void CastThroughF32(DType from, const void* src, DType to, void* dst, size_t n, Overflow overflow) {
  internal::Narrowing narrowing{};
  if (to.IsFloat()) narrowing = internal::MakeNarrowing(to, overflow);
  if (from == kF32) return FromF32(src, to, dst, n, narrowing, overflow);
  float chunk[kChunk];
  const auto from_bytes = static_cast<size_t>(ContainerBytes(from));
  const auto to_bytes = static_cast<size_t>(ContainerBytes(to));
  for (size_t i = 0; i < n; i += kChunk) {
    const size_t count = std::min(kChunk, n - i);
    ToF32Chunk(from, static_cast<const uint8_t*>(src) + i * from_bytes, chunk, count);
    FromF32(chunk, to, static_cast<uint8_t*>(dst) + i * to_bytes, count, narrowing, overflow);
  }
}

// --- to f32, f64 and wide integers ---

// The quiet NaN with the sign; compilers differ in which bits a converted NaN keeps.
template <typename T>
T Canonical(T value) {
  return std::isnan(value) ? std::copysign(std::numeric_limits<T>::quiet_NaN(), value) : value;
}

// Calls visit(load) where load(i) is the native value of element i: float, double or an integer.
template <typename Visit>
void VisitValues(DType from, const void* src, const Visit& visit) {
  if (from == kF64) return visit([src](size_t i) { return LoadAt<double>(src, i); });
  if (from == kF32) return visit([src](size_t i) { return LoadAt<float>(src, i); });
  if (from == kTF32) {
    return visit(
        [src](size_t i) { return std::bit_cast<float>(LoadAt<uint32_t>(src, i) & 0xFFFFE000); });
  }
  if (from == kF16) {
    return visit([src](size_t i) { return arith::ToFloat(LoadAt<arith::F16>(src, i)); });
  }
  if (from == kBF16) {
    return visit([src](size_t i) { return arith::ToFloat(LoadAt<arith::BF16>(src, i)); });
  }
  VisitNative(from, [&](auto native) {
    using From = decltype(native);
    visit([src](size_t i) { return LoadAt<From>(src, i); });
  });
}

template <typename To>
void CastToWideFloat(DType from, const void* src, void* dst, size_t n) {
  VisitValues(from, src, [&](const auto& load) {
    for (size_t i = 0; i < n; ++i) {
      const auto value = load(i);
      if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>) {
        StoreAt<To>(dst, i, Canonical(static_cast<To>(value)));
      } else {
        StoreAt<To>(dst, i, static_cast<To>(value));
      }
    }
  });
}

void CastToWideInteger(DType from, const void* src, DType to, void* dst, size_t n) {
  VisitNative(to, [&](auto native) {
    using To = decltype(native);
    VisitValues(from, src, [&](const auto& load) {
      for (size_t i = 0; i < n; ++i) {
        StoreAt<To>(dst, i, arith::FloatToInteger<To>(static_cast<double>(load(i))));
      }
    });
  });
}

bool IsNamed(DType type) { return DTypeIndex(type) != kNoDTypeIndex; }

// Codes of at most 8 bits to f32, which holds every one of their values. Not for casts with
// saturation, which turn infinities into numbers.
bool WidenSmall(DType from, const void* src, DType to, void* dst, size_t n, Overflow overflow) {
  if (from.bits > 8 || to != kF32 || overflow == Overflow::kSaturate || !IsNamed(from))
    return false;
  switch (from.kind) {
    case DTypeKind::kUnsigned:
    case DTypeKind::kSigned:
      internal::WidenSmallInteger(src, dst, n, from.bits, from.IsSigned());
      return true;
    case DTypeKind::kBool:
      internal::WidenBool(src, dst, n);
      return true;
    case DTypeKind::kFloat:
      internal::WidenSmallFloat(src, dst, n, internal::MakeWidening(from));
      return true;
    case DTypeKind::kExponent:
      internal::WidenExponent(src, dst, n);
      return true;
    case DTypeKind::kComplex:
      return false;
  }
  return false;
}

// Types whose containers VisitValues reads.
bool IsWideReal(DType type) {
  return type.bits > 8 && (type.IsInteger() || type.IsFloat()) && IsNamed(type);
}

// Whether codes are copied unchanged. Below 8 bits and in tf32 some bits must be cleared.
bool IsPlainCopy(DType from, DType to, CastOptions options) {
  return from == to && options.overflow == Overflow::kDefault && from.bits >= 8 && !from.IsBool() &&
         from != kTF32;
}

// The fast paths from wide types, for rounding to nearest (which integers ignore).
bool CastWide(DType from, const void* src, DType to, void* dst, size_t n, Overflow overflow) {
  if (!IsWideReal(from) || !IsNamed(to)) return false;
  if (from.IsInteger() && to.IsInteger()) {
    CastIntegers(from, src, to, dst, n, overflow == Overflow::kWrap);
    return true;
  }
  if (from == to && overflow == Overflow::kDefault) return false;  // tf32: bits to clear only
  if (IsNarrowTarget(to)) {
    CastThroughF32(from, src, to, dst, n, overflow);
    return true;
  }
  if ((to == kF32 || to == kF64) && overflow != Overflow::kSaturate) {
    if (from == kF16 && to == kF32) {
      internal::WidenF16(src, dst, n);
    } else if (from == kBF16 && to == kF32) {
      internal::WidenBF16(src, dst, n);
    } else if (to == kF32) {
      CastToWideFloat<float>(from, src, dst, n);
    } else {
      CastToWideFloat<double>(from, src, dst, n);
    }
    return true;
  }
  if (to.IsInteger()) {
    CastToWideInteger(from, src, to, dst, n);
    return true;
  }
  return false;
}

}  // namespace

uint64_t LoadContainer(DType type, const void* src, size_t index) {
  const auto bytes = static_cast<size_t>(ContainerBytes(type));
  uint64_t code = 0;
  std::memcpy(&code, static_cast<const uint8_t*>(src) + index * bytes, bytes);
  return code;
}

void StoreContainer(DType type, void* dst, size_t index, uint64_t code) {
  const auto bytes = static_cast<size_t>(ContainerBytes(type));
  std::memcpy(static_cast<uint8_t*>(dst) + index * bytes, &code, bytes);
}

void CastBulk(DType from, const void* src, DType to, void* dst, size_t n, CastOptions options,
              const uint32_t* random) {
  if (n == 0) return;
  if (IsPlainCopy(from, to, options)) {
    std::memmove(dst, src, n * static_cast<size_t>(ContainerBytes(from)));
    return;
  }
  const bool stochastic = options.rounding == Rounding::kStochastic;
  if (from.IsComplex() && to.IsComplex() && !stochastic) {
    return CastBulk(ComponentOf(from), src, ComponentOf(to), dst, 2 * n, options);
  }
  if (!stochastic && WidenSmall(from, src, to, dst, n, options.overflow)) return;
  if (!stochastic && CastByTable(from, src, to, dst, n, options)) return;
  // Rounding has no effect between integers; to integers, to nearest also means toward zero.
  const bool rounds_to_nearest = options.rounding == Rounding::kNearestEven ||
                                 (to.IsInteger() && (from.IsInteger() || !stochastic));
  if (rounds_to_nearest && CastWide(from, src, to, dst, n, options.overflow)) return;
  CastEach(from, src, to, dst, n, options, random);
}

void PrepareCast(DType from, DType to, CastOptions options) {
  if (from.bits > 8) return;
  const uint8_t codes[kTableCodes] = {};
  uint64_t converted[kTableCodes];
  CastBulk(from, codes, to, converted, kTableCodes, options);
}

}  // namespace tarsia
