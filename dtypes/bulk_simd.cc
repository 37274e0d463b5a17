#include "dtypes/bulk_simd.h"

#include <bit>
#include <cstring>

#include "dtypes/exact.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dtypes/bulk_simd.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tarsia::internal {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::CappedTag<uint32_t, 16>;
using I32 = hn::RebindToSigned<U32>;
using F32 = hn::RebindToFloat<U32>;
using VU32 = hn::VFromD<U32>;

// Loads and stores of 32-bit lanes from and to containers of 1, 2 and 4 bytes.
template <typename T>
HWY_INLINE VU32 LoadWide(const uint8_t* src) {
  if constexpr (sizeof(T) == 4) {
    return hn::LoadU(U32(), reinterpret_cast<const T*>(src));
  } else {
    return hn::PromoteTo(U32(), hn::LoadU(hn::Rebind<T, U32>(), reinterpret_cast<const T*>(src)));
  }
}

// Vectors of 32-bit lanes that fill one of narrower ones.
template <typename T>
inline constexpr size_t kVectors = 4 / sizeof(T);

// The low bits of the lanes of kVectors<T> vectors, in their order.
#if HWY_TARGET == HWY_SCALAR
template <typename T>
HWY_INLINE void StoreNarrow(const VU32* lanes, uint8_t* dst) {
  for (size_t v = 0; v < kVectors<T>; ++v) {
    const auto code = static_cast<T>(hn::GetLane(lanes[v]));
    std::memcpy(dst + v * sizeof(T), &code, sizeof(T));
  }
}
#else
// The lanes of four vectors, each at most 255, as bytes in their order.
HWY_INLINE auto ToBytes(const VU32* lanes) {
  constexpr size_t kBlock = 4;  // lanes of 128 bits
  const hn::Repartition<uint8_t, U32> bytes;
  // Byte v of lane i is lane i of vector v. In a block of 128 bits the four of a vector move
  // together, then the words of all blocks.
  const VU32 low = hn::Or(lanes[0], hn::ShiftLeft<8>(lanes[1]));
  const VU32 high = hn::Or(lanes[2], hn::ShiftLeft<8>(lanes[3]));
  const VU32 mixed = hn::Or(low, hn::ShiftLeft<16>(high));
  alignas(16) static constexpr uint8_t kOrder[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                     2, 6, 10, 14, 3, 7, 11, 15};
  const auto sorted =
      hn::TableLookupBytes(hn::BitCast(bytes, mixed), hn::LoadDup128(bytes, kOrder));
  const size_t blocks = hn::Lanes(U32()) / kBlock;
  alignas(64) int32_t order[16];
  for (size_t i = 0; i < hn::Lanes(U32()); ++i) {
    order[i] = static_cast<int32_t>(i % blocks * kBlock + i / blocks);
  }
  const auto words = hn::BitCast(U32(), sorted);
  return hn::BitCast(bytes, hn::TableLookupLanes(words, hn::SetTableIndices(U32(), order)));
}

template <typename T>
HWY_INLINE void StoreNarrow(const VU32* lanes, uint8_t* dst) {
  const hn::Repartition<T, U32> narrow;
  if constexpr (sizeof(T) == 4) {
    hn::StoreU(lanes[0], narrow, reinterpret_cast<T*>(dst));
  } else if constexpr (sizeof(T) == 2) {
    const auto low = hn::BitCast(narrow, lanes[0]), high = hn::BitCast(narrow, lanes[1]);
    hn::StoreU(hn::ConcatEven(narrow, high, low), narrow, reinterpret_cast<T*>(dst));
  } else {
    hn::StoreU(ToBytes(lanes), narrow, dst);
  }
}
#endif

template <typename In, typename Out, typename Op>
HWY_INLINE void ConvertStep(const uint8_t* in, uint8_t* out, const Op& op) {
  VU32 lanes[kVectors<Out>];
  for (size_t v = 0; v < kVectors<Out>; ++v) {
    lanes[v] = op(LoadWide<In>(in + v * hn::Lanes(U32()) * sizeof(In)));
  }
  StoreNarrow<Out>(lanes, out);
}

