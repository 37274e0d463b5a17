#include "runtime/weights/code_loops.h"

#include <utility>

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

#if HWY_TARGET != HWY_SCALAR
template <class D, size_t kRows>
using VectorRows = hn::Vec<D>[kRows];

// The loops over rows are written out (J counts half of them): compilers keep the rows of loops in
// memory.
template <class D, size_t kRows, size_t... J>
HWY_INLINE void InterleaveOnce(D d, const VectorRows<D, kRows>& from, VectorRows<D, kRows>& to,
                               std::index_sequence<J...>) {
  ((to[2 * J] = hn::InterleaveLower(d, from[J], from[J + kRows / 2]),
    to[2 * J + 1] = hn::InterleaveUpper(d, from[J], from[J + kRows / 2])),
   ...);
}

// Transposes 4, 8 or 16 rows (I counts them) of 16 bytes for each block of 16 bytes of a vector.
// Calls store(block, i, 16 bytes): the bytes of all rows for the first column, then for the second
// and so on; `i` counts the vectors of a block.
//
// Each round interleaves vector j with the one that lies half of all behind it: a bit of the row's
// number, the highest first, becomes the lowest of the place in a vector. After as many rounds as
// it has bits, a row's number is the lowest bits of the place.
template <class D, class Store, size_t... I>
HWY_INLINE void InterleaveAll(D d, VectorRows<D, sizeof...(I)>& rows, const Store& store,
                              std::index_sequence<I...>) {
  constexpr size_t kRows = sizeof...(I);
  constexpr std::make_index_sequence<kRows / 2> kHalf;
  VectorRows<D, kRows> other;
  InterleaveOnce<D, kRows>(d, rows, other, kHalf);
  InterleaveOnce<D, kRows>(d, other, rows, kHalf);
  if constexpr (kRows == 8) {
    InterleaveOnce<D, kRows>(d, rows, other, kHalf);
    ((rows[I] = other[I]), ...);
  } else if constexpr (kRows == 16) {
    InterleaveOnce<D, kRows>(d, rows, other, kHalf);
    InterleaveOnce<D, kRows>(d, other, rows, kHalf);
  }
  const hn::Full128<uint8_t> block;
  if constexpr (hn::MaxLanes(D()) == 32) {
    (store(0, static_cast<int64_t>(I), hn::LowerHalf(block, rows[I])), ...);
    (store(1, static_cast<int64_t>(I), hn::UpperHalf(block, rows[I])), ...);
  } else {
    (store(0, static_cast<int64_t>(I), rows[I]), ...);
  }
}

// A byte of the threads from `codes` on.
template <class D>
HWY_INLINE hn::Vec<D> Byte(D d, const uint8_t* HWY_RESTRICT codes, const CodeMove* move,
                           const CodeMove* end) {
  // Bits that leave a byte are not of the mask.
  const hn::Repartition<uint16_t, D> pairs;
  auto byte = hn::Zero(d);
  for (; move != end; ++move) {
    const auto code = hn::BitCast(pairs, hn::LoadU(d, codes + move->slot * kCodeLanes));
    const auto moved = move->shift >= 0 ? hn::ShiftLeftSame(code, move->shift)
                                        : hn::ShiftRightSame(code, -move->shift);
    byte = hn::OrAnd(byte, hn::BitCast(d, moved), hn::Set(d, move->mask));
  }
  return byte;
}

// The bytes of the words of a thread lie together: as columns of a matrix whose rows are bytes.
template <class D, size_t... I>
HWY_INLINE void WordsOf(D d, const uint8_t* HWY_RESTRICT codes, const CodeMove* HWY_RESTRICT moves,
                        const uint32_t* HWY_RESTRICT first, uint8_t* HWY_RESTRICT out,
                        std::index_sequence<I...>) {
  constexpr int64_t kRows = sizeof...(I);
  for (int64_t t = 0; t < kCodeLanes; t += static_cast<int64_t>(hn::Lanes(d))) {
    VectorRows<D, kRows> rows = {Byte(d, codes + t, moves + first[I], moves + first[I + 1])...};
    const auto store = [&](int64_t block, int64_t i, auto row) HWY_ATTR {
      hn::StoreU(row, hn::Full128<uint8_t>(), out + (t + 16 * block) * kRows + 16 * i);
    };
    InterleaveAll(d, rows, store, std::index_sequence<I...>());
  }
}

#endif

