#include "compiler/cost/cost.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/select/access.h"
#include "compiler/select/matrices.h"
#include "compiler/select/scratch.h"
#include "layout/access.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// The schedulers of a multiprocessor; the CUDA programming guide, compute capabilities 8.0 to 9.0.
constexpr Cost kSchedulers = 4;
// 128 bytes of shared memory a cycle (the same guide: 32 banks of 4 bytes).
constexpr Cost kWavefront = kSchedulers;
// A line of 128 bytes a cycle from the first-level cache: it looks up one tag a cycle, of whose
// line it moves up to 4 sectors (Nsight Compute, L1TEX). So a sector of a whole line costs a
// quarter.
constexpr Cost kSector = 1;
constexpr Cost kLine = kSchedulers;
constexpr uint64_t kLineBytes = 128;
// A barrier costs little to issue, but all warps wait for the slowest one.
constexpr Cost kBarrier = 40;
// The address of an access, and its mask where there is one.
constexpr Cost kAddress = 1;
// A code that is loaded or stored by itself, and one of a packed tile: counted in the code that is
// emitted today.
constexpr Cost kLoneCode = 6;
constexpr Cost kLonePackedCode = 20;

// Places that are far apart: another one for each dimension.
int64_t StrideOf(const AccessedMemory& memory, size_t dim) {
  const int64_t stride = memory.strides[dim];
  return stride != AccessedMemory::kFar ? stride
                                        : (int64_t{1} << 20) * static_cast<int64_t>(dim + 1);
}

// The byte addresses of the first elements of the first warp.
std::vector<uint64_t> WarpAddresses(const TileLayout& layout, std::span<const int64_t> strides,
                                    int bits) {
  std::vector<uint64_t> out;
  const int64_t lanes = std::min<int64_t>(kWarpThreads, layout.threads());
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const Extents at = layout.ThreadOffset(lane);
    int64_t element = 0;
    for (size_t d = 0; d < at.size(); ++d) element += at[d] * strides[d];
    out.push_back(static_cast<uint64_t>(element) * static_cast<uint64_t>(bits) / 8);
  }
  return out;
}

// The same where all places are known.
std::vector<uint64_t> WarpPlaces(const TileLayout& layout, const StridedBytes& places) {
  std::vector<uint64_t> out;
  const int64_t lanes = std::min<int64_t>(kWarpThreads, layout.threads());
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t byte = places.Swizzled(places.Of(layout.ThreadOffset(lane)));
    out.push_back(static_cast<uint64_t>(byte));
  }
  return out;
}

// The lines that the first warp touches, at `unit` bytes from each address.
int64_t LinesOf(const std::vector<uint64_t>& addresses, int unit) {
  std::set<uint64_t> lines;
  for (const uint64_t address : addresses) {
    lines.insert(address / kLineBytes);
    lines.insert((address + static_cast<uint64_t>(unit) - 1) / kLineBytes);
  }
  return static_cast<int64_t>(lines.size());
}

// The access of a run of so many bits.
int UnitOfBits(int64_t bits) { return bits % 8 == 0 ? UnitOf(bits / 8) : 1; }

// Slots that move together, in accesses of UnitOfBits.
int64_t VectorOf(const AccessedMemory& memory, const TileLayout& layout) {
  const int bits = memory.type.bits;
  if (memory.fast < 0 || layout.empty() || layout.reg().local().empty()) return 1;
  const RegLayout::Digit& inner = layout.reg().local().back();
  if (inner.dim != memory.fast || inner.stride != 1) return 1;
  const int64_t most = WidestRun(memory);
  const auto fits = [&](int64_t v) {
    if (v > most || v / 2 * bits % (8 * kWidestAccess) == 0 || inner.extent % v != 0) return false;
    if (layout.PaddedAlong(memory.fast) && layout.shape()[Size(memory.fast)] % v != 0) return false;
    const auto& spatial = layout.reg().spatial();
    return std::all_of(spatial.begin(), spatial.end(), [&](const RegLayout::Digit& digit) {
      return digit.dim != memory.fast || digit.stride % v == 0;
    });
  };
  int64_t vector = 1;
  for (int64_t v = 2; fits(v); v *= 2) vector = v;
  return vector * bits % 8 == 0 ? vector : 1;
}

// The words of a packed tile in accesses of 16, 8 and 4 bytes.
Cost PackedCost(const AccessedMemory& memory, int64_t turns) {
  const int64_t words = memory.packed_words;
  const int64_t accesses = words / 4 + words % 4 / 2 + words % 2;
  return turns * (accesses + words * 4 * kSector);
}

// By `ldmatrix`, which takes each row as one access; empty: it cannot.
std::optional<Cost> MatrixCost(const AccessedMemory& memory, const TileLayout& layout) {
  const int64_t row = kWidestAccess * 8 / memory.type.bits;
  if (!memory.is_load || !memory.places || WidestRun(memory) % row != 0) return std::nullopt;
  const auto loads = FindMatrixLoads(layout, memory.fast, memory.type.bits / 8);
  if (!loads) return std::nullopt;
  const int64_t wavefronts = WavefrontsOf(WarpPlaces(loads->rows, *memory.places), kWidestAccess);
  return layout.slots() / (int64_t{2} * loads->count) * (1 + kWavefront * wavefronts);
}

