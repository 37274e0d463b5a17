// Converts the operands of a matrix product to f32 or f64 and splits it into blocks that fit in the
// caches. i8 and u8 are computed in f32 too: over kMaxBlockK = 256 products of at most 2^16 - 2^9 +
// 1 in magnitude, every partial sum is an integer below 2^24, hence exact.
#include "vm/host/dot.h"

#include <algorithm>
#include <cstring>

#include "dtypes/bulk.h"
#include "vm/host/dot_kernels.h"
#include "vm/host/scratch.h"

namespace tarsia::host {
namespace {

using internal::GemmArgs;
using internal::kMaxBlockK;

// Rows of A that are used together: with kMaxBlockK columns of f32 they fit in the L2 cache.
constexpr int64_t kMaxBlockM = 192;

bool IsHalf(DType type) { return type == kF16 || type == kBF16; }

void GemmBlock(const GemmArgs<float>& args) { internal::GemmBlockF32(args); }
void GemmBlock(const GemmArgs<double>& args) { internal::GemmBlockF64(args); }

// A row-major matrix.
template <typename T>
struct Matrix {
  T* data = nullptr;
  int64_t stride = 0;
};

template <typename T>
void CopyMatrix(Matrix<const T> src, Matrix<T> out, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m; ++i) {
    T* row = out.data + i * out.stride;
    if (src.data == nullptr) {
      std::fill_n(row, n, T{0});
    } else if (src.data + i * src.stride != row) {
      std::copy_n(src.data + i * src.stride, n, row);
    }
  }
}

// out = c + a * b; elements of b have `b_type`: the type of T, f16 or bf16.
template <typename T>
void Gemm(Matrix<const T> a, Matrix<const uint8_t> b, DType b_type, Matrix<const T> c,
          Matrix<T> out, int64_t m, int64_t n, int64_t k) {
  if (m == 0 || n == 0) return;
  if (k == 0) return CopyMatrix(c, out, m, n);
  GemmArgs<T> args;
  args.a_stride = static_cast<size_t>(a.stride);
  args.b_stride = static_cast<size_t>(b.stride);
  args.b_type = b_type;
  args.out_stride = static_cast<size_t>(out.stride);
  args.n = static_cast<size_t>(n);
  args.panel = ThreadScratch().Get<T>(ScratchUse::kPanel, internal::kPanelElements);
  for (int64_t k0 = 0; k0 < k; k0 += kMaxBlockK) {
    args.k = static_cast<size_t>(std::min<int64_t>(kMaxBlockK, k - k0));
    args.b = b.data + k0 * b.stride * ContainerBytes(b_type);
    const Matrix<const T> old = k0 == 0 ? c : Matrix<const T>{out.data, out.stride};
    args.c_stride = static_cast<size_t>(old.stride);
    for (int64_t m0 = 0; m0 < m; m0 += kMaxBlockM) {
      args.m = static_cast<size_t>(std::min(kMaxBlockM, m - m0));
      args.a = a.data + m0 * a.stride + k0;
      args.c = old.data == nullptr ? nullptr : old.data + m0 * old.stride;
      args.out = out.data + m0 * out.stride;
      GemmBlock(args);
    }
  }
}

Matrix<const uint8_t> Bytes(const void* data, int64_t stride) {
  return {static_cast<const uint8_t*>(data), stride};
}

// The operand in f32: itself, or converted into scratch.
const float* AsF32(DType type, const void* src, int64_t count, ScratchUse use) {
  if (type == kF32) return static_cast<const float*>(src);
  float* out = ThreadScratch().Get<float>(use, static_cast<size_t>(count));
  CastBulk(type, src, kF32, out, static_cast<size_t>(count));
  return out;
}

void DotFloat(DType a_type, DType b_type, const void* a, const void* b, const void* c, void* out,
              int64_t m, int64_t n, int64_t k) {
  const float* a_f32 = AsF32(a_type, a, m * k, ScratchUse::kLeft);
  Matrix<const uint8_t> b_bytes = Bytes(b, n);
  if (!IsHalf(b_type)) {
    b_bytes = Bytes(AsF32(b_type, b, k * n, ScratchUse::kRight), n);
    b_type = kF32;
  }
  Gemm<float>({a_f32, k}, b_bytes, b_type, {static_cast<const float*>(c), n},
              {static_cast<float*>(out), n}, m, n, k);
}

void DotInteger(DType a_type, DType b_type, const void* a, const void* b, const void* c, void* out,
                int64_t m, int64_t n, int64_t k) {
  const float* a_f32 = AsF32(a_type, a, m * k, ScratchUse::kLeft);
  const float* b_f32 = AsF32(b_type, b, k * n, ScratchUse::kRight);
  float* sums = ThreadScratch().Get<float>(ScratchUse::kSums, static_cast<size_t>(m * n));
  const auto* old = static_cast<const uint32_t*>(c);
  auto* result = static_cast<uint32_t*>(out);
  int64_t k0 = 0;
  do {  // at least once, for k = 0
    const int64_t depth = std::min<int64_t>(kMaxBlockK, k - k0);
    Gemm<float>({a_f32 + k0, k}, Bytes(b_f32 + k0 * n, n), kF32, {}, {sums, n}, m, n, depth);
    internal::AddAsInteger(sums, old, result, static_cast<size_t>(m * n));
    old = result;
    k0 += kMaxBlockK;
  } while (k0 < k);
}

// Splits pairs into a plane of real parts followed by one of imaginary parts, in f32.
float* SplitComplex(DType type, const void* src, int64_t count, ScratchUse use) {
  const auto n = static_cast<size_t>(count);
  float* planes = ThreadScratch().Get<float>(use, 4 * n);  // the pairs are in the second half
  float* pairs = planes + 2 * n;
  if (src == nullptr) {
    std::fill_n(pairs, 2 * n, 0.0f);
  } else {
    CastBulk(ComponentOf(type), src, kF32, pairs, 2 * n);
  }
  for (size_t i = 0; i < n; ++i) {
    planes[i] = pairs[2 * i];
    planes[n + i] = pairs[2 * i + 1];
  }
  return planes;
}

void DotComplex(DType a_type, DType b_type, const void* a, const void* b, const void* c, void* out,
                int64_t m, int64_t n, int64_t k) {
  float* a_re = SplitComplex(a_type, a, m * k, ScratchUse::kLeft);
  float* a_im = a_re + m * k;
  const float* b_re = SplitComplex(b_type, b, k * n, ScratchUse::kRight);
  const float* b_im = b_re + k * n;
  float* re = SplitComplex(kC64, c, m * n, ScratchUse::kSums);
  float* im = re + m * n;
  const auto add = [&](const float* x, const float* y, float* sum) {
    Gemm<float>({x, k}, Bytes(y, n), kF32, {sum, n}, {sum, n}, m, n, k);
  };
  add(a_re, b_re, re);
  add(a_re, b_im, im);
  add(a_im, b_re, im);
  for (int64_t i = 0; i < m * k; ++i) a_im[i] = -a_im[i];
  add(a_im, b_im, re);
  auto* result = static_cast<float*>(out);
  for (int64_t i = 0; i < m * n; ++i) {
    result[2 * i] = re[i];
    result[2 * i + 1] = im[i];
  }
}

bool FitsF32(DType type) { return type.IsFloat() && type.bits <= 32; }
bool SmallInteger(DType type) { return type.IsInteger() && type.bits <= 8; }

bool GoesByF32(DType a_type, DType b_type, DType acc_type) {
  return acc_type == kF32 && FitsF32(a_type) && FitsF32(b_type);
}
bool GoesByIntegers(DType a_type, DType b_type, DType acc_type) {
  return acc_type == kI32 && SmallInteger(a_type) && SmallInteger(b_type);
}
bool GoesByComplex(DType a_type, DType b_type, DType acc_type) {
  return acc_type == kC64 && a_type.IsComplex() && b_type.IsComplex();
}

}  // namespace

