#include "ptx/machine/special_values.h"

#include <chrono>

#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/warp.h"

namespace tarsia::ptx {
namespace {

uint64_t Nanoseconds() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

// The names on the left are those that rows of specials.def use.
uint64_t SpecialValue(Warp& warp, Special special, int lane) {
  Block& block = warp.block();
  const LaunchContext& launch = warp.launch();
  const LaunchConfig& config = *launch.config;
  Cluster& cluster = block.cluster();
  const Dim3 tid = warp.ThreadOf(lane);
  const uint32_t bit = uint32_t{1} << lane;
  switch (special) {
#define PTX_SPECIAL(constant, name, bytes, value) \
  case Special::constant:                         \
    return value;
#define PTX_SPECIAL_ZERO(constant, name, bytes) PTX_SPECIAL(constant, name, bytes, 0)
#include "ptx/table/specials.def"
#include "ptx/table/types.h"
#undef PTX_SPECIAL
  }
  return 0;
}

}  // namespace tarsia::ptx