// The accesses of a tile, without what takes its elements out of registers.
Cost AccessesCost(const AccessedMemory& memory, const TileLayout& layout, int64_t vector) {
  const int bits = memory.type.bits;
  std::vector<int64_t> strides;
  for (size_t d = 0; d < memory.strides.size(); ++d) strides.push_back(StrideOf(memory, d));
  const int unit = UnitOfBits(vector * bits);
  const std::vector<uint64_t> addresses =
      memory.places ? WarpPlaces(layout, *memory.places) : WarpAddresses(layout, strides, bits);
  const Cost moved = memory.space == Space::kShared ? kWavefront * WavefrontsOf(addresses, unit)
                                                    : kLine * LinesOf(addresses, unit);
  const bool known = std::find(memory.strides.begin(), memory.strides.end(),
                               AccessedMemory::kFar) == memory.strides.end();
  const Cost accesses = layout.slots() / vector * CeilDiv(vector * bits, int64_t{8} * unit);
  return accesses * (1 + (known ? 0 : kAddress) + moved);
}

// Values of 64 bits take two registers and two instructions.
Cost Registers(DType type) { return type.bits > 32 ? 2 : 1; }

}  // namespace

int64_t WidestRun(const AccessedMemory& memory) {
  if (memory.fast < 0) return 1;
  const auto fast = Size(memory.fast);
  int64_t all = memory.begins.empty() ? 0 : memory.begins[fast];
  all = std::gcd(all, memory.extents.empty() ? 1 : memory.extents[fast]);
  for (size_t d = 0; d < memory.strides.size(); ++d) {
    if (d == fast) continue;
    const bool far = memory.strides[d] == AccessedMemory::kFar;
    all = std::gcd(all, far ? memory.stride_divisors[d] : memory.strides[d]);
  }
  return all == 0 ? int64_t{1} << 40 : all & -all;  // the power of two in it
}

bool LoadsPackedWords(const AccessedMemory& memory, const TileLayout& layout) {
  if (!memory.packed || layout.empty() || !Divide(layout.reg(), *memory.packed).ok()) return false;
  for (size_t d = 0; d < memory.begins.size(); ++d) {
    if (memory.begins[d] % memory.packed->shape()[d] != 0) return false;
  }
  return true;
}

Cost AccessCost(const AccessedMemory& memory, const TileLayout& layout) {
  const int64_t slots = layout.slots();
  if (slots == 0) return 0;
  if (memory.packed) {
    if (!LoadsPackedWords(memory, layout)) return slots * kLonePackedCode;
    return PackedCost(memory, slots / memory.packed->slots());
  }
  if (const auto matrices = MatrixCost(memory, layout)) return *matrices;
  const int bits = memory.type.bits;
  const int64_t vector = VectorOf(memory, layout);
  const Cost accesses = AccessesCost(memory, layout, vector);
  if (vector * bits % 8 != 0) return accesses + slots * kLoneCode;
  // Elements of less than a register are taken out of their words.
  return accesses + (bits >= 32 ? 0 : bits < 8 ? slots : slots / 4);
}

Cost ConversionCost(const TileLayout& from, const TileLayout& to, DType type) {
  if (from == to || from.empty()) return 0;
  if (from.shape() == to.shape() && from.reg().spatial() == to.reg().spatial()) {
    return to.slots() / 4;
  }
  // Through shared memory, without conflicts (compiler/select/scratch.h).
  const int bytes = std::max(1, type.bits / 8);
  if (to.rank() == 0) return 2 * kBarrier + 2 * (1 + kWavefront);
  const ScratchPlan plan = PlanAccesses(from, to, bytes);
  const auto side = [&](const TileLayout& layout, const ScratchSide& way) {
    const int64_t moved = way.matrices ? int64_t{8} * way.matrices->count * 16 / kWarpThreads
                                       : way.run * bytes;  // bytes of a thread
    const int64_t wavefronts = std::max<int64_t>(1, moved / kBankBytes);
    return way.Accesses(layout) * (1 + kWavefront * wavefronts);
  };
  return 2 * kBarrier + side(from, plan.put) + side(to, plan.get);
}

Cost ElementwiseCost(Opcode opcode, DType type, const TileLayout& layout) {
  const bool moves = opcode == Opcode::kMov || opcode == Opcode::kFill;
  return moves ? layout.slots() / 4 : layout.slots() * Registers(type);
}

Cost ReductionCost(const TileLayout& source, std::span<const int64_t> axes, int64_t result_slots) {
  const ThreadReduction threads = ReduceThreads(source, axes);
  const auto shuffles = static_cast<Cost>(threads.lane_masks.size());
  Cost out = source.slots() + 2 * shuffles * result_slots;
  if (threads.parts > 1) {
    out += 2 * kBarrier + result_slots * (1 + 2 * threads.parts) * (1 + kWavefront);
  }
  return out;
}

Cost LoneCodesCost(int64_t slots) { return 2 * slots; }

Cost MmaCost(const MmaForm& form, int64_t count) {
  return count * kSchedulers * form.MultiplyAdds() / form.rate;
}

// A register of a warp is a line.
Cost SpillCost(int64_t registers) { return registers * 2 * (1 + kLine); }

}  // namespace tarsia::compiler
