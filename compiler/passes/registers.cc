#include "compiler/passes/registers.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/passes/live_words.h"
#include "compiler/passes/shared_tiles.h"
#include "isa/limits.h"
#include "layout/access.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

// CUDA C++ Programming Guide, "Compute Capabilities": of a multiprocessor, 7.0 to 9.0.
constexpr int64_t kRegistersOfProcessor = 65536;
constexpr int64_t kRegistersAtOnce = 8;
// Its quarters, each of which has a quarter of the registers for its warps.
constexpr int64_t kQuarters = 4;

// Of a thread for addresses, counters and the fragments of two slices of a product.
constexpr int64_t kBesidesTiles = 80;
// Of a multiprocessor, that rings need to hide latency: more would only lack registers.
constexpr int64_t kWarpsWithRings = 16;

// The blocks that are to share a multiprocessor, of a kernel with rings of asynchronous copies: no
// more than have room, or are of use. 0: it has no rings.
int64_t BlocksBySharedMemory(const tile::Form& form, Target target) {
  int64_t bytes = 0;
  bool copied = false;
  for (const SharedAllocation& tile : FindSharedAllocations(form)) {
    copied = copied || tile.copied;
    bytes = std::max(bytes, static_cast<int64_t>(tile.place.value_or(0) + tile.bytes));
  }
  if (!copied) return 0;
  const int64_t blocks = BlocksInSharedMemory(Row(target).shared_bytes, bytes);
  return std::max<int64_t>(std::min(blocks, kWarpsWithRings / form.Warps()), 1);
}

}  // namespace

int64_t MostRegistersOfThread(int64_t warps) {
  const int64_t of_thread =
      kRegistersOfProcessor / kQuarters / (CeilDiv(warps, kQuarters) * kWarpThreads);
  return std::min(of_thread / kRegistersAtOnce * kRegistersAtOnce, kMostRegisterBound);
}

void BoundRegisters(tile::Form& form, Target target) {
  if (!form.header.registers.none()) return;
  const int64_t most = MostRegistersOfThread(form.Warps());
  const int64_t tiles = LiveWords(form).Most().words;
  int64_t blocks = BlocksBySharedMemory(form, target);
  const auto of_thread = [&] {
    return MostRegistersOfThread(AlignUp(form.Warps(), kQuarters) * blocks);
  };
  while (blocks > 1 && of_thread() < tiles + kBesidesTiles) --blocks;
  if (tiles > most) {
    form.header.registers = form.pool.Int(most);
  } else if (blocks != 0) {
    form.header.registers = form.pool.Int(of_thread());
  }
}

std::vector<LineAdvice> AdviceOnRegisters(const tile::Form& form) {
  const int64_t bound = form.pool.AsInt(form.header.registers).value_or(kMostRegisterBound);
  const int64_t most = std::min(MostRegistersOfThread(form.Warps()), bound);
  const LiveWords::Peak peak = LiveWords(form).Most();
  if (peak.words <= most) return {};
  return {{form.ops[peak.op].location.line,
           fmt::format("the tiles that live here take {} registers of a thread, which has at most "
                       "{}: make them smaller, or use more warps",
                       peak.words, most)}};
}

}  // namespace tarsia::compiler
