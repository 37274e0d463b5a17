#include "compiler/cost/cost.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "compiler/select/access.h"
#include "compiler/select/lookup.h"
#include "compiler/select/matrices.h"
#include "compiler/select/scan_levels.h"
#include "compiler/select/scratch.h"
#include "compiler/select/top_k.h"
#include "compiler/select/warp_addresses.h"
#include "compiler/select/warp_reduction.h"
#include "layout/access.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// How many instructions the code generator emits.
#define COST_CODE(name, count, what) constexpr int64_t name = count;
#include "compiler/cost/model.def"
#undef COST_CODE

constexpr CostPrice kPrices[] = {
#define COST_PRICE(field, what, sm80, sm89, sm90a, source) \
  {#field, what, source, &Work::field, {sm80, sm89, sm90a}},
#include "compiler/cost/model.def"
#undef COST_PRICE
};
static_assert(static_cast<int>(Target::kSm80) == 0 && static_cast<int>(Target::kSm89) == 1 &&
              static_cast<int>(Target::kSm90a) == 2);

constexpr Cost kLatencyOfMemory[] = {
#define COST_LATENCY(what, sm80, sm89, sm90a, source) sm80, sm89, sm90a
#include "compiler/cost/model.def"
#undef COST_LATENCY
};

// Places that are far apart: another one for each dimension.
int64_t StrideOf(const AccessedMemory& memory, size_t dim) {
  const int64_t stride = memory.strides[dim];
  return stride != AccessedMemory::kFar ? stride
                                        : (int64_t{1} << 20) * static_cast<int64_t>(dim + 1);
}

std::vector<int64_t> StridesOf(const AccessedMemory& memory) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < memory.strides.size(); ++d) out.push_back(StrideOf(memory, d));
  return out;
}

// The access of a run of so many bits.
int UnitOfBits(int64_t bits) { return bits % 8 == 0 ? UnitOf(bits / 8) : 1; }

// Neighbouring slots that are neighbours in memory.
int64_t RunOf(const AccessedMemory& memory, const TileLayout& layout) {
  return memory.fast < 0 ? 1 : ChunkAlong(layout, memory.fast);
}

