#include "ptx/count/occupancy.h"

#include <cstddef>

#include "ptx/table/types.h"
#include "support/align.h"

namespace tarsia::ptx {
namespace {

constexpr uint32_t kWarpThreads = 32;
constexpr uint32_t kQuarters = 4;
constexpr uint32_t kRegisterUnit = 256;
constexpr uint32_t kMostRegisters = 255;  // of a thread
constexpr uint64_t kSharedUnit = 128;
constexpr uint32_t kMostThreads = 1024;

constexpr SmLimits kLimits[] = {
#define PTX_SM(target, warps, blocks, registers, shared, shared_block) \
  {target, warps, blocks, registers, uint64_t{shared} * 1024, uint64_t{shared_block} * 1024},
#include "ptx/count/occupancy.def"
#undef PTX_SM
};

// Blocks that the registers are enough for.
uint32_t ByRegisters(const SmLimits& limits, const BlockNeeds& needs, uint32_t warps) {
  if (needs.registers == 0) return limits.blocks;
  if (needs.registers > kMostRegisters) return 0;
  const uint32_t of_warp = AlignUp(needs.registers * kWarpThreads, kRegisterUnit);
  return limits.registers / kQuarters / of_warp * kQuarters / warps;
}

uint32_t BySharedMemory(const SmLimits& limits, const BlockNeeds& needs) {
  if (needs.shared_bytes > limits.block_shared_bytes) return 0;
  const uint64_t of_block = AlignUp(needs.shared_bytes + kReservedShared, kSharedUnit);
  return static_cast<uint32_t>(limits.shared_bytes / of_block);
}

}  // namespace

const SmLimits* FindSmLimits(std::string_view target) {
  if (!target.empty() && (target.back() == 'a' || target.back() == 'f')) target.remove_suffix(1);
  for (const SmLimits& limits : kLimits) {
    if (limits.target == target) return &limits;
  }
  return nullptr;
}

std::string_view NameOf(OccupancyLimit limit) {
  constexpr std::string_view kNames[] = {"blocks", "warps", "registers", "shared memory"};
  return kNames[static_cast<size_t>(limit)];
}

Occupancy FindOccupancy(const SmLimits& limits, const BlockNeeds& needs) {
  Occupancy found;
  found.most_warps = limits.warps;
  if (needs.threads == 0 || needs.threads > kMostThreads) return found;
  const uint32_t warps = (needs.threads + kWarpThreads - 1) / kWarpThreads;
  found.blocks = limits.blocks;
  const auto limit = [&](uint32_t blocks, OccupancyLimit by) {
    if (blocks >= found.blocks) return;
    found.blocks = blocks;
    found.limit = by;
  };
  limit(limits.warps / warps, OccupancyLimit::kWarps);
  limit(ByRegisters(limits, needs, warps), OccupancyLimit::kRegisters);
  limit(BySharedMemory(limits, needs), OccupancyLimit::kSharedMemory);
  found.warps = found.blocks * warps;
  return found;
}

}  // namespace tarsia::ptx
