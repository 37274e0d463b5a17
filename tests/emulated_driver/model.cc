#include "tests/emulated_driver/model.h"

#include <algorithm>
#include <string>

#include "ptx/count/occupancy.h"

namespace tarsia::emulated {
namespace {

constexpr uint32_t kNeighbours = 16;

int CapabilityOf(const Settings& settings) { return settings.major * 10 + settings.minor; }

// For a capability that is not in the table, the limits that every GPU has.
ptx::SmLimits LimitsOf(int capability) {
  const ptx::SmLimits* const known = ptx::FindSmLimits("sm_" + std::to_string(capability));
  if (known != nullptr) return *known;
  const Model model = ModelOf(capability);
  ptx::SmLimits out;
  out.warps = static_cast<uint32_t>(model.threads / 32);
  out.blocks = 16;
  out.registers = 65536;
  out.shared_bytes = static_cast<uint64_t>(model.shared_memory);
  out.block_shared_bytes = MaxSharedOptIn(capability);
  return out;
}

}  // namespace

Model ModelOf(int capability) {
  if (capability < 80) return {80, 1024, 96 << 10, 6 << 20};
  if (capability == 80) return {108, 2048, 164 << 10, 40 << 20};
  if (capability < 90) return {128, 1536, 100 << 10, 72 << 20};
  if (capability >= 120) return {170, 1536, 100 << 10, 96 << 20};
  return {132, 2048, 228 << 10, 50 << 20};
}

uint32_t BlocksPerMultiprocessor(const Settings& settings, const Function& function,
                                 uint64_t threads, uint64_t dynamic_shared) {
  ptx::BlockNeeds needs;
  needs.threads = static_cast<uint32_t>(threads);
  needs.shared_bytes = function.entry->dynamic_offset + dynamic_shared;
  return ptx::FindOccupancy(LimitsOf(CapabilityOf(settings)), needs).blocks;
}

uint32_t ClustersOfDevice(const Settings& settings, uint32_t blocks_per_multiprocessor,
                          uint64_t cluster) {
  const auto all = static_cast<uint32_t>(ModelOf(CapabilityOf(settings)).multiprocessors);
  uint64_t clusters = 0;
  for (uint32_t first = 0; first < all; first += kNeighbours) {
    const uint32_t here = std::min(kNeighbours, all - first);
    clusters += uint64_t{here} * blocks_per_multiprocessor / cluster;
  }
  return static_cast<uint32_t>(clusters);
}

}  // namespace tarsia::emulated
