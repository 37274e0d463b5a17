// Moves of containers without arithmetic: between strided tiles, permutations and broadcasts of
// contiguous tiles. Sources and targets may not overlap; any alignment; thread-safe; nothing is
// allocated. Ranks are at most kMaxCopyRank; for a higher rank nothing is copied.
#ifndef TARSIA_VM_HOST_COPY_H_
#define TARSIA_VM_HOST_COPY_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace tarsia::host {

inline constexpr size_t kMaxCopyRank = 16;

// dst[i, ..] = src[i, ..] over `shape`, with strides in elements of container_bytes (1, 2, 4, 8);
// a source stride of 0 repeats. Picks row copies, fills or blocked transposition.
void CopyStrided(int container_bytes, const void* src, std::span<const int64_t> src_strides,
                 void* dst, std::span<const int64_t> dst_strides, std::span<const int64_t> shape);

// Dimension d of the row-major `out` is dimension order[d] of the row-major `src` of `shape`.
void Permute(int container_bytes, const void* src, std::span<const int64_t> shape,
             std::span<const int64_t> order, void* out);

// Repeats the axes of extent 1 of a row-major array to `out_shape`, of the same rank.
void Broadcast(int container_bytes, const void* src, std::span<const int64_t> shape,
               std::span<const int64_t> out_shape, void* out);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_COPY_H_