// Slots that move together, in accesses of UnitOfBits.
int64_t VectorOf(const AccessedMemory& memory, const TileLayout& layout) {
  const int bits = memory.type.bits;
  const int64_t most = WidestRun(memory);
  const int64_t run = RunOf(memory, layout);
  const auto fits = [&](int64_t v) {
    if (v > most || v / 2 * bits % (8 * kWidestAccess) == 0 || run % v != 0) return false;
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

// The words of a packed tile in accesses of 16, 8 and 4 bytes, side by side.
Work PackedWork(const AccessedMemory& memory, int64_t turns) {
  const int64_t words = memory.packed_words;
  Work out;
  out.issued = words / 4 + words % 4 / 2 + words % 2;
  if (memory.space == Space::kShared) {
    out.shared_wavefronts = words;  // a row of the banks each
  } else {
    out.global_sectors = words * kBankBytes * kWarpThreads / kSectorBytes;
  }
  return turns * out;
}

// A warp's share of whole packed tiles, in pieces of 16 bytes.
Work PackedCopyWork(const AccessedMemory& memory, const TileLayout& layout) {
  const int64_t threads = layout.reg().threads();
  const int64_t words = Product(layout.shape()) / Product(memory.packed->shape()) *
                        memory.packed->threads() * memory.packed_words;
  const int64_t bytes = CeilDiv(words * kBankBytes * kWarpThreads, threads);
  Work out;
  out.issued = CeilDiv(words * kBankBytes, threads * kWidestAccess);
  out.global_sectors = CeilDiv(bytes, int64_t{kSectorBytes});
  out.shared_wavefronts = CeilDiv(bytes, int64_t{kWarpThreads} * kBankBytes);
  return out;
}

// By `ldmatrix` or `stmatrix`, which take each row as one access; empty: they cannot.
std::optional<Work> MatrixWork(const AccessedMemory& memory, const TileLayout& layout) {
  const int64_t row = kWidestAccess * 8 / memory.type.bits;
  const bool may = memory.is_load || memory.takes_matrices;
  if (!may || !memory.places || WidestRun(memory) % row != 0) return std::nullopt;
  const int bytes = memory.type.bits / 8;
  const auto matrices = memory.is_load ? FindMatrixLoads(layout, memory.fast, bytes)
                                       : FindMatrixStores(layout, memory.fast, bytes);
  if (!matrices) return std::nullopt;
  Work out;
  out.issued = 1;
  // One lane gives the address of each row.
  out.shared_wavefronts =
      AddressesOf(matrices->rows, *memory.places, true).Wavefronts(kWidestAccess);
  return matrices->InstructionsFor(layout) * out;
}

// What slots add to an address, within a sector: how many vectors of slots do, by bytes.
std::map<uint64_t, int64_t> OffsetsInSector(const TileLayout& layout, int64_t vector, int bits,
                                            std::span<const int64_t> strides) {
  const auto sector = static_cast<uint64_t>(kSectorBytes);
  std::map<uint64_t, int64_t> out = {{0, 1}};
  int64_t dealt = 1;  // slots
  const RegLayout::Digits& digits = layout.reg().local();
  for (size_t i = digits.size(); i-- > 0; dealt *= digits[i].extent) {
    const int64_t first = std::max<int64_t>(1, vector / dealt);
    const auto step = static_cast<uint64_t>(digits[i].stride * strides[Size(digits[i].dim)] * bits);
    std::map<uint64_t, int64_t> next;
    for (int64_t value = 0; value < digits[i].extent; value += first) {
      const uint64_t bytes = static_cast<uint64_t>(value) * step / 8 % sector;
      for (const auto& [offset, count] : out) next[(offset + bytes) % sector] += count;
    }
    out = std::move(next);
  }
  return out;
}

// The accesses of a tile, without what takes its elements out of registers. In shared memory all
// slots access as the first one does: those of a power-of-two layout move its addresses within
// banks.
Work AccessesWork(const AccessedMemory& memory, const TileLayout& layout, int64_t vector) {
  const int bits = memory.type.bits;
  const std::vector<int64_t> strides = StridesOf(memory);
  const int unit = UnitOfBits(vector * bits);
  const bool only_first = !memory.is_load;
  const WarpAddresses lanes = memory.places ? AddressesOf(layout, *memory.places, only_first)
                                            : AddressesOf(layout, strides, bits, only_first);
  const bool known = std::find(memory.strides.begin(), memory.strides.end(),
                               AccessedMemory::kFar) == memory.strides.end();
  const int64_t units = CeilDiv(vector * bits, int64_t{8} * unit);  // of a vector
  Work out;
  out.issued = layout.slots() / vector * units * (1 + (known ? 0 : kFarAddress));
  if (memory.space == Space::kShared) {
    out.shared_wavefronts = layout.slots() / vector * units * lanes.Wavefronts(unit);
    return out;
  }
  for (const auto& [offset, count] : OffsetsInSector(layout, vector, bits, strides)) {
    out.global_sectors += count * units * lanes.Sectors(unit, offset);
  }
  return out;
}

// Runs of codes that need not begin with a byte: by the words that hold them, one more than they
// fill.
Work RunsOfCodesWork(const AccessedMemory& memory, const TileLayout& layout, int64_t run) {
  constexpr int kWordBytes = 4;
  const int bits = memory.type.bits;
  const std::vector<int64_t> strides = StridesOf(memory);
  const WarpAddresses lanes = AddressesOf(layout, strides, bits, !memory.is_load);
  const int64_t words = layout.slots() / run * (CeilDiv(run * bits, int64_t{8} * kWordBytes) + 1);
  Work out;
  out.issued = words * kWordOfCodes + layout.slots();
  if (memory.space == Space::kShared) {
    out.shared_wavefronts = words * lanes.Wavefronts(kWordBytes);
  } else {
    out.global_sectors = words * lanes.Sectors(kWordBytes);
  }
  return out;
}

// Codes one by one: each may lie in two bytes. A store clears bits of a word and sets them.
Work LoneCodesInMemoryWork(const AccessedMemory& memory, const TileLayout& layout) {
  const int64_t parts = 8 % memory.type.bits == 0 ? 1 : 2;
  const Work accesses = AccessesWork(memory, layout, 1);
  Work out = parts * (memory.is_load ? accesses : 2 * accesses);
  out.issued += layout.slots() * parts * (memory.is_load ? kLoneCode : kLoneStoredCode);
  return out;
}

// Where elements of less than a register are taken out of their words, or put into them.
int64_t WordsTakenApart(const AccessedMemory& memory, int64_t slots) {
  const int bits = memory.type.bits;
  if (bits >= 32) return 0;
  return bits < 8 ? slots : slots / kSlotsMovedByOne;
}

struct FunctionCost {
  Opcode opcode;
  int64_t specials;  // an element
  // For two elements:
  int64_t f32, f16, bf16;
  int64_t fast;
};
constexpr FunctionCost kFunctions[] = {
#define COST_FUNCTION(opcode, specials, f32, f16, bf16, fast) \
  {Opcode::opcode, specials, f32, f16, bf16, fast},
#include "compiler/cost/model.def"
#undef COST_FUNCTION
};

// Null: an instruction or less for each element.
const FunctionCost* FunctionOf(Opcode opcode) {
  const auto* const found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions),
                   [opcode](const FunctionCost& row) { return row.opcode == opcode; });
  return found == std::end(kFunctions) ? nullptr : found;
}

