#include "dtypes/bulk_simd.h"

#include <bit>
#include <cstring>

#include "dtypes/exact.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dtypes/bulk_simd.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

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

template <typename T>
HWY_INLINE void StoreNarrow(VU32 lanes, uint8_t* dst) {
  if constexpr (sizeof(T) == 4) {
    hn::StoreU(lanes, U32(), reinterpret_cast<T*>(dst));
  } else {
    const hn::Rebind<T, U32> narrow;
    hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(I32(), lanes)), narrow, reinterpret_cast<T*>(dst));
  }
}

// Applies `op` to all lanes of n elements; the last, partial vector goes through a buffer.
template <typename In, typename Out, typename Op>
HWY_INLINE void ForEachVector(const void* src, void* dst, size_t n, const Op& op) {
  const auto* in = static_cast<const uint8_t*>(src);
  auto* out = static_cast<uint8_t*>(dst);
  const size_t lanes = hn::Lanes(U32());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    StoreNarrow<Out>(op(LoadWide<In>(in + i * sizeof(In))), out + i * sizeof(Out));
  }
  if (i == n) return;
  In head[16] = {};
  Out tail[16] = {};
  std::memcpy(head, in + i * sizeof(In), (n - i) * sizeof(In));
  StoreNarrow<Out>(op(LoadWide<In>(reinterpret_cast<const uint8_t*>(head))),
                   reinterpret_cast<uint8_t*>(tail));
  std::memcpy(out + i * sizeof(Out), tail, (n - i) * sizeof(Out));
}

HWY_INLINE VU32 Constant(uint32_t value) { return hn::Set(U32(), value); }

HWY_INLINE VU32 NarrowLanes(VU32 bits, const Narrowing& how) {
  const VU32 magnitude = hn::And(bits, Constant(0x7FFFFFFF));
  const VU32 negative = hn::ShiftRight<31>(bits);
  const int shift = static_cast<int>(how.shift);
  // Normal numbers: add just under half of the last place, one more when the last place is odd.
  const VU32 odd = hn::And(hn::ShiftRightSame(magnitude, shift), Constant(1));
  const VU32 half = Constant((uint32_t{1} << (shift - 1)) - 1);
  const VU32 rounded = hn::Add(hn::Add(magnitude, half), odd);
  const VU32 normal = hn::Sub(hn::ShiftRightSame(rounded, shift), Constant(how.rebias));
  // Subnormal ones: the float unit rounds to the last place of `magic`.
  const auto magic = hn::BitCast(F32(), Constant(how.magic));
  const auto sum = hn::Add(hn::BitCast(F32(), magnitude), magic);
  const VU32 subnormal = hn::Sub(hn::BitCast(U32(), sum), Constant(how.magic));
  const auto is_small =
      hn::Lt(hn::BitCast(I32(), magnitude), hn::BitCast(I32(), Constant(how.least_normal)));
  VU32 code = hn::IfThenElse(hn::RebindMask(U32(), is_small), subnormal, normal);
  const auto above = hn::Gt(hn::BitCast(I32(), code), hn::BitCast(I32(), Constant(how.most)));
  code = hn::IfThenElse(hn::RebindMask(U32(), above), Constant(how.overflow), code);
  const VU32 infinity = Constant(0x7F800000);
  code = hn::IfThenElse(hn::Eq(magnitude, infinity), Constant(how.infinity), code);
  // The sign; -0 where the target has none.
  const VU32 zero = hn::Zero(U32());
  const VU32 minus = hn::Sub(zero, negative);  // all ones when negative
  const VU32 signed_code =
      hn::IfThenElse(hn::Eq(code, zero), hn::And(minus, Constant(how.negative_zero)),
                     hn::Or(code, hn::And(minus, Constant(how.sign))));
  const VU32 nan = hn::Or(Constant(how.nan), hn::And(minus, Constant(how.nan_sign)));
  const auto is_nan = hn::Gt(hn::BitCast(I32(), magnitude), hn::BitCast(I32(), infinity));
  const VU32 result = hn::IfThenElse(hn::RebindMask(U32(), is_nan), nan, signed_code);
  return hn::ShiftLeftSame(result, static_cast<int>(how.left));
}