void Words(const uint8_t* HWY_RESTRICT codes, const CodeMove* HWY_RESTRICT moves,
           const uint32_t* HWY_RESTRICT first, int64_t words, uint8_t* HWY_RESTRICT out) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t t = 0; t < kCodeLanes; ++t) {
    for (int64_t i = 0; i < 4 * words; ++i) {
      int byte = 0;
      for (uint32_t m = first[i]; m < first[i + 1]; ++m) {
        const int code = codes[moves[m].slot * kCodeLanes + t];
        byte |= (moves[m].shift >= 0 ? code << moves[m].shift : code >> -moves[m].shift) &
                moves[m].mask;
      }
      *out++ = static_cast<uint8_t>(byte);
    }
  }
#else
  const hn::CappedTag<uint8_t, kCodeLanes> d;
  if (words == 4) {
    WordsOf(d, codes, moves, first, out, std::make_index_sequence<16>());
  } else if (words == 2) {
    WordsOf(d, codes, moves, first, out, std::make_index_sequence<8>());
  } else {
    WordsOf(d, codes, moves, first, out, std::make_index_sequence<4>());
  }
#endif
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

#if HWY_TARGET != HWY_SCALAR
template <class D, size_t... I>
HWY_INLINE void TransposeBlocks(D d, const uint8_t* HWY_RESTRICT in, int64_t in_stride,
                                uint8_t* HWY_RESTRICT out, int64_t out_stride,
                                std::index_sequence<I...> rows_of_block) {
  VectorRows<D, sizeof...(I)> rows = {hn::LoadU(d, in + static_cast<int64_t>(I) * in_stride)...};
  const auto store = [&](int64_t block, int64_t i, auto row) HWY_ATTR {
    hn::StoreU(row, hn::Full128<uint8_t>(), out + (16 * block + i) * out_stride);
  };
  InterleaveAll(d, rows, store, rows_of_block);
}
#endif

void Transpose(const uint8_t* HWY_RESTRICT in, int64_t in_stride, int64_t rows,
               uint8_t* HWY_RESTRICT out, int64_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < 16; ++j) out[i * out_stride + j] = in[j * in_stride + i];
  }
#else
  const hn::CappedTag<uint8_t, 32> d;
  int64_t i = 0;
  for (; i + static_cast<int64_t>(hn::Lanes(d)) <= rows; i += static_cast<int64_t>(hn::Lanes(d))) {
    TransposeBlocks(d, in + i, in_stride, out + i * out_stride, out_stride,
                    std::make_index_sequence<kTransposedCodes>());
  }
  for (; i < rows; i += 16) {
    TransposeBlocks(hn::Full128<uint8_t>(), in + i, in_stride, out + i * out_stride, out_stride,
                    std::make_index_sequence<kTransposedCodes>());
  }
#endif
}

void Floats(const float* HWY_RESTRICT in, int64_t in_stride, int64_t rows, float* HWY_RESTRICT out,
            int64_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kTransposedFloats; ++j) out[i * out_stride + j] = in[j * in_stride + i];
  }
#else
  const hn::Full128<float> d;
  const hn::Repartition<uint64_t, decltype(d)> pairs;
  for (int64_t i = 0; i < rows; i += 4, in += 4, out += 4 * out_stride) {
    for (int64_t j = 0; j < kTransposedFloats; j += 4) {
      const auto load = [&](int64_t k) HWY_ATTR { return hn::LoadU(d, in + (j + k) * in_stride); };
      const auto store = [&](int64_t k, auto row) HWY_ATTR {
        hn::StoreU(hn::BitCast(d, row), d, out + k * out_stride + j);
      };
      const auto a = load(0), b = load(1), c = load(2), e = load(3);
      const auto low0 = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
      const auto low1 = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
      const auto high0 = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
      const auto high1 = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
      store(0, hn::InterleaveLower(pairs, low0, low1));
      store(1, hn::InterleaveUpper(pairs, low0, low1));
      store(2, hn::InterleaveLower(pairs, high0, high1));
      store(3, hn::InterleaveUpper(pairs, high0, high1));
    }
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
HWY_EXPORT(Floats);

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

void TransposeFloats(const float* in, int64_t in_stride, int64_t rows, float* out,
                     int64_t out_stride) {
  TARSIA_DISPATCH(Floats)(in, in_stride, rows, out, out_stride);
}

}  // namespace tarsia
#endif  // HWY_ONCE