// Instructions for two elements. Halves are widened for the GPU's own form of f32, an f16 by one
// instruction and a bf16 by one and a half, and half of one rounds each of two; unless their own
// code is as short.
int64_t InstructionsForTwo(const FunctionCost& row, DType type, bool fast) {
  if (type == kF16) return fast ? std::min(row.f16, row.fast + 3) : row.f16;
  if (type == kBF16) return fast ? std::min(row.bf16, row.fast + 4) : row.bf16;
  return fast ? row.fast : row.f32;
}

Work ShuffledWork(const ShufflePlan& plan) {
  Work out;
  out.shuffles = plan.shuffles();
  out.arithmetic = plan.selections();
  return out;
}

bool CostsLess(const ShufflePlan& plan, const Work& shared, Target target) {
  return CyclesOf(ShuffledWork(plan), target) < CyclesOf(shared, target);
}

// A conversion through shared memory: `Least` as if each access took one cycle, and `All` with the
// fewest bank conflicts that are found, which takes a search.
class SharedPath {
 public:
  SharedPath(ScratchEnd& from, ScratchEnd& to) {
    work_.barriers = 2;
    work_.issued = 2;
    if (to.tile().rank() > 0) {
      search_.emplace(from, to);
      work_.issued = search_->Accesses();
    }
    work_.shared_wavefronts = work_.issued;
  }

  [[nodiscard]] const Work& Least() const { return work_; }
  // To be called once.
  const Work& All() {
    if (!search_) return work_;
    work_.shared_wavefronts = search_->Wavefronts();
    work_.issued = search_->Accesses();
    return work_;
  }

 private:
  std::optional<ScratchSearch> search_;
  Work work_;
};

// Of one block's total, which one of the threads that have it stores, and of `read` loads of all.
int64_t WavefrontsOfTotals(const TileLayout& source, int axis, const ScanLevel& level,
                           int64_t bytes, int64_t read) {
  const ScanTotals totals = TotalsOf(source, axis, level);
  std::vector<uint64_t> loaded;  // by the first warp
  for (int64_t lane = 0; lane < std::min<int64_t>(source.threads(), kWarpThreads); ++lane) {
    loaded.push_back(static_cast<uint64_t>(totals.PlaceOf(false, lane) * bytes));
  }
  std::vector<uint64_t> stored = loaded;
  std::sort(stored.begin(), stored.end());
  stored.erase(std::unique(stored.begin(), stored.end()), stored.end());
  const int unit = static_cast<int>(bytes);
  return WavefrontsOf(stored, unit) + read * WavefrontsOf(loaded, unit);
}

