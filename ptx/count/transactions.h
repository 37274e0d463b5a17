// What the accesses of a warp cost: sectors of global and local memory, wavefronts of shared
// memory. The rules, of compute capability 5.0 and later (CUDA C++ Programming Guide, "Compute
// Capabilities", on global and shared memory; Nsight Compute's Profiling Guide, "Memory Tables"):
//
//   global   An instruction asks once for every sector of 32 bytes that its threads touch.
//   shared   32 banks of 4 bytes. Threads are served in phases: all 32 with up to 4 bytes each,
//            16 with 8, 8 with 16, and the 8 rows of one matrix of ldmatrix and stmatrix. A phase
//            takes as many wavefronts as the busiest bank has distinct words; equal words are one.
//            Atomics on equal words follow each other, so that each thread counts.
//   local    The n-th words of the threads of a warp lie together, 128 bytes.
#ifndef TARSIA_PTX_COUNT_TRANSACTIONS_H_
#define TARSIA_PTX_COUNT_TRANSACTIONS_H_

#include <array>
#include <cstdint>

#include "ptx/table/code.h"

namespace tarsia::ptx {

// Where the threads of a warp touch memory: `bytes` bytes each, lanes outside of `mask` none.
struct WarpAccess {
  uint32_t mask = 0;
  uint32_t bytes = 0;
  std::array<uint64_t, kLanes> address{};
};

struct Transactions {
  uint64_t actual = 0;
  uint64_t ideal = 0;
};

// The sectors of global memory that bytes in a row touch, and the least that so many bytes fill.
uint64_t SectorsOf(uint64_t address, uint64_t bytes);
uint64_t IdealSectors(uint64_t bytes);

Transactions GlobalSectors(const WarpAccess& access);
Transactions SharedWavefronts(const WarpAccess& access, bool atomic);
uint64_t LocalSectors(const WarpAccess& access);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_COUNT_TRANSACTIONS_H_