void Narrow(const void* src, void* dst, size_t n, const Narrowing& how, int container_bytes) {
  const auto op = [&how](VU32 lanes) HWY_ATTR { return NarrowLanes(lanes, how); };
  if (container_bytes == 1) {
    ForEachVector<uint32_t, uint8_t>(src, dst, n, op);
  } else if (container_bytes == 2) {
    ForEachVector<uint32_t, uint16_t>(src, dst, n, op);
  } else {
    ForEachVector<uint32_t, uint32_t>(src, dst, n, op);
  }
}

// Puts the quiet NaN where the f32 bits without sign are a NaN, then the sign.
HWY_INLINE VU32 FinishF32(VU32 magnitude, VU32 sign) {
  const VU32 infinity = Constant(0x7F800000);
  const auto is_nan = hn::Gt(hn::BitCast(I32(), magnitude), hn::BitCast(I32(), infinity));
  return hn::Or(hn::IfThenElse(hn::RebindMask(U32(), is_nan), Constant(0x7FC00000), magnitude),
                sign);
}

void WidenF16Lanes(const void* src, void* dst, size_t n) {
  ForEachVector<uint16_t, uint32_t>(src, dst, n, [](VU32 half) HWY_ATTR {
    const VU32 magnitude = hn::And(half, Constant(0x7FFF));
    const VU32 sign = hn::ShiftLeft<16>(hn::And(half, Constant(0x8000)));
    const VU32 placed = hn::ShiftLeft<13>(magnitude);
    // f16 has exponents 15 - 127 = -112 off; infinity and NaN go all the way up.
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

void ToInteger(const void* src, void* dst, size_t n, const IntegerRange& range,
               int container_bytes) {
  const auto op = [&range](VU32 lanes) HWY_ATTR { return ToIntegerLanes(lanes, range); };
  if (container_bytes == 1) {
    ForEachVector<uint32_t, uint8_t>(src, dst, n, op);
  } else {
    ForEachVector<uint32_t, uint16_t>(src, dst, n, op);
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
HWY_EXPORT(WidenF16Lanes);
HWY_EXPORT(WidenBF16Lanes);
HWY_EXPORT(ToInteger);
HWY_EXPORT(Name);

void NarrowF32(const void* src, void* dst, size_t n, const Narrowing& how, int container_bytes) {
  HWY_DYNAMIC_DISPATCH(Narrow)(src, dst, n, how, container_bytes);
}

void WidenF16(const void* src, void* dst, size_t n) {
  HWY_DYNAMIC_DISPATCH(WidenF16Lanes)(src, dst, n);
}

void WidenBF16(const void* src, void* dst, size_t n) {
  HWY_DYNAMIC_DISPATCH(WidenBF16Lanes)(src, dst, n);
}

void F32ToInteger(const void* src, void* dst, size_t n, IntegerRange range, int container_bytes) {
  HWY_DYNAMIC_DISPATCH(ToInteger)(src, dst, n, range, container_bytes);
}

const char* BulkTargetName() { return HWY_DYNAMIC_DISPATCH(Name)(); }

// A normal f32 shifted right by `shift` has its exponent field above `mantissa` bits, too large by
// 127 - bias. In f32 + magic the last place is magic * 2^-23, so magic is 2^(23 + least subnormal).
Narrowing MakeNarrowing(DType to, Overflow overflow) {
  Narrowing out{};
  const int least = 1 - to.bias;  // exponent of the least normal number
  out.shift = 23u - to.mantissa;
  out.rebias = static_cast<uint32_t>(127 - to.bias) << to.mantissa;
  out.least_normal = static_cast<uint32_t>(127 + least) << 23;
  out.magic = static_cast<uint32_t>(127 + least - to.mantissa + 23) << 23;
  out.most = static_cast<uint32_t>(MaxMagnitude(to));
  const bool saturates = Saturates(to, overflow);
  const int left = UnusedLowBits(to);
  const auto code = [left](uint64_t value) { return static_cast<uint32_t>(value >> left); };
  out.sign = uint32_t{1} << (to.exponent + to.mantissa);
  out.nan = code(NanCode(to, false));
  out.nan_sign = code(NanCode(to, true)) & ~out.nan;
  out.overflow = saturates ? out.most : code(OverflowCode(to, false));
  out.infinity = out.overflow;
  out.negative_zero = to.specials == Specials::kFnuz ? 0 : out.sign;
  out.left = static_cast<uint32_t>(left);
  return out;
}

}  // namespace tarsia::internal
#endif  // HWY_ONCE
