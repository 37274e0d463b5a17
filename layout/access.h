// What it costs to move a register tile through a memory layout: the widest vector access, shared
// memory wavefronts (bank conflicts), ldmatrix shape, global sectors. The model: shared memory has
// 32 banks of 4 bytes; an access of at most 4 bytes per thread is one phase of 32 threads, of 8
// bytes two phases of 16, of 16 bytes four phases of 8; a phase takes as many wavefronts as the
// busiest bank has distinct words. Global memory moves sectors of 32 bytes.
//
// The register tile's shape must be the memory layout's (slice first). Pure; safe from any thread.
#ifndef TARSIA_LAYOUT_ACCESS_H_
#define TARSIA_LAYOUT_ACCESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/bit_layout.h"
#include "layout/mem_layout.h"
#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia {

inline constexpr int kBanks = 32;
inline constexpr int kBankBytes = 4;
inline constexpr int kWarpThreads = 32;
inline constexpr int64_t kSectorBytes = 32;

// The bytes that the threads of a tile access: for every thread the bit stream of its registers
// (slot s of a tile of N bits is at [s*N, (s+1)*N), or where `bits` says), each bit with its
// address.
class TileAccess {
 public:
  // `bits`: the bit layout of the register tile, or null for contiguous codes of `width` bits.
  static Result<TileAccess> Make(const RegLayout& tile, const MemLayout& memory, int width,
                                 const BitLayout* bits = nullptr);

  // The widest access in bytes (16, 8, 4, 2 or 1) that moves every thread's stream, unit by unit,
  // from aligned addresses; 0 where bits must be moved one by one. `max_bytes` is a power of two.
  [[nodiscard]] int WidestVector(int max_bytes = 16) const;

  // Units of `bytes` each that a thread moves (`bytes` from WidestVector or a divisor).
  [[nodiscard]] int64_t Units(int bytes) const;
  // Byte address of unit `unit` of `thread`.
  [[nodiscard]] uint64_t Address(int64_t thread, int64_t unit, int bytes) const;
  [[nodiscard]] int64_t threads() const { return threads_; }

  struct Cost {
    int64_t accesses = 0;  // warp-wide instructions
    int64_t actual = 0;    // wavefronts or sectors
    int64_t ideal = 0;     // the fewest that the distinct bytes of each access need
    friend bool operator==(const Cost&, const Cost&) = default;
  };
  [[nodiscard]] Cost SharedWavefronts(int bytes) const;
  [[nodiscard]] Cost GlobalSectors(int bytes) const;
  // The cost of one access (unit) of one warp.
  [[nodiscard]] int64_t Wavefronts(int64_t warp, int64_t unit, int bytes) const;
  [[nodiscard]] int64_t Sectors(int64_t warp, int64_t unit, int bytes) const;

  // Whether every 32-bit register of every warp is a matrix of an ldmatrix (8 rows of 16 aligned
  // bytes), directly or transposed (16-bit elements).
  enum class LdMatrix : uint8_t { kNo, kPlain, kTransposed };
  [[nodiscard]] LdMatrix LdMatrixShape() const;
  // For a shape other than kNo: the eight rows of the matrix in register `unit` (of 32 bits) of a
  // warp, 16 bytes each; an ldmatrix reads a matrix at a time, so each matrix is a separate access.
  [[nodiscard]] std::vector<uint64_t> MatrixRows(LdMatrix shape, int64_t warp, int64_t unit) const;
  [[nodiscard]] Cost LdMatrixWavefronts(LdMatrix shape) const;
  // The byte addresses of one access of one warp, thread by thread.
  [[nodiscard]] std::vector<uint64_t> WarpAddresses(int64_t warp, int64_t unit, int bytes) const;

 private:
  int64_t threads_ = 0;
  int64_t stream_bits_ = 0;  // per thread
  int grain_ = 1;            // addresses are kept for every `grain_` bits of the stream
  int width_ = 0;
  std::vector<uint64_t> addresses_;  // in bits, [thread][stream_bits_ / grain_]
};

// The number of lanes in a phase of an access, and the number of words that each bank delivers in
// it.
size_t PhaseLanes(int bytes);
std::array<int64_t, kBanks> BankLoads(std::span<const uint64_t> addresses, int bytes);
// The number of wavefronts of one access of a warp: 32 byte addresses (or fewer), `bytes` each.
int64_t WavefrontsOf(std::span<const uint64_t> addresses, int bytes);
// The number of distinct 32-byte sectors.
int64_t SectorsOf(std::span<const uint64_t> addresses, int bytes);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_ACCESS_H_