// What the steps of a `topk` cost, each for all rows of a thread.
class TopKSteps {
 public:
  TopKSteps(const TopKPlan& plan, unsigned bits, int64_t k)
      : plan_(plan), k_(k), words_(bits == 128 ? 3 : bits / 32) {}

  [[nodiscard]] const Work& work() const { return work_; }

  void Convert(int64_t elements, int64_t found) {
    work_.arithmetic += plan_.rows * (elements * kNumberOfElement + found * kElementOfNumber);
  }
  void Sort(int64_t numbers) {
    const auto comparators = static_cast<int64_t>(SelectionNetwork(numbers, k_).size());
    work_.arithmetic += plan_.rows * comparators * 2 * Comparison();
  }
  // Of so many numbers of each lane.
  void OverLanes(int64_t numbers) {
    const auto masks = static_cast<int64_t>(plan_.threads.lane_masks.size());
    if (masks == 0) return;
    const int64_t turns = std::min(numbers << masks, k_);
    if (plan_.whole_warp()) {
      work_.warp_reductions += plan_.rows * turns * words_;
      work_.arithmetic += plan_.rows * turns * 2 * (words_ - 1);
    } else {
      work_.shuffles += plan_.rows * turns * masks * words_;
      work_.arithmetic += plan_.rows * turns * masks * Comparison();
    }
    for (int64_t left = turns; left-- > 0;) {  // to find; a lane drops one of its numbers
      work_.arithmetic += plan_.rows * words_ * (1 + std::min(numbers, left));
    }
  }
  // Numbers that one lane of each row puts there, and that each lane gets.
  void ThroughShared(int64_t put, int64_t get) {
    const int64_t bytes = words_ == 1 ? 4 : 8, accesses = CeilDiv<int64_t>(words_ * 4, bytes);
    std::vector<uint64_t> rows, lanes;
    for (uint64_t lane = 0; lane < uint64_t{kWarpThreads}; ++lane) {
      const uint64_t row = lane >> plan_.threads.lane_masks.size();
      if (rows.size() == row) rows.push_back(row * static_cast<uint64_t>(plan_.parts() * bytes));
      lanes.push_back(plan_.of_lane > 0 ? lane * static_cast<uint64_t>(bytes) : rows.back());
    }
    const int unit = static_cast<int>(bytes);
    work_.barriers += 2 * accesses;
    work_.issued += plan_.rows * accesses * (put + get);
    work_.shared_wavefronts +=
        plan_.rows * accesses * (put * WavefrontsOf(rows, unit) + get * WavefrontsOf(lanes, unit));
  }

 private:
  // Of two numbers, for one of the results.
  [[nodiscard]] int64_t Comparison() const { return words_ == 1 ? 1 : words_ + 1; }

  const TopKPlan& plan_;
  const int64_t k_;
  const int64_t words_;
  Work work_;
};

}  // namespace

Cost LatencyOfMemory(Target target) { return kLatencyOfMemory[static_cast<size_t>(target)]; }

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
  const int64_t run = all == 0 ? int64_t{1} << 40 : all & -all;  // the power of two in it
  return std::min(run, memory.together);
}

bool HasWholePackedTiles(const AccessedMemory& memory, const Extents& shape) {
  if (!memory.packed || shape.empty()) return false;
  const Extents& tile = memory.packed->shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t begin = memory.begins.empty() ? 0 : memory.begins[d];
    const int64_t extent = memory.extents.empty() ? 1 : memory.extents[d];
    if (shape[d] % tile[d] != 0 || begin % tile[d] != 0 || extent % tile[d] != 0) return false;
  }
  return true;
}