// Applies `op` to all lanes of n elements; the rest at the end goes through a buffer.
template <typename In, typename Out, typename Op>
HWY_INLINE void ForEachVector(const void* src, void* dst, size_t n, const Op& op) {
  const auto* in = static_cast<const uint8_t*>(src);
  auto* out = static_cast<uint8_t*>(dst);
  const size_t step = hn::Lanes(U32()) * kVectors<Out>;
  size_t i = 0;
  for (; i + step <= n; i += step) {
    ConvertStep<In, Out>(in + i * sizeof(In), out + i * sizeof(Out), op);
  }
  if (i == n) return;
  In head[16 * kVectors<Out>] = {};
  Out tail[16 * kVectors<Out>] = {};
  std::memcpy(head, in + i * sizeof(In), (n - i) * sizeof(In));
  ConvertStep<In, Out>(reinterpret_cast<const uint8_t*>(head), reinterpret_cast<uint8_t*>(tail),
                       op);
  std::memcpy(out + i * sizeof(Out), tail, (n - i) * sizeof(Out));
}

HWY_INLINE VU32 Constant(uint32_t value) { return hn::Set(U32(), value); }

// Lanes compare and are clamped as signed: magnitudes have no sign bit.
HWY_INLINE VU32 MinMagnitude(VU32 lanes, uint32_t most) {
  return hn::BitCast(U32(), hn::Min(hn::BitCast(I32(), lanes), hn::Set(I32(), int32_t(most))));
}

HWY_INLINE auto Above(VU32 lanes, uint32_t bound) {
  const auto above = hn::Gt(hn::BitCast(I32(), lanes), hn::Set(I32(), int32_t(bound)));
  return hn::RebindMask(U32(), above);
}

constexpr uint32_t kInfinity = 0x7F800000, kQuietNan = 0x7FC00000, kMagnitude = 0x7FFFFFFF;

// The magnitude code of an f32 without sign; NaNs become that of `limit`.
HWY_INLINE VU32 NarrowMagnitude(VU32 any, const Narrowing& params) {
  const VU32 magnitude = MinMagnitude(any, params.limit);
  const int shift = static_cast<int>(params.shift);
  // Normal numbers: add just under half of the last place, one more when the last place is odd.
  // The new bias goes in the same addition; below the normal range the result is too small.
  const VU32 odd = hn::And(hn::ShiftRightSame(magnitude, shift), Constant(1));
  const uint32_t addend = (uint32_t{1} << (shift - 1)) - 1 - (params.rebias << shift);
  const VU32 rounded = hn::Add(hn::Add(magnitude, Constant(addend)), odd);
  const auto normal = hn::ShiftRightSame(hn::BitCast(I32(), rounded), shift);
  // Subnormal ones: the float unit rounds to the last place of `magic`. All normal numbers are
  // replaced by the least one, whose code is not above that of any of them.
  const VU32 small = MinMagnitude(magnitude, params.least_normal);
  const auto sum = hn::Add(hn::BitCast(F32(), small), hn::BitCast(F32(), Constant(params.magic)));
  const auto subnormal = hn::Sub(hn::BitCast(I32(), sum), hn::Set(I32(), int32_t(params.magic)));
  return hn::BitCast(U32(), hn::Max(normal, subnormal));
}

// In types without NaN a NaN becomes the largest positive number: only bits up to those of
// -infinity have a sign.
HWY_INLINE auto NegativeNumber(VU32 bits) {
  const auto negative = hn::Lt(hn::BitCast(I32(), bits), hn::Set(I32(), int32_t{-0x7FFFFF}));
  return hn::RebindMask(U32(), negative);
}

// f16, bf16, tf32: the latter two have the exponents of f32, so that nothing larger can be added.
HWY_INLINE VU32 NarrowToWide(VU32 bits, const Narrowing& params) {
  const VU32 any = hn::And(bits, Constant(kMagnitude));
  const VU32 code = NarrowMagnitude(any, params);
  const VU32 sign =
      hn::And(hn::ShiftRightSame(bits, static_cast<int>(params.sign_shift)), Constant(params.sign));
  // The code of NaN is above all others.
  const VU32 nan = hn::IfThenElseZero(Above(any, kInfinity), Constant(params.nan));
  return hn::Or(hn::BitCast(U32(), hn::Max(hn::BitCast(I32(), code), hn::BitCast(I32(), nan))),
                sign);
}

