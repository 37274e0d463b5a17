#include "vm/host/dot_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "dtypes/arith.h"
#include "vm/host/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vm/host/dot_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tarsia::host::internal {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The block in registers: kRows x kVectors accumulators, kVectors of B and one broadcast of A.
// 6 x 2 fills the 16 registers of AVX2 and needs fewer loads than multiply-adds; 32 registers
// hold 8 x 2 with room to spare.
#if HWY_TARGET == HWY_AVX3
constexpr size_t kRows = 8;
#else
constexpr size_t kRows = 6;
#endif
constexpr size_t kVectors = 2;

// Up to this many rows each element of B is read too rarely for packing f32 to pay off.
constexpr size_t kRowsWithoutPacking = 2 * kRows;

template <typename T>
struct Tile {
  const T* a;
  size_t a_stride;
  const T* b;
  size_t b_stride;
  const T* c;
  size_t c_stride;
  T* out;
  size_t out_stride;
  size_t k;
};

// a * b + c, rounded once on every instruction set: sums are the same on each of them.
template <typename T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> FusedMulAdd(hn::Vec<hn::ScalableTag<T>> a,
                                                   hn::Vec<hn::ScalableTag<T>> b,
                                                   hn::Vec<hn::ScalableTag<T>> c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN T x[HWY_MAX_BYTES / sizeof(T)], y[HWY_MAX_BYTES / sizeof(T)];
  HWY_ALIGN T z[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (size_t i = 0; i < lanes; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      const double product = static_cast<double>(x[i]) * static_cast<double>(y[i]);  // exact
      z[i] = static_cast<float>(arith::AddRoundToOdd(product, static_cast<double>(z[i])));
    } else {
      z[i] = std::fma(x[i], y[i], z[i]);
    }
  }
  return hn::Load(d, z);
#endif
}

// One block of rows x (kVectors vectors).
template <size_t rows, typename T>
HWY_INLINE void ComputeTile(const Tile<T>& t) {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  const D d;
  const size_t lanes = hn::Lanes(d);
  V acc[rows][kVectors];
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      acc[i][v] = t.c == nullptr ? hn::Zero(d) : hn::LoadU(d, t.c + i * t.c_stride + v * lanes);
    }
  }
  const T* a = t.a;
  const T* b = t.b;
  for (size_t p = 0; p < t.k; ++p) {
    V bv[kVectors];
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
    b += t.b_stride;
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; ++i) {
      const V av = hn::Set(d, a[i * t.a_stride]);
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) {
        acc[i][v] = FusedMulAdd<T>(av, bv[v], acc[i][v]);
      }
    }
    ++a;
  }
  const V nan = hn::Set(d, arith::CanonicalNan<T>());
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      // Which of two NaNs a sum keeps depends on the vector unit, so all become the same one.
      const V sum = hn::IfThenElse(hn::IsNaN(acc[i][v]), nan, acc[i][v]);
      hn::StoreU(sum, d, t.out + i * t.out_stride + v * lanes);
    }
  }
}

template <typename T>
using TileFunction = void (*)(const Tile<T>&);

template <size_t rows, typename T>
HWY_NOINLINE void TileOfRows(const Tile<T>& t) {
  ComputeTile<rows, T>(t);
}

template <typename T, size_t... i>
constexpr std::array<TileFunction<T>, sizeof...(i)> TileTable(std::index_sequence<i...>) {
  return {&TileOfRows<i + 1, T>...};
}

// A block of rows x columns with less than kVectors vectors of columns: computed as a full one.
template <typename T>
void PartialTile(TileFunction<T> function, Tile<T> t, size_t rows, size_t columns) {
  HWY_ALIGN T full[kRows * kVectors * HWY_MAX_BYTES / sizeof(T)];
  const size_t width = kVectors * hn::Lanes(hn::ScalableTag<T>());
  T* const out = t.out;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < width; ++j) {
      full[i * width + j] = t.c == nullptr || j >= columns ? T{0} : t.c[i * t.c_stride + j];
    }
  }
  t.c = full;
  t.c_stride = width;
  t.out = full;
  const size_t out_stride = std::exchange(t.out_stride, width);
  function(t);
  for (size_t i = 0; i < rows; ++i) {
    std::copy_n(full + i * width, columns, out + i * out_stride);
  }
}

// --- packing: [k, columns] of B into rows of `width` elements, zeros after `columns` ---

template <typename T>
void PackSame(const T* b, size_t b_stride, size_t k, size_t columns, size_t width, T* panel) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t p = 0; p < k; ++p, b += b_stride, panel += width) {
    if (columns == width) {
      for (size_t j = 0; j < width; j += lanes) hn::StoreU(hn::LoadU(d, b + j), d, panel + j);
    } else {
      std::copy_n(b, columns, panel);
      std::fill_n(panel + columns, width - columns, T{0});
    }
  }
}

HWY_INLINE hn::Vec<hn::ScalableTag<float>> Widen(const hwy::float16_t* from) {
  const hn::ScalableTag<float> d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, decltype(d)>(), from));