bool LoadsPackedWords(const AccessedMemory& memory, const TileLayout& layout) {
  if (!memory.packed || layout.empty() || !Divide(layout.reg(), *memory.packed).ok()) return false;
  for (size_t d = 0; d < memory.begins.size(); ++d) {
    if (memory.begins[d] % memory.packed->shape()[d] != 0) return false;
  }
  return true;
}

Work AccessWork(const AccessedMemory& memory, const TileLayout& layout) {
  const int64_t slots = layout.slots();
  Work out;
  if (slots == 0) return out;
  if (memory.packed) {
    if (LoadsPackedWords(memory, layout)) return PackedWork(memory, slots / memory.packed->slots());
    // Their places follow no order of the lanes: each one has a sector of its own.
    out.issued = slots * kLonePackedCode;
    out.global_sectors = slots * kWarpThreads;
    return out;
  }
  if (const auto matrices = MatrixWork(memory, layout)) return *matrices;
  const int64_t vector = VectorOf(memory, layout);
  if (vector * memory.type.bits % 8 != 0) {
    const int64_t run = RunOf(memory, layout);
    // Codes that others change meanwhile, as those in shared memory, are not loaded by words.
    const bool by_words = !memory.is_load || memory.space == Space::kGlobal;
    return run > 1 && by_words ? RunsOfCodesWork(memory, layout, run)
                               : LoneCodesInMemoryWork(memory, layout);
  }
  out = AccessesWork(memory, layout, vector);
  out.issued += WordsTakenApart(memory, slots);
  return out;
}

Work CopyWork(const AccessedMemory& to, AccessedMemory from, const TileLayout& layout) {
  Work out;
  if (layout.slots() == 0) return out;
  if (from.packed && from.packed == to.packed && HasWholePackedTiles(from, layout.shape()) &&
      HasWholePackedTiles(to, layout.shape())) {
    return PackedCopyWork(from, layout);
  }
  const int64_t vector =
      from.packed || to.packed ? 1 : std::min(VectorOf(from, layout), VectorOf(to, layout));
  const int64_t bits = vector * from.type.bits;
  if (bits != 32 && bits != 64 && bits != 128) {
    return AccessWork(from, layout) + AccessWork(to, layout);  // through registers
  }
  from.is_load = false;  // one thread copies an element
  out = AccessesWork(from, layout, vector) + AccessesWork(to, layout, vector);
  out.issued = layout.slots() / vector;
  return out;
}

ScratchEnd ConversionEnd(const TileLayout& tile, DType type, Target target) {
  return {tile, ContainerBytes(type), target};
}

Work ConversionWork(ScratchEnd& from, ScratchEnd& to, Target target) {
  const TileLayout& put = from.tile();
  const TileLayout& get = to.tile();
  Work out;
  if (put == get || put.empty()) return out;
  if (put.shape() == get.shape() && put.reg().spatial() == get.reg().spatial()) {
    out.issued = get.slots() / kSlotsMovedByOne;
    return out;
  }
  const std::optional<ShufflePlan> plan = PlanShuffles(put, get, from.bytes() * 8);
  SharedPath shared(from, to);
  if (plan && CostsLess(*plan, shared.Least(), target)) return ShuffledWork(*plan);
  const Work& all = shared.All();
  return plan && CostsLess(*plan, all, target) ? ShuffledWork(*plan) : all;
}

Work ConversionWork(const TileLayout& from, const TileLayout& to, DType type, Target target) {
  ScratchEnd put = ConversionEnd(from, type, target), get = ConversionEnd(to, type, target);
  return ConversionWork(put, get, target);
}