// Powers of two and zero, which are all finite: with no mantissa a tie goes by the exponent's last
// bit, which only NarrowMagnitude looks at.
HWY_INLINE VU32 NarrowToPower(VU32 bits, const Narrowing& params) {
  const VU32 code = NarrowMagnitude(hn::And(bits, Constant(kMagnitude)), params);
  return hn::Or(code, hn::IfThenElseZero(NegativeNumber(bits), Constant(params.sign)));
}

// The same for other targets of at most 8 bits in fewer steps. Adding 2^shift times a number's own
// power of two rounds it to the target's last place; from the least normal number down that power
// stays the same. The sum minus the addend counts last places, 2^mantissa more of them per binade.
template <Specials kSpecials>
HWY_INLINE VU32 NarrowToByte(VU32 bits, const Narrowing& params) {
  const VU32 any = hn::And(bits, Constant(kMagnitude));
  const VU32 magnitude = MinMagnitude(any, params.limit);
  const auto power = hn::BitCast(I32(), hn::And(magnitude, Constant(kInfinity)));
  const uint32_t steps = params.shift << 23;
  const VU32 added =
      hn::Add(hn::BitCast(U32(), hn::Max(power, hn::Set(I32(), int32_t(params.least_normal)))),
              Constant(steps));
  const auto sum = hn::Add(hn::BitCast(F32(), magnitude), hn::BitCast(F32(), added));
  const VU32 places = hn::Sub(hn::BitCast(U32(), sum), added);
  // Too large by `extra`, which is in the place of the sign.
  VU32 code = hn::Add(places, hn::ShiftRightSame(added, static_cast<int>(params.shift)));
  const uint32_t extra = (params.least_normal + steps) >> params.shift;
  const VU32 positive = Constant(0u - extra), negative = Constant(params.sign - extra);
  if constexpr (kSpecials == Specials::kFinite) {
    return hn::Add(code, hn::IfThenElse(NegativeNumber(bits), negative, positive));
  }
  const auto is_nan = Above(any, kInfinity);
  if constexpr (kSpecials == Specials::kFnuz) {
    // Neither zero nor the code of NaN, also when it stands for overflow, has a sign.
    const VU32 from_least = hn::Sub(bits, Constant(params.signed_from));
    const uint32_t bound = 0x80000000 + params.signed_to - params.signed_from;
    const auto minus = hn::Lt(hn::BitCast(I32(), from_least), hn::Set(I32(), int32_t(bound)));
    const VU32 shift = hn::IfThenElse(hn::RebindMask(U32(), minus), negative, positive);
    return hn::IfThenElse(is_nan, Constant(params.nan), hn::Add(code, shift));
  }
  const auto minus = hn::RebindMask(U32(), hn::Lt(hn::BitCast(I32(), bits), hn::Zero(I32())));
  code = hn::IfThenElse(is_nan, Constant(params.nan + extra), code);
  return hn::Add(code, hn::IfThenElse(minus, negative, positive));
}

template <Specials kSpecials>
HWY_INLINE void NarrowBytes(const void* src, void* dst, size_t n, const Narrowing& params) {
  const Narrowing local = params;  // a copy, so that no store can alias it
  ForEachVector<uint32_t, uint8_t>(
      src, dst, n, [&local](VU32 lanes) HWY_ATTR { return NarrowToByte<kSpecials>(lanes, local); });
}

void Narrow(const void* src, void* dst, size_t n, const Narrowing& params, int container_bytes) {
  const Narrowing local = params;
  if (container_bytes == 2) {
    return ForEachVector<uint32_t, uint16_t>(
        src, dst, n, [&local](VU32 lanes) HWY_ATTR { return NarrowToWide(lanes, local); });
  }
  if (container_bytes == 4) {
    return ForEachVector<uint32_t, uint32_t>(src, dst, n, [&local](VU32 lanes) HWY_ATTR {
      return hn::ShiftLeftSame(NarrowToWide(lanes, local), static_cast<int>(local.left));
    });
  }
  if (params.shift == 23) {
    return ForEachVector<uint32_t, uint8_t>(
        src, dst, n, [&local](VU32 lanes) HWY_ATTR { return NarrowToPower(lanes, local); });
  }
  switch (params.specials) {
    case Specials::kFinite:
      return NarrowBytes<Specials::kFinite>(src, dst, n, params);
    case Specials::kFnuz:
      return NarrowBytes<Specials::kFnuz>(src, dst, n, params);
    case Specials::kNone:
    case Specials::kIeee:
    case Specials::kFn:
      return NarrowBytes<Specials::kIeee>(src, dst, n, params);
  }
}

