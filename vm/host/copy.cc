#include "vm/host/copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dtypes/container.h"
#include "support/extents.h"
#include "vm/host/elementwise.h"

namespace tarsia::host {
namespace {

// A strided move after normalisation: no axis of extent 1, neighbours merged where both sides
// allow it, the innermost axis last. Strides in bytes.
struct Move {
  size_t rank = 0;
  std::array<int64_t, kMaxCopyRank> extent{};
  std::array<int64_t, kMaxCopyRank> src{};
  std::array<int64_t, kMaxCopyRank> dst{};

  void Append(int64_t n, int64_t src_stride, int64_t dst_stride) {
    if (n == 1) return;
    if (rank > 0 && src[rank - 1] == n * src_stride && dst[rank - 1] == n * dst_stride) {
      extent[rank - 1] *= n;
      src[rank - 1] = src_stride;
      dst[rank - 1] = dst_stride;
      return;
    }
    extent[rank] = n;
    src[rank] = src_stride;
    dst[rank] = dst_stride;
    ++rank;
  }
};

template <typename T>
T Load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

template <typename T>
void Store(uint8_t* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

// One row of the innermost axis.
template <typename T>
void CopyRow(const uint8_t* src, int64_t src_stride, uint8_t* dst, int64_t dst_stride, int64_t n) {
  constexpr int64_t kSize = sizeof(T);
  if (src_stride == kSize && dst_stride == kSize) {
    std::memcpy(dst, src, static_cast<size_t>(n * kSize));
  } else if (src_stride == 0 && dst_stride == kSize) {
    const T value = Load<T>(src);
    for (int64_t i = 0; i < n; ++i) Store(dst + i * kSize, value);
  } else if (dst_stride == kSize) {
    for (int64_t i = 0; i < n; ++i) Store(dst + i * kSize, Load<T>(src + i * src_stride));
  } else {
    for (int64_t i = 0; i < n; ++i) Store(dst + i * dst_stride, Load<T>(src + i * src_stride));
  }
}

// A transposition of [rows, columns] where the source is contiguous along rows and the target along
// columns, in squares that fit in the L1 cache.
template <typename T>
void TransposePlane(const uint8_t* src, int64_t src_stride, uint8_t* dst, int64_t dst_stride,
                    int64_t rows, int64_t columns) {
  constexpr int64_t kSize = sizeof(T);
  constexpr int64_t kSquare = 64 / kSize;  // one cache line
  for (int64_t r0 = 0; r0 < rows; r0 += kSquare) {
    const int64_t r1 = std::min(rows, r0 + kSquare);
    for (int64_t c0 = 0; c0 < columns; c0 += kSquare) {
      const int64_t c1 = std::min(columns, c0 + kSquare);
      for (int64_t r = r0; r < r1; ++r) {
        const uint8_t* from = src + r * kSize;
        uint8_t* to = dst + r * dst_stride;
        for (int64_t c = c0; c < c1; ++c) Store(to + c * kSize, Load<T>(from + c * src_stride));
      }
    }
  }
}

// Steps through the axes [0, axes) in row-major order, calling move(src, dst) at each position.
template <typename Function>
void ForEachPosition(const Move& m, size_t axes, const uint8_t* src, uint8_t* dst,
                     const Function& move) {
  std::array<int64_t, kMaxCopyRank> index{};
  for (;;) {
    move(src, dst);
    size_t axis = axes;
    for (;;) {
      if (axis == 0) return;
      --axis;
      src += m.src[axis];
      dst += m.dst[axis];
      if (++index[axis] < m.extent[axis]) break;
      src -= m.src[axis] * m.extent[axis];
      dst -= m.dst[axis] * m.extent[axis];
      index[axis] = 0;
    }
  }
}

template <typename T>
void Execute(const Move& given, const uint8_t* src, uint8_t* dst) {
  constexpr int64_t kSize = sizeof(T);
  if (given.rank == 0) {
    std::memcpy(dst, src, sizeof(T));
    return;
  }
  Move m = given;
  const size_t last = m.rank - 1;
  // The axis along which the source is contiguous, if it is not the innermost one.
  const auto* const found = std::find(m.src.data(), m.src.data() + last, kSize);
  const auto along = static_cast<size_t>(found - m.src.data());
  if (m.dst[last] == kSize && m.src[last] != 0 && m.src[last] != kSize && along < last) {
    // Move it next to the innermost axis; the order of positions is free.
    std::rotate(&m.extent[along], &m.extent[along + 1], &m.extent[last]);
    std::rotate(&m.src[along], &m.src[along + 1], &m.src[last]);
    std::rotate(&m.dst[along], &m.dst[along + 1], &m.dst[last]);
    ForEachPosition(m, last - 1, src, dst, [&](const uint8_t* from, uint8_t* to) {
      TransposePlane<T>(from, m.src[last], to, m.dst[last - 1], m.extent[last - 1], m.extent[last]);
    });
    return;
  }
  ForEachPosition(m, last, src, dst, [&](const uint8_t* from, uint8_t* to) {
    CopyRow<T>(from, m.src[last], to, m.dst[last], m.extent[last]);
  });
}

}  // namespace

void CopyStrided(int container_bytes, const void* src, std::span<const int64_t> src_strides,
                 void* dst, std::span<const int64_t> dst_strides, std::span<const int64_t> shape) {
  if (shape.size() > kMaxCopyRank) return;
  Move m;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] <= 0) return;
    m.Append(shape[axis], src_strides[axis] * container_bytes, dst_strides[axis] * container_bytes);
  }
  const auto* from = static_cast<const uint8_t*>(src);
  auto* to = static_cast<uint8_t*>(dst);
  VisitContainer(container_bytes,
                 [&](auto container) { Execute<decltype(container)>(m, from, to); });
}

void Permute(int container_bytes, const void* src, std::span<const int64_t> shape,
             std::span<const int64_t> order, void* out) {
  const size_t rank = shape.size();
  if (rank > kMaxCopyRank) return;
  int64_t source[kMaxCopyRank];
  int64_t src_strides[kMaxCopyRank];
  int64_t dst_strides[kMaxCopyRank];
  int64_t extents[kMaxCopyRank];
  RowMajorStrides(shape, source);
  for (size_t d = 0; d < rank; ++d) {
    extents[d] = shape[static_cast<size_t>(order[d])];
    src_strides[d] = source[order[d]];
  }
  RowMajorStrides({extents, rank}, dst_strides);
  CopyStrided(container_bytes, src, {src_strides, rank}, out, {dst_strides, rank}, {extents, rank});
}

void Broadcast(int container_bytes, const void* src, std::span<const int64_t> shape,
               std::span<const int64_t> out_shape, void* out) {
  const size_t rank = shape.size();
  if (rank > kMaxCopyRank) return;
  int64_t src_strides[kMaxCopyRank];
  int64_t dst_strides[kMaxCopyRank];
  RowMajorStrides(shape, src_strides);
  for (size_t d = 0; d < rank; ++d) {
    if (shape[d] == 1) src_strides[d] = 0;
  }
  RowMajorStrides(out_shape, dst_strides);
  CopyStrided(container_bytes, src, {src_strides, rank}, out, {dst_strides, rank}, out_shape);
}

}  // namespace tarsia::host