std::optional<ShufflePlan> CheapestByShuffles(const TileLayout& from, const TileLayout& to,
                                              DType type, Target target) {
  std::optional<ShufflePlan> plan = PlanShuffles(from, to, ContainerBytes(type) * 8);
  if (!plan) return std::nullopt;
  ScratchEnd put = ConversionEnd(from, type, target), get = ConversionEnd(to, type, target);
  SharedPath shared(put, get);
  const bool cheapest =
      CostsLess(*plan, shared.Least(), target) || CostsLess(*plan, shared.All(), target);
  return cheapest ? std::move(plan) : std::nullopt;
}

Work MovedWork(const TileLayout& from, const TileLayout& to) {
  Work out;
  out.barriers = 2;
  out.issued = out.shared_wavefronts = from.slots() + to.slots();
  return out;
}

Work ElementwiseWork(Opcode opcode, DType type, const TileLayout& layout, bool fast) {
  const int64_t slots = layout.slots();
  Work out;
  if (opcode == Opcode::kMov || opcode == Opcode::kFill) {
    out.issued = slots / kSlotsMovedByOne;
    return out;
  }
  int64_t instructions = slots;
  if (const FunctionCost* const row = FunctionOf(opcode)) {
    out.special = slots * row->specials;
    instructions = CeilDiv(slots * InstructionsForTwo(*row, type, fast), int64_t{2}) - out.special;
  }
  (type.bits > 32 ? out.wide : out.arithmetic) = instructions;
  return out;
}

Work ReductionWork(Opcode reduce, DType type, const TileLayout& source,
                   std::span<const int64_t> axes, const ReducedResult& result) {
  const ThreadReduction threads = ReduceThreads(source, axes);
  const auto exchanges = static_cast<int64_t>(threads.lane_masks.size()) * result.slots;
  Work out;
  out.arithmetic = source.slots();
  if (const auto redux = SelectWarpReduction(reduce, type, threads)) {
    out.warp_reductions = redux->instructions() * result.slots;
    out.arithmetic += redux->arithmetic() * result.slots;
  } else {
    out.shuffles = exchanges * result.words;
    out.arithmetic += exchanges;
  }
  if (threads.parts > 1) {
    out.barriers = 2 * result.tiles;
    out.issued = out.shared_wavefronts = result.tiles * result.slots * (1 + threads.parts);
    out.arithmetic += result.slots * (threads.parts - 1);
  }
  return out;
}

Work ScanWork(const TileLayout& source, int axis, int64_t words, bool exclusive) {
  Work out;
  const int64_t slots = source.slots();
  if (slots == 0) return out;
  const std::vector<ScanLevel> levels = ScanLevels(source, axis);
  int64_t blocks = slots;
  for (size_t i = 0; i < levels.size(); ++i) {
    const bool last = i + 1 == levels.size();
    const ScanLevel& level = levels[i];
    if (level.kind == ScanLevel::Kind::kSlots) {
      // The first slots do without, but start from what no elements give.
      out.arithmetic += slots + (i == 0 ? 0 : blocks);
      blocks /= level.extent;
      continue;
    }
    if (level.kind == ScanLevel::Kind::kLanes) {
      const auto steps = std::countr_zero(static_cast<uint64_t>(level.extent));
      const bool is_result = blocks == slots && i == 0 && !exclusive;
      out.shuffles += blocks * words * (steps + (is_result ? 0 : 1) + (last ? 0 : 1));
      out.arithmetic += blocks * (2 * steps + (is_result ? 0 : 1));
      if (!is_result) out.arithmetic += slots;
      continue;
    }
    const int64_t read = last ? level.extent - 1 : level.extent;
    out.barriers += 2;
    out.issued += blocks * (1 + read);
    out.shared_wavefronts += blocks * WavefrontsOfTotals(source, axis, level, words * 4, read);
    out.arithmetic += blocks * 2 * read + slots;
  }
  return out;
}