// The exponent field of an f32 is the code; it is rounded as if it were the last place. A subnormal
// f32 is 2^-127 or less, but for those above 1.5 * 2^-127, which are nearer to 2^-126.
void ToExponent(const void* src, void* dst, size_t n, uint32_t limit) {
  ForEachVector<uint32_t, uint8_t>(src, dst, n, [limit](VU32 bits) HWY_ATTR {
    const VU32 any = hn::And(bits, Constant(kMagnitude));
    const VU32 magnitude = MinMagnitude(any, limit);
    const VU32 odd = hn::And(hn::ShiftRight<23>(magnitude), Constant(1));
    const VU32 rounded = hn::ShiftRight<23>(hn::Add(hn::Add(magnitude, Constant(0x3FFFFF)), odd));
    const VU32 tiny = hn::IfThenElseZero(Above(magnitude, 0x600000), Constant(1));
    const VU32 code = hn::IfThenElse(Above(magnitude, 0x7FFFFF), rounded, tiny);
    const VU32 minus = hn::BitCast(U32(), hn::ShiftRight<31>(hn::BitCast(I32(), bits)));
    return hn::IfThenElse(Above(any, kInfinity), Constant(0xFF), hn::AndNot(minus, code));
  });
}

void ToBool(const void* src, void* dst, size_t n) {
  ForEachVector<uint32_t, uint8_t>(src, dst, n, [](VU32 bits) HWY_ATTR {
    return MinMagnitude(hn::And(bits, Constant(kMagnitude)), 1);
  });
}

// ---- to f32 ----

template <Specials kSpecials>
HWY_INLINE VU32 WidenLanes(VU32 lanes, const Widening& params) {
  const VU32 magnitude = hn::And(lanes, Constant(params.magnitude));
  const VU32 sign =
      hn::And(hn::ShiftLeftSame(lanes, static_cast<int>(params.sign_shift)), Constant(0x80000000));
  const VU32 normal = hn::Add(hn::ShiftLeftSame(magnitude, static_cast<int>(params.shift)),
                              Constant(params.rebias));
  const auto subnormal =
      hn::Mul(hn::ConvertTo(F32(), hn::BitCast(I32(), magnitude)), hn::Set(F32(), params.step));
  VU32 out = hn::IfThenElse(Above(magnitude, params.least_normal - 1), normal,
                            hn::BitCast(U32(), subnormal));
  if constexpr (kSpecials == Specials::kIeee || kSpecials == Specials::kFn) {
    out = hn::IfThenElse(Above(magnitude, params.most), Constant(kQuietNan), out);
  }
  if constexpr (kSpecials == Specials::kIeee) {
    out = hn::IfThenElse(hn::Eq(magnitude, Constant(params.most + 1)), Constant(kInfinity), out);
  }
  if constexpr (kSpecials == Specials::kFnuz) {  // all of the code: the sign alone
    out = hn::IfThenElse(hn::Eq(lanes, Constant(params.magnitude + 1)), Constant(kQuietNan), out);
  }
  return hn::Or(out, sign);
}

template <Specials kSpecials>
HWY_INLINE void WidenAll(const void* src, void* dst, size_t n, const Widening& params) {
  const Widening local = params;
  ForEachVector<uint8_t, uint32_t>(
      src, dst, n, [&local](VU32 lanes) HWY_ATTR { return WidenLanes<kSpecials>(lanes, local); });
}

void WidenFloat(const void* src, void* dst, size_t n, const Widening& params) {
  switch (params.specials) {
    case Specials::kFinite:
      return WidenAll<Specials::kFinite>(src, dst, n, params);
    case Specials::kFn:
      return WidenAll<Specials::kFn>(src, dst, n, params);
    case Specials::kFnuz:
      return WidenAll<Specials::kFnuz>(src, dst, n, params);
    case Specials::kNone:
    case Specials::kIeee:
      return WidenAll<Specials::kIeee>(src, dst, n, params);
  }
}

