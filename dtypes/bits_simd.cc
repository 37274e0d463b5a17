#include "dtypes/bits_simd.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dtypes/bits_simd.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tarsia::internal {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

size_t Unpack(const uint8_t*, size_t, int, int, size_t, uint8_t*) { return 0; }
size_t Pack(const uint8_t*, int, size_t, uint8_t*) { return 0; }

#else

// A block of 128 bits holds two words of eight codes, 2 * width bytes of the stream. A vector holds
// one or two blocks.
using Block = hn::FixedTag<uint8_t, 16>;
using Bytes = hn::CappedTag<uint8_t, 32>;
using Words = hn::Repartition<uint64_t, Bytes>;
using VBytes = hn::VFromD<Bytes>;
using VWords = hn::VFromD<Words>;

HWY_INLINE size_t Blocks() { return hn::Lanes(Bytes()) / 16; }

// The 16 bytes at p, and at p + stride where a vector has two blocks.
HWY_INLINE VBytes LoadBlocks(const uint8_t* p, size_t stride) {
#if HWY_MAX_BYTES >= 32 && HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  return hn::Combine(Bytes(), hn::LoadU(Block(), p + stride), hn::LoadU(Block(), p));
#else
  (void)stride;
  return hn::LoadU(Bytes(), p);
#endif
}

HWY_INLINE void StoreBlocks(VBytes v, uint8_t* p, size_t stride) {
#if HWY_MAX_BYTES >= 32 && HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  hn::StoreU(hn::LowerHalf(Block(), v), Block(), p);
  hn::StoreU(hn::UpperHalf(Block(), v), Block(), p + stride);
#else
  (void)stride;
  hn::StoreU(v, Bytes(), p);
#endif
}

// Where byte i of the block comes from: 0x80 and above stand for zero.
HWY_INLINE VBytes OrderOf(const uint8_t* order) { return hn::LoadDup128(Bytes(), order); }

template <int kWidth, int kStep>
HWY_INLINE VWords SpreadStep(VWords words) {
  constexpr Step kFields = MakeStep(kWidth, kStep);
  const VWords low = hn::And(words, hn::Set(Words(), kFields.low));
  const VWords moved = hn::ShiftLeft<kFields.shift>(words);
  return hn::Or(low, hn::And(moved, hn::Set(Words(), kFields.high)));
}

template <int kWidth, int kStep>
HWY_INLINE VWords GatherStep(VWords words) {
  constexpr Step kFields = MakeStep(kWidth, kStep);
  const VWords low = hn::And(words, hn::Set(Words(), kFields.low));
  const VWords high = hn::And(words, hn::Set(Words(), kFields.high));
  return hn::Or(low, hn::ShiftRight<kFields.shift>(high));
}

template <int kWidth>
HWY_INLINE VWords SpreadWords(VWords words) {
  return SpreadStep<kWidth, 2>(SpreadStep<kWidth, 1>(SpreadStep<kWidth, 0>(words)));
}

template <int kWidth>
HWY_INLINE VWords GatherWords(VWords words) {
  return GatherStep<kWidth, 0>(GatherStep<kWidth, 1>(GatherStep<kWidth, 2>(words)));
}

template <int kWidth>
HWY_INLINE size_t UnpackWidth(const uint8_t* src, size_t bytes, int offset, size_t n,
                              uint8_t* dst) {
  alignas(16) uint8_t order[16];
  for (int i = 0; i < 16; ++i) {
    const int byte = i % 8;  // of a word: its own width bytes and, with an offset, one more
    order[i] = static_cast<uint8_t>(byte > kWidth ? 0x80 : i / 8 * kWidth + byte);
  }
  const VBytes places = OrderOf(order);
  const size_t blocks = Blocks(), codes = 16 * blocks, step = 2 * kWidth * blocks;
  const size_t reach = 2 * kWidth * (blocks - 1) + 16;
  size_t i = 0;
  for (size_t at = 0; i + codes <= n && at + reach <= bytes; i += codes, at += step) {
    const VBytes loaded = LoadBlocks(src + at, 2 * kWidth);
    const VBytes placed = hn::TableLookupBytesOr0(loaded, places);
    const VWords words = hn::ShiftRightSame(hn::BitCast(Words(), placed), offset);
    hn::StoreU(hn::BitCast(Bytes(), SpreadWords<kWidth>(words)), Bytes(), dst + i);
  }
  return i;
}

template <int kWidth>
HWY_INLINE size_t PackWidth(const uint8_t* src, size_t n, uint8_t* dst) {
  alignas(16) uint8_t order[16];
  for (int i = 0; i < 16; ++i) {
    const int word = i / kWidth;
    order[i] = static_cast<uint8_t>(word > 1 ? 0x80 : word * 8 + i % kWidth);
  }
  const VBytes places = OrderOf(order);
  const size_t blocks = Blocks(), codes = 16 * blocks, step = 2 * kWidth * blocks;
  const size_t reach = 2 * kWidth * (blocks - 1) + 16;
  const size_t bytes = n / 8 * kWidth;
  size_t i = 0;
  for (size_t at = 0; i + codes <= n && at + reach <= bytes; i += codes, at += step) {
    const VWords words = hn::BitCast(Words(), hn::LoadU(Bytes(), src + i));
    const VBytes gathered = hn::BitCast(Bytes(), GatherWords<kWidth>(words));
    StoreBlocks(hn::TableLookupBytesOr0(gathered, places), dst + at, 2 * kWidth);
  }
  return i;
}

// Calls visit(W) with the width, 1 to 7, as a constant.
template <typename Visit>
HWY_INLINE size_t VisitWidth(int width, const Visit& visit) {
  switch (width) {
#define TARSIA_WIDTH(W) \
  case W:               \
    return visit(std::integral_constant<int, W>());
    TARSIA_WIDTH(1)
    TARSIA_WIDTH(2)
    TARSIA_WIDTH(3)
    TARSIA_WIDTH(4)
    TARSIA_WIDTH(5)
    TARSIA_WIDTH(6)
    TARSIA_WIDTH(7)
#undef TARSIA_WIDTH
    default:
      return 0;
  }
}

size_t Unpack(const uint8_t* src, size_t bytes, int offset, int width, size_t n, uint8_t* dst) {
  return VisitWidth(width, [&](auto w) HWY_ATTR {
    return UnpackWidth<decltype(w)::value>(src, bytes, offset, n, dst);
  });
}

size_t Pack(const uint8_t* src, int width, size_t n, uint8_t* dst) {
  return VisitWidth(width,
                    [&](auto w) HWY_ATTR { return PackWidth<decltype(w)::value>(src, n, dst); });
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tarsia::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::internal {

HWY_EXPORT(Unpack);
HWY_EXPORT(Pack);

size_t UnpackVectors(const uint8_t* src, size_t bytes, int offset, int width, size_t n,
                     uint8_t* dst) {
  return TARSIA_DISPATCH(Unpack)(src, bytes, offset, width, n, dst);
}

size_t PackVectors(const uint8_t* src, int width, size_t n, uint8_t* dst) {
  return TARSIA_DISPATCH(Pack)(src, width, n, dst);
}

}  // namespace tarsia::internal
#endif  // HWY_ONCE
