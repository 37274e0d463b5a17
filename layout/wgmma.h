// Operands of wgmma that lie in shared memory: the memory layouts the instruction can read, and the
// 64-bit descriptors that tell it where and how (PTX manual, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Operation using wgmma.mma_async", sections on the shared memory matrix layout
// and the matrix descriptor).
//
// The unit is a chunk of 16 bytes. An operand is tiled by atoms that are contiguous in memory: 8
// rows of `swizzle` bytes (16 without a swizzle). K-major: a row of the atom runs along k, and the
// 8 rows are 8 indices of m (or n). MN-major: a row runs along m (or n), and the 8 rows are 8
// indices of k. A swizzle of 32, 64 or 128 bytes permutes the chunks within the rows of an atom, by
// address bits 7 (and 8, 9) onto bits 4 (and 5, 6).
//
// Pure; safe from any thread.
#ifndef TARSIA_LAYOUT_WGMMA_H_
#define TARSIA_LAYOUT_WGMMA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/mem_layout.h"
#include "support/result.h"

namespace tarsia {

enum class WgmmaMajor : uint8_t { kK, kMn };

// An operand as it is to lie in shared memory. A is [mn, k], B is [k, mn].
struct WgmmaTile {
  int64_t mn = 0;  // extent in m (of A) or n (of B), a multiple of 8
  int64_t k = 0;
  bool k_first = false;  // B: k is the first dimension
  int bits = 16;         // of an element: 8, 16 or 32
  WgmmaMajor major = WgmmaMajor::kK;
  int swizzle = 128;  // bytes: 0 (none), 32, 64 or 128
};

// Atoms follow each other densely: those that share their place in the major direction first.
// Errors: extents that the atoms do not divide, MN-major of other than 16 bits.
Result<MemLayout> WgmmaLayout(const WgmmaTile& tile);

// `wgmma.m64k64.f16.k128` is A, [64, 64], K-major with the swizzle of 128 bytes;
// `wgmma.k64n128.bf16.mn32` is B, [64, 128]. Empty if the text is not such a name.
std::optional<Result<MemLayout>> FindWgmmaLayout(std::string_view name);

// The fields of the descriptor, in bytes. The base must be aligned to the swizzle's period (256,
// 512 or 1024 bytes; 16 without one): then the base offset of the descriptor is 0.
struct WgmmaDescriptor {
  WgmmaMajor major = WgmmaMajor::kK;
  int swizzle = 0;
  int64_t leading = 0;  // not used by K-major with a swizzle
  int64_t stride = 0;
  // Where the operand of each step along k begins; a step is 32 bytes of k.
  std::vector<int64_t> steps;

  // The descriptor of the step that begins at this shared-memory address.
  [[nodiscard]] uint64_t Encode(uint32_t address) const;
  friend bool operator==(const WgmmaDescriptor&, const WgmmaDescriptor&) = default;
};

// How wgmma reads a matrix of elements of `bits` bits through this layout; `k_dim` is the dimension
// that is k. Errors: shapes that cannot be an operand, and layouts that no descriptor fits; the
// error names the first element that lies elsewhere.
Result<WgmmaDescriptor> DescribeForWgmma(const MemLayout& memory, int bits, int k_dim);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_WGMMA_H_