Work TopKWork(const TileLayout& source, DType type, int64_t axis, int64_t k) {
  const TopKPlan plan = PlanTopK(source, axis, k);
  if (plan.elements == 0) return {};
  TopKSteps steps(plan, OrderBits(type, source.shape()[Size(axis)]), k);
  steps.Convert(plan.elements, k);
  steps.Sort(plan.elements);
  steps.OverLanes(plan.in_thread);
  if (plan.threads.parts == 1) return steps.work();
  const int64_t read = plan.of_lane > 0 ? plan.of_lane : plan.parts();
  steps.ThroughShared(plan.in_warp, read);
  steps.Sort(read);
  if (plan.of_lane > 0) steps.OverLanes(std::min(read, k));
  return steps.work();
}

Work LookupWork(DType codes, DType elements, const TileLayout& layout) {
  const int64_t slots = layout.slots();
  Work out;
  if (slots == 0) return out;
  switch (WayOfLookup(codes, elements)) {
    case LookupWay::kPermute:
      out.arithmetic = slots * (elements.bits > 8 ? 3 : 2);
      break;
    case LookupWay::kShuffle:
      out.shuffles = slots * CeilDiv<int64_t>(elements.bits, 32);
      out.arithmetic = slots;
      break;
    case LookupWay::kShared:
      out.barriers = 2;
      out.issued = slots * 3;
      // Of 32 places at random in 32 banks the fullest bank has between 3 and 4.
      out.shared_wavefronts = slots * (int64_t{elements.bits} << codes.bits > 1024 ? 3 : 1);
      break;
  }
  return out;
}

Work LoneCodesWork(int64_t slots) {
  Work out;
  out.arithmetic = slots * kCodeOutOfPlace;
  return out;
}

// In the time of one product of 16 by 8 by 16 elements of 16 bits.
int64_t MmaProducts(const MmaForm& form, int64_t count) {
  constexpr int64_t kRate = 1024;  // of such products, as MmaForm::rate counts
  constexpr int64_t kProduct = int64_t{16} * 8 * 16;
  return CeilDiv(count * form.MultiplyAdds() * kRate, form.rate * kProduct);
}

Work MmaWork(int64_t products) {
  Work out;
  out.products = products;
  return out;
}

Work ScalarDotWork(const TileLayout& result, int64_t depth, DType type) {
  Work out;
  if (depth == 0 || result.empty()) return out;
  (type.bits > 32 ? out.wide : out.arithmetic) = depth * result.slots();
  out.barriers = 2;
  return out;
}

Work ScalarOperandWork(ScratchEnd& operand, std::span<ScratchEnd* const> reads) {
  Work out;
  if (operand.tile().empty() || reads.empty()) return out;
  const DotOperandWay way = CheapestReads(operand, reads);
  out.issued = way.accesses;
  out.shared_wavefronts = way.wavefronts;
  return out;
}

Work ScalarOperandWork(const TileLayout& operand, DType type, DotOperand which,
                       const TileLayout& result, Target target) {
  const int64_t depth = operand.shape()[Size(DepthDimension(which, operand.rank()))];
  std::vector<ScratchEnd> ends;
  std::vector<ScratchEnd*> reads;
  for (const DotReads& order : ReadsOfDot(result, which, depth)) {
    ends.push_back(EndOfReads(order, ContainerBytes(type)));
  }
  for (ScratchEnd& end : ends) reads.push_back(&end);
  ScratchEnd put = ConversionEnd(operand, type, target);
  return ScalarOperandWork(put, reads);
}

Work SpillWork(int64_t registers) {
  Work out;
  out.issued = out.local_lines = 2 * registers;
  return out;
}

Work& Work::operator+=(const Work& other) {
  for (const CostPrice& price : kPrices) this->*price.field += other.*price.field;
  return *this;
}

Work operator*(int64_t times, const Work& work) {
  Work out;
  for (const CostPrice& price : kPrices) out.*price.field = times * work.*price.field;
  return out;
}

std::span<const CostPrice> CostPrices() { return kPrices; }

Cost CyclesOf(const Work& work, Target target) {
  Cost out = 0;
  for (const CostPrice& row : kPrices) {
    out += work.*row.field * row.price[static_cast<size_t>(target)];
  }
  return out;
}

}  // namespace tarsia::compiler
