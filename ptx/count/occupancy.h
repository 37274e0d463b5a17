// How many blocks of a kernel a multiprocessor holds at once, and what forbids more. Limits are in
// occupancy.def; registers are those that ptxas reports.
//
// Registers are given to warps in units of 256, from the quarter of the file that belongs to the
// warp's quarter of the multiprocessor; shared memory to blocks in units of 128 bytes, of which 1
// KiB is the system's (CUDA C++ Programming Guide, "Compute Capability 8.x" and "9.0"; Nsight
// Compute, "Occupancy Calculator").
#ifndef TARSIA_PTX_COUNT_OCCUPANCY_H_
#define TARSIA_PTX_COUNT_OCCUPANCY_H_

#include <cstdint>
#include <string_view>

namespace tarsia::ptx {

// The limits of a target.
struct SmLimits {
  std::string_view target;
  uint32_t warps = 0;
  uint32_t blocks = 0;
  uint32_t registers = 0;
  uint64_t shared_bytes = 0;
  uint64_t block_shared_bytes = 0;
};
// The limits of "sm_90", "sm_90a" or "sm_90f"; null for a target that is not in the table.
const SmLimits* FindSmLimits(std::string_view target);

struct BlockNeeds {
  uint32_t threads = 0;
  uint32_t registers = 0;     // of a thread; 0 if they are not known and limit nothing
  uint64_t shared_bytes = 0;  // static and dynamic
};

enum class OccupancyLimit : uint8_t { kBlocks, kWarps, kRegisters, kSharedMemory };
// "blocks", "warps", "registers", "shared memory".
std::string_view NameOf(OccupancyLimit limit);

struct Occupancy {
  uint32_t blocks = 0;  // 0: not even one can be launched
  uint32_t warps = 0;
  uint32_t most_warps = 0;  // of the multiprocessor
  OccupancyLimit limit = OccupancyLimit::kBlocks;

  [[nodiscard]] double fraction() const {
    return most_warps == 0 ? 0 : static_cast<double>(warps) / most_warps;
  }
};

Occupancy FindOccupancy(const SmLimits& limits, const BlockNeeds& needs);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_COUNT_OCCUPANCY_H_
