// The descriptor by which wgmma names a matrix in shared memory, and where the matrix then lies.
//
//   bits   0-13  start address / 16      bits 49-51  base offset
//   bits  16-29  leading offset / 16     bits 62-63  swizzle: 0 none, 1 128, 2 64, 3 32 bytes
//   bits  32-45  stride offset / 16      the rest is 0
//
// A matrix is read in chunks of 16 bytes along the dimension in which it is contiguous ("major").
// The offsets in bytes of the chunk, with W the bytes of the swizzle:
//   K-major, row r, chunk c of K       none: 16 (r % 8) + stride (r / 8) + leading c
//                                      else: W (r % 8) + stride (r / 8) + 16 c
//   MN-major, row k of K, chunk c      none: 16 (k % 8) + leading (k / 8) + stride c
//   (of 8 elements) of M or N          else: W (k % 8) + stride (k / 8) + 16 (c % (W / 16)) +
//                                            leading (c / (W / 16))
// and a swizzle then exchanges the chunks within each 128 bytes by the number of these 128 bytes,
// counted from where the pattern of the swizzle begins.
#ifndef TARSIA_PTX_EXEC_WGMMA_DESCRIPTOR_H_
#define TARSIA_PTX_EXEC_WGMMA_DESCRIPTOR_H_

#include <cstdint>
#include <string>

namespace tarsia::ptx {

inline constexpr uint32_t kChunkBytes = 16;

struct WgmmaDescriptor {
  uint32_t start = 0;  // all in bytes
  uint32_t leading = 0;
  uint32_t stride = 0;
  uint32_t base_offset = 0;  // in units of 128 bytes
  uint32_t swizzle = 0;      // 0, 32, 64 or 128
  uint64_t rest = 0;         // bits that mean nothing

  explicit WgmmaDescriptor(uint64_t bits);

  // Where chunk `chunk` of row `row` lies; rows are of K if it is MN-major, else of M or N.
  [[nodiscard]] uint32_t ChunkAddress(bool mn_major, uint32_t row, uint32_t chunk) const;
  // What is wrong with it for a matrix of `chunks` chunks a row; empty if nothing is.
  [[nodiscard]] std::string Fault(bool mn_major, uint32_t chunks) const;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_EXEC_WGMMA_DESCRIPTOR_H_