ScratchSizes DotScratch(DType a_type, DType b_type, DType acc_type, int64_t m, int64_t n,
                        int64_t k) {
  ScratchSizes sizes;
  if (m <= 0 || n <= 0 || k < 0) return sizes;
  const auto bytes = [](int64_t rows, int64_t columns, uint64_t each) {
    return static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns) * each;
  };
  constexpr uint64_t kPlanes = 4 * sizeof(float);  // of a complex number, see SplitComplex
  sizes[ScratchUse::kPanel] = internal::kPanelElements * sizeof(float);
  if (GoesByF32(a_type, b_type, acc_type)) {
    if (a_type != kF32) sizes[ScratchUse::kLeft] = bytes(m, k, sizeof(float));
    const bool as_it_is = b_type == kF32 || IsHalf(b_type);
    if (!as_it_is) sizes[ScratchUse::kRight] = bytes(k, n, sizeof(float));
  } else if (GoesByIntegers(a_type, b_type, acc_type)) {
    sizes[ScratchUse::kLeft] = bytes(m, k, sizeof(float));
    sizes[ScratchUse::kRight] = bytes(k, n, sizeof(float));
    sizes[ScratchUse::kSums] = bytes(m, n, sizeof(float));
  } else if (GoesByComplex(a_type, b_type, acc_type)) {
    sizes[ScratchUse::kLeft] = bytes(m, k, kPlanes);
    sizes[ScratchUse::kRight] = bytes(k, n, kPlanes);
    sizes[ScratchUse::kSums] = bytes(m, n, kPlanes);
  } else {
    sizes[ScratchUse::kPanel] = internal::kPanelElements * sizeof(double);
  }
  return sizes;
}

void Dot(DType a_type, DType b_type, DType acc_type, const void* a, const void* b, const void* c,
         void* out, int64_t m, int64_t n, int64_t k) {
  if (m <= 0 || n <= 0 || k < 0) return;
  if (GoesByF32(a_type, b_type, acc_type)) {
    DotFloat(a_type, b_type, a, b, c, out, m, n, k);
  } else if (GoesByIntegers(a_type, b_type, acc_type)) {
    DotInteger(a_type, b_type, a, b, c, out, m, n, k);
  } else if (acc_type == kF64 && a_type == kF64 && b_type == kF64) {
    Gemm<double>({static_cast<const double*>(a), k}, Bytes(b, n), kF64,
                 {static_cast<const double*>(c), n}, {static_cast<double*>(out), n}, m, n, k);
  } else if (GoesByComplex(a_type, b_type, acc_type)) {
    DotComplex(a_type, b_type, a, b, c, out, m, n, k);
  }
}

}  // namespace tarsia::host