#else
  // Highway's replacement for the missing instruction returns numbers for infinities and NaNs. Here
  // the exponent field of f16 in that of f32 is too small by 2^-112, and the product is exact.
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto* codes = reinterpret_cast<const uint16_t*>(from);
  const auto code = hn::PromoteTo(du, hn::LoadU(hn::Rebind<uint16_t, decltype(d)>(), codes));
  const auto magnitude = hn::And(code, hn::Set(du, 0x7FFF));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(code, magnitude));
  const auto fields = hn::ShiftLeft<13>(magnitude);
  const auto scaled = hn::Mul(hn::BitCast(d, fields), hn::Set(d, 0x1p112f));
  const auto special = hn::Or(fields, hn::Set(du, 0x7F800000));
  const auto finite = hn::Lt(hn::BitCast(d, fields), hn::Set(d, 0x1p-112f * 65536.0f));
  return hn::Or(hn::IfThenElse(finite, scaled, hn::BitCast(d, special)), hn::BitCast(d, sign));
#endif
}

HWY_INLINE hn::Vec<hn::ScalableTag<float>> Widen(const hwy::bfloat16_t* from) {
  const hn::ScalableTag<float> d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::bfloat16_t, decltype(d)>(), from));
}

// Half: hwy::float16_t or hwy::bfloat16_t, both 16 bits in memory.
template <typename Half>
void PackHalf(const uint16_t* b, size_t b_stride, size_t k, size_t columns, size_t width,
              float* panel) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN uint16_t padded[kMaxPanelColumns] = {};
  for (size_t p = 0; p < k; ++p, b += b_stride, panel += width) {
    const uint16_t* row = b;
    if (columns != width) {
      std::copy_n(b, columns, padded);
      row = padded;
    }
    for (size_t j = 0; j < width; j += lanes) {
      hn::StoreU(Widen(reinterpret_cast<const Half*>(row + j)), d, panel + j);
    }
  }
}

template <typename T>
void PackPanel(const GemmArgs<T>& args, size_t column, size_t columns, size_t width) {
  if constexpr (std::is_same_v<T, float>) {
    const uint16_t* half = static_cast<const uint16_t*>(args.b) + column;
    if (args.b_type == kF16) {
      return PackHalf<hwy::float16_t>(half, args.b_stride, args.k, columns, width, args.panel);
    }
    if (args.b_type == kBF16) {
      return PackHalf<hwy::bfloat16_t>(half, args.b_stride, args.k, columns, width, args.panel);
    }
  }
  PackSame(static_cast<const T*>(args.b) + column, args.b_stride, args.k, columns, width,
           args.panel);
}

// One panel of columns, all rows.
template <typename T>
void ComputePanel(const GemmArgs<T>& args, const T* b, size_t b_stride, size_t column,
                  size_t columns, size_t width) {
  static constexpr auto kTiles = TileTable<T>(std::make_index_sequence<kRows>());
  for (size_t row = 0; row < args.m; row += kRows) {
    const size_t rows = std::min(kRows, args.m - row);
    const T* c = args.c == nullptr ? nullptr : args.c + row * args.c_stride + column;
    const Tile<T> tile{args.a + row * args.a_stride,
                       args.a_stride,
                       b,
                       b_stride,
                       c,
                       args.c_stride,
                       args.out + row * args.out_stride + column,
                       args.out_stride,
                       args.k};
    if (columns == width) {
      kTiles[rows - 1](tile);
    } else {
      PartialTile(kTiles[rows - 1], tile, rows, columns);
    }
  }
}

template <typename T>
void GemmBlock(const GemmArgs<T>& args) {
  const size_t width = kVectors * hn::Lanes(hn::ScalableTag<T>());
  const bool same_type = args.b_type.bits == 8 * sizeof(T);
  for (size_t column = 0; column < args.n; column += width) {
    const size_t columns = std::min(width, args.n - column);
    if (same_type && columns == width && args.m <= kRowsWithoutPacking) {
      const T* b = static_cast<const T*>(args.b) + column;
      ComputePanel(args, b, args.b_stride, column, columns, width);
    } else {
      PackPanel(args, column, columns, width);
      ComputePanel<T>(args, args.panel, width, column, columns, width);
    }
  }
}

}  // namespace

void GemmF32(const GemmArgs<float>& args) { GemmBlock(args); }
void GemmF64(const GemmArgs<double>& args) { GemmBlock(args); }

void AddInteger(const float* src, const uint32_t* c, uint32_t* out, size_t n) {
  if (c == nullptr) {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint32_t>(static_cast<int32_t>(src[i]));
    return;
  }
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) {
    out[i] = c[i] + static_cast<uint32_t>(static_cast<int32_t>(src[i]));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tarsia::host::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::host::internal {

namespace {
HWY_EXPORT(GemmF32);
HWY_EXPORT(GemmF64);
HWY_EXPORT(AddInteger);
}  // namespace

void GemmBlockF32(const GemmArgs<float>& args) { TARSIA_DISPATCH(GemmF32)(args); }
void GemmBlockF64(const GemmArgs<double>& args) { TARSIA_DISPATCH(GemmF64)(args); }
void AddAsInteger(const float* src, const uint32_t* c, uint32_t* out, size_t n) {
  TARSIA_DISPATCH(AddInteger)(src, c, out, n);
}

}  // namespace tarsia::host::internal
#endif  // HWY_ONCE
