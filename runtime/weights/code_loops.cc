#include "runtime/weights/code_loops.h"

#include "dtypes/simd_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/weights/code_loops.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tarsia {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using WordTag = hn::CappedTag<uint32_t, kCodeLanes>;

// A word of the threads from `codes` on.
HWY_INLINE hn::Vec<WordTag> Word(const uint8_t* HWY_RESTRICT codes, const CodeMove* move,
                                 const CodeMove* end) {
  const WordTag d;
  const hn::Rebind<uint8_t, WordTag> bytes;
  auto word = hn::Zero(d);
  for (; move != end; ++move) {
    const auto code = hn::PromoteTo(d, hn::LoadU(bytes, codes + move->slot * kCodeLanes));
    const auto bits = hn::And(code, hn::Set(d, move->mask));
    word = hn::Or(word, move->shift >= 0 ? hn::ShiftLeftSame(bits, move->shift)
                                         : hn::ShiftRightSame(bits, -move->shift));
  }
  return word;
}

void Words(const uint8_t* HWY_RESTRICT codes, const CodeMove* HWY_RESTRICT moves,
           const uint32_t* HWY_RESTRICT first, int64_t words, uint8_t* HWY_RESTRICT out) {
  const WordTag d;
  auto* const to = reinterpret_cast<uint32_t*>(out);
  for (size_t t = 0; t < kCodeLanes; t += hn::Lanes(d)) {
    const auto word = [&](int64_t w) HWY_ATTR {
      return Word(codes + t, moves + first[w], moves + first[w + 1]);
    };
    if (words == 4) {
      hn::StoreInterleaved4(word(0), word(1), word(2), word(3), d, to + 4 * t);
    } else if (words == 2) {
      hn::StoreInterleaved2(word(0), word(1), d, to + 2 * t);
    } else {
      hn::StoreU(word(0), d, to + t);
    }
  }
}

void Split(const uint8_t* HWY_RESTRICT words, int64_t count, int bits, uint8_t* HWY_RESTRICT out,
           int64_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  const int mask = (1 << bits) - 1;
  for (int64_t i = 0; i < count; ++i) {
    for (int j = 0; j < 32 / bits; ++j) {
      const int byte = words[4 * i + j * bits / 8];
      out[j * out_stride + i] = static_cast<uint8_t>(byte >> j * bits % 8 & mask);
    }
  }
#else
  const hn::Full128<uint8_t> d;
  const auto mask = hn::Set(d, static_cast<uint8_t>((1 << bits) - 1));
  for (int64_t i = 0; i < count; i += kSplitWords) {
    hn::Vec<decltype(d)> bytes[4];
    hn::LoadInterleaved4(d, words + 4 * i, bytes[0], bytes[1], bytes[2], bytes[3]);
    uint8_t* to = out + i;
    for (const auto& byte : bytes) {
      for (int shift = 0; shift < 8; shift += bits, to += out_stride) {
        hn::StoreU(hn::And(hn::ShiftRightSame(byte, shift), mask), d, to);
      }
    }
  }
#endif
}

void Quads(const uint8_t* HWY_RESTRICT codes, std::span<const uint32_t> first, int64_t step,
           uint8_t* HWY_RESTRICT out) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t slot = 0; slot < first.size(); ++slot) {
    for (int64_t t = 0; t < kCodeLanes; ++t) {
      out[slot * kCodeLanes + t] = codes[first[slot] + t % 4 * step + t / 4];
    }
  }
#else
  const hn::Full128<uint8_t> d;
  const hn::Full64<uint8_t> half;
  const hn::Repartition<uint16_t, decltype(d)> pairs;
  for (const uint32_t at : first) {
    const uint8_t* const row = codes + at;
    const auto load = [&](int64_t i) HWY_ATTR {
      return hn::ZeroExtendVector(d, hn::LoadU(half, row + i * step));
    };
    const auto low = hn::BitCast(pairs, hn::InterleaveLower(d, load(0), load(1)));
    const auto high = hn::BitCast(pairs, hn::InterleaveLower(d, load(2), load(3)));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low, high)), d, out);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low, high)), d, out + 16);
    out += kCodeLanes;
  }
#endif
}

void Transpose(const uint8_t* HWY_RESTRICT in, int64_t in_stride, int64_t rows,
               uint8_t* HWY_RESTRICT out, int64_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < 16; ++j) out[i * out_stride + j] = in[j * in_stride + i];
  }
#else
  const hn::Full128<uint8_t> d;
  for (int64_t i = 0; i < rows; i += 16, in += 16, out += 16 * out_stride) {
    // Each round interleaves vector j with vector j + 8: a bit of the row's number, the highest
    // first, becomes the lowest of the place in a vector. After four all have changed sides.
    hn::Vec<decltype(d)> from[16];
    hn::Vec<decltype(d)> to[16];
    for (int64_t j = 0; j < 16; ++j) from[j] = hn::LoadU(d, in + j * in_stride);
    for (int round = 0; round < 4; ++round) {
      for (size_t j = 0; j < 8; ++j) {
        to[2 * j] = hn::InterleaveLower(d, from[j], from[j + 8]);
        to[2 * j + 1] = hn::InterleaveUpper(d, from[j], from[j + 8]);
      }
      for (size_t j = 0; j < 16; ++j) from[j] = to[j];
    }
    for (int64_t j = 0; j < 16; ++j) hn::StoreU(from[j], d, out + j * out_stride);
  }
#endif
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tarsia
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia {

HWY_EXPORT(Words);
HWY_EXPORT(Split);
HWY_EXPORT(Quads);
HWY_EXPORT(Transpose);

void MakeWords(const uint8_t* codes, const CodeMove* moves, const uint32_t* first, int64_t words,
               uint8_t* out) {
  TARSIA_DISPATCH(Words)(codes, moves, first, words, out);
}

void SplitWords(const uint8_t* words, int64_t count, int bits, uint8_t* out, int64_t out_stride) {
  TARSIA_DISPATCH(Split)(words, count, bits, out, out_stride);
}

void GatherQuads(const uint8_t* codes, std::span<const uint32_t> first, int64_t step,
                 uint8_t* out) {
  TARSIA_DISPATCH(Quads)(codes, first, step, out);
}

void TransposeCodes(const uint8_t* in, int64_t in_stride, int64_t rows, uint8_t* out,
                    int64_t out_stride) {
  TARSIA_DISPATCH(Transpose)(in, in_stride, rows, out, out_stride);
}

}  // namespace tarsia
#endif  // HWY_ONCE