void WidenInteger(const void* src, void* dst, size_t n, int bits, bool is_signed) {
  const int shift = 32 - bits;
  const auto as_f32 = [](auto lanes) HWY_ATTR {
    return hn::BitCast(U32(), hn::ConvertTo(F32(), hn::BitCast(I32(), lanes)));
  };
  if (is_signed) {
    ForEachVector<uint8_t, uint32_t>(src, dst, n, [&](VU32 lanes) HWY_ATTR {
      const auto top = hn::BitCast(I32(), hn::ShiftLeftSame(lanes, shift));
      return as_f32(hn::ShiftRightSame(top, shift));
    });
  } else {
    const uint32_t mask = uint32_t{0xFFFFFFFF} >> shift;
    ForEachVector<uint8_t, uint32_t>(
        src, dst, n, [&](VU32 lanes) HWY_ATTR { return as_f32(hn::And(lanes, Constant(mask))); });
  }
}

// Code e is the f32 with exponent field e, except for 2^-127, which is subnormal, and NaN.
void WidenE8m0(const void* src, void* dst, size_t n) {
  ForEachVector<uint8_t, uint32_t>(src, dst, n, [](VU32 lanes) HWY_ATTR {
    const auto placed =
        hn::Max(hn::BitCast(I32(), hn::ShiftLeft<23>(lanes)), hn::Set(I32(), int32_t{0x00400000}));
    const VU32 bits = hn::BitCast(U32(), placed);
    return hn::IfThenElse(hn::Eq(bits, Constant(kInfinity)), Constant(kQuietNan), bits);
  });
}

void WidenBoolean(const void* src, void* dst, size_t n) {
  ForEachVector<uint8_t, uint32_t>(src, dst, n, [](VU32 lanes) HWY_ATTR {
    return hn::IfThenElseZero(Above(lanes, 0), Constant(0x3F800000));
  });
}

// Puts the quiet NaN where the f32 bits without sign are a NaN, then the sign.
HWY_INLINE VU32 FinishF32(VU32 magnitude, VU32 sign) {
  const VU32 infinity = Constant(0x7F800000);
  const auto is_nan = hn::Gt(hn::BitCast(I32(), magnitude), hn::BitCast(I32(), infinity));
  return hn::Or(hn::IfThenElse(hn::RebindMask(U32(), is_nan), Constant(0x7FC00000), magnitude),
                sign);
}

#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86 && !defined(HWY_DISABLE_F16C)
// The instruction keeps other bits of a NaN.
void WidenF16Lanes(const void* src, void* dst, size_t n) {
  const auto* const from = static_cast<const hwy::float16_t*>(src);
  auto* const to = static_cast<float*>(dst);
  const F32 d;
  const hn::Rebind<hwy::float16_t, F32> half;
  const auto widen = [&](hn::Vec<decltype(half)> in) HWY_ATTR {
    const VU32 bits = hn::BitCast(U32(), hn::PromoteTo(d, in));
    const VU32 sign = hn::And(bits, Constant(0x80000000));
    return hn::BitCast(d, FinishF32(hn::And(bits, Constant(0x7FFFFFFF)), sign));
  };
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(widen(hn::LoadU(half, from + i)), d, to + i);
  }
  if (i == n) return;
  alignas(64) uint16_t rest[64] = {};
  alignas(64) float widened[64];
  std::memcpy(rest, from + i, 2 * (n - i));
  hn::StoreU(widen(hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(rest))), d, widened);
  std::memcpy(to + i, widened, 4 * (n - i));
}
#else
void WidenF16Lanes(const void* src, void* dst, size_t n) {
  ForEachVector<uint16_t, uint32_t>(src, dst, n, [](VU32 half) HWY_ATTR {
    const VU32 magnitude = hn::And(half, Constant(0x7FFF));
    const VU32 sign = hn::ShiftLeft<16>(hn::And(half, Constant(0x8000)));
    const VU32 placed = hn::ShiftLeft<13>(magnitude);
    // The bias of f16 differs by 15 - 127 = -112; infinity and NaN get the largest exponent.
    const VU32 normal = hn::Add(placed, Constant(112u << 23));
    const VU32 special = hn::Add(placed, Constant(224u << 23));
    // A subnormal m * 2^-24 is (2^-14 + m * 2^-24) - 2^-14.
    const VU32 base = Constant(113u << 23);
    const auto difference =
        hn::Sub(hn::BitCast(F32(), hn::Add(placed, base)), hn::BitCast(F32(), base));
    const auto is_small =
        hn::Lt(hn::BitCast(I32(), magnitude), hn::BitCast(I32(), Constant(0x400)));
    const auto is_special =
        hn::Gt(hn::BitCast(I32(), magnitude), hn::BitCast(I32(), Constant(0x7BFF)));
    VU32 out =
        hn::IfThenElse(hn::RebindMask(U32(), is_small), hn::BitCast(U32(), difference), normal);
    out = hn::IfThenElse(hn::RebindMask(U32(), is_special), special, out);
    return FinishF32(out, sign);
  });
}

