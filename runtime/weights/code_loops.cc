#include "runtime/weights/code_loops.h"

#include "dtypes/simd_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/weights/code_loops.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tarsia::internal {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void Words(const uint8_t* HWY_RESTRICT codes, std::span<const CodeMove> moves,
           uint32_t* HWY_RESTRICT lanes) {
  const hn::CappedTag<uint32_t, kCodeLanes> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  for (size_t t = 0; t < kCodeLanes; t += hn::Lanes(d)) {
    auto word = hn::Zero(d);
    for (const CodeMove& move : moves) {
      const auto code = hn::PromoteTo(d, hn::LoadU(bytes, codes + move.slot * kCodeLanes + t));
      const auto bits = hn::And(code, hn::Set(d, move.mask));
      word = hn::Or(word, move.shift >= 0 ? hn::ShiftLeftSame(bits, move.shift)
                                          : hn::ShiftRightSame(bits, -move.shift));
    }
    hn::StoreU(word, d, lanes + t);
  }
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
      for (int j = 0; j < 8; ++j) {
        to[2 * j] = hn::InterleaveLower(d, from[j], from[j + 8]);
        to[2 * j + 1] = hn::InterleaveUpper(d, from[j], from[j + 8]);
      }
      for (int j = 0; j < 16; ++j) from[j] = to[j];
    }
    for (int64_t j = 0; j < 16; ++j) hn::StoreU(from[j], d, out + j * out_stride);
  }
#endif
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tarsia::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::internal {

HWY_EXPORT(Words);
HWY_EXPORT(Quads);
HWY_EXPORT(Transpose);

void WordsOfCodes(const uint8_t* codes, std::span<const CodeMove> moves, uint32_t* lanes) {
  TARSIA_DISPATCH(Words)(codes, moves, lanes);
}
void QuadsOfCodes(const uint8_t* codes, std::span<const uint32_t> first, int64_t step,
                  uint8_t* out) {
  TARSIA_DISPATCH(Quads)(codes, first, step, out);
}
void TransposeOfCodes(const uint8_t* in, int64_t in_stride, int64_t rows, uint8_t* out,
                      int64_t out_stride) {
  TARSIA_DISPATCH(Transpose)(in, in_stride, rows, out, out_stride);
}

}  // namespace tarsia::internal

namespace tarsia {

void MakeWords(const uint8_t* codes, std::span<const CodeMove> moves, uint32_t* lanes) {
  internal::WordsOfCodes(codes, moves, lanes);
}

void GatherQuads(const uint8_t* codes, std::span<const uint32_t> first, int64_t step,
                 uint8_t* out) {
  internal::QuadsOfCodes(codes, first, step, out);
}

void TransposeCodes(const uint8_t* in, int64_t in_stride, int64_t rows, uint8_t* out,
                    int64_t out_stride) {
  internal::TransposeOfCodes(in, in_stride, rows, out, out_stride);
}

}  // namespace tarsia
#endif  // HWY_ONCE