#endif

void WidenBF16Lanes(const void* src, void* dst, size_t n) {
  ForEachVector<uint16_t, uint32_t>(src, dst, n, [](VU32 half) HWY_ATTR {
    const VU32 bits = hn::ShiftLeft<16>(half);
    return FinishF32(hn::And(bits, Constant(0x7FFFFFFF)), hn::And(bits, Constant(0x80000000)));
  });
}

HWY_INLINE VU32 ToIntegerLanes(VU32 bits, const IntegerRange& range) {
  const auto value = hn::BitCast(F32(), bits);
  const auto clamped =
      hn::Min(hn::Max(hn::IfThenElseZero(hn::Eq(value, value), value), hn::Set(F32(), range.least)),
              hn::Set(F32(), range.most));
  return hn::And(hn::BitCast(U32(), hn::ConvertTo(I32(), clamped)), Constant(range.mask));
}

void ToInteger(const void* src, void* dst, size_t n, const IntegerRange& params,
               int container_bytes) {
  const IntegerRange range = params;
  const auto op = [&range](VU32 lanes) HWY_ATTR { return ToIntegerLanes(lanes, range); };
  if (container_bytes == 1) {
    ForEachVector<uint32_t, uint8_t>(src, dst, n, op);
  } else {
    ForEachVector<uint32_t, uint16_t>(src, dst, n, op);
  }
}

// The bytes of 16 results apart, so that each is one look-up of 16 bytes.
template <size_t kBytes>
void LookUpAll(const uint8_t* codes, const uint8_t* table, uint8_t* dst, size_t n) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Full128<uint8_t> d;
  alignas(16) uint8_t planes[2][16];
  for (size_t code = 0; code < 16; ++code) {
    for (size_t b = 0; b < kBytes; ++b) planes[b][code] = table[code * kBytes + b];
  }
  const auto low = hn::Load(d, planes[0]);
  const auto mask = hn::Set(d, uint8_t{15});
  for (; i + 16 <= n; i += 16) {
    const auto index = hn::And(hn::LoadU(d, codes + i), mask);
    const auto first = hn::TableLookupBytes(low, index);
    if constexpr (kBytes == 1) {
      hn::StoreU(first, d, dst + i);
    } else {
      const auto second = hn::TableLookupBytes(hn::Load(d, planes[1]), index);
      hn::StoreU(hn::InterleaveLower(d, first, second), d, dst + 2 * i);
      hn::StoreU(hn::InterleaveUpper(d, first, second), d, dst + 2 * i + 16);
    }
  }
#endif
  for (; i < n; ++i) std::memcpy(dst + i * kBytes, table + (codes[i] & 15) * kBytes, kBytes);
}

void LookUp(const void* codes, const uint8_t* table, void* dst, size_t n, int container_bytes) {
  const auto* from = static_cast<const uint8_t*>(codes);
  auto* to = static_cast<uint8_t*>(dst);
  if (container_bytes == 1) {
    LookUpAll<1>(from, table, to, n);
  } else {
    LookUpAll<2>(from, table, to, n);
  }
}

const char* Name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tarsia::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::internal {

HWY_EXPORT(Narrow);
HWY_EXPORT(ToExponent);
HWY_EXPORT(ToBool);
HWY_EXPORT(WidenFloat);
HWY_EXPORT(WidenInteger);
HWY_EXPORT(WidenE8m0);
HWY_EXPORT(WidenBoolean);
HWY_EXPORT(WidenF16Lanes);
HWY_EXPORT(WidenBF16Lanes);
HWY_EXPORT(ToInteger);
HWY_EXPORT(LookUp);
HWY_EXPORT(Name);

void NarrowF32(const void* src, void* dst, size_t n, const Narrowing& params, int container_bytes) {
  TARSIA_DISPATCH(Narrow)(src, dst, n, params, container_bytes);
}

void F32ToExponent(const void* src, void* dst, size_t n, uint32_t limit) {
  TARSIA_DISPATCH(ToExponent)(src, dst, n, limit);
}

void F32ToBool(const void* src, void* dst, size_t n) { TARSIA_DISPATCH(ToBool)(src, dst, n); }

void WidenSmallFloat(const void* src, void* dst, size_t n, const Widening& params) {
  TARSIA_DISPATCH(WidenFloat)(src, dst, n, params);
}

void WidenSmallInteger(const void* src, void* dst, size_t n, int bits, bool is_signed) {
  TARSIA_DISPATCH(WidenInteger)(src, dst, n, bits, is_signed);
}

void WidenExponent(const void* src, void* dst, size_t n) {
  TARSIA_DISPATCH(WidenE8m0)(src, dst, n);
}

void WidenBool(const void* src, void* dst, size_t n) { TARSIA_DISPATCH(WidenBoolean)(src, dst, n); }

void WidenF16(const void* src, void* dst, size_t n) { TARSIA_DISPATCH(WidenF16Lanes)(src, dst, n); }

void WidenBF16(const void* src, void* dst, size_t n) {
  TARSIA_DISPATCH(WidenBF16Lanes)(src, dst, n);
}

void F32ToInteger(const void* src, void* dst, size_t n, IntegerRange range, int container_bytes) {
  TARSIA_DISPATCH(ToInteger)(src, dst, n, range, container_bytes);
}

void LookUp16(const void* codes, const uint8_t* table, void* dst, size_t n, int container_bytes) {
  TARSIA_DISPATCH(LookUp)(codes, table, dst, n, container_bytes);
}

const char* BulkTargetName() { return TARSIA_DISPATCH(Name)(); }

// A normal f32 shifted right by `shift` has its exponent field above `mantissa` bits, too large by
// 127 - bias. In f32 + magic the last place is magic * 2^-23, so magic is 2^(23 + least subnormal).
// With saturation, larger values are clamped to the largest number; without, to the number that
// would come next, whose code is that of infinity or NaN.
Narrowing MakeNarrowing(DType to, Overflow overflow) {
  Narrowing out{};
  const int least = 1 - to.bias;  // exponent of the least normal number
  out.shift = 23u - to.mantissa;
  out.rebias = static_cast<uint32_t>(127 - to.bias) << to.mantissa;
  out.least_normal = static_cast<uint32_t>(127 + least) << 23;
  out.magic = static_cast<uint32_t>(127 + least - to.mantissa + 23) << 23;
  const auto most = static_cast<uint32_t>(MaxMagnitude(to));
  out.limit = (most + (Saturates(to, overflow) ? 0 : 1) + out.rebias) << out.shift;
  const int left = UnusedLowBits(to);
  out.sign = uint32_t{1} << (to.exponent + to.mantissa);
  out.sign_shift = static_cast<uint32_t>(31 - to.exponent - to.mantissa);
  out.nan = static_cast<uint32_t>(NanCode(to, false) >> left);
  out.left = static_cast<uint32_t>(left);
  out.specials = to.specials;
  const uint32_t subnormal = static_cast<uint32_t>(127 + least - to.mantissa) << 23;
  out.signed_from = subnormal - (uint32_t{1} << 23) + 1;  // past half of it
  const uint32_t past_most = ((most + out.rebias) << out.shift) + (uint32_t{1} << (out.shift - 1));
  out.signed_to = Saturates(to, overflow) ? 0x7F800001 : past_most;
  return out;
}

Widening MakeWidening(DType from) {
  Widening out{};
  const int magnitude_bits = from.exponent + from.mantissa;
  out.magnitude = (uint32_t{1} << magnitude_bits) - 1;
  out.sign_shift = static_cast<uint32_t>(31 - magnitude_bits);
  out.shift = 23u - from.mantissa;
  out.rebias = static_cast<uint32_t>(127 - from.bias) << 23;
  out.least_normal = uint32_t{1} << from.mantissa;
  out.step = std::bit_cast<float>(static_cast<uint32_t>(128 - from.bias - from.mantissa) << 23);
  out.most = static_cast<uint32_t>(MaxMagnitude(from));
  out.specials = from.specials;
  return out;
}

}  // namespace tarsia::internal
#endif  // HWY_ONCE
