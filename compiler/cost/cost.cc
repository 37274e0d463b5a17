#include "compiler/cost/cost.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/select/access.h"
#include "compiler/select/matrices.h"
#include "compiler/select/scratch.h"
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

// Places that are far apart: another one for each dimension.
int64_t StrideOf(const AccessedMemory& memory, size_t dim) {
  const int64_t stride = memory.strides[dim];
  return stride != AccessedMemory::kFar ? stride
                                        : (int64_t{1} << 20) * static_cast<int64_t>(dim + 1);
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

// The words of a packed tile in accesses of 16, 8 and 4 bytes, side by side.
Work PackedWork(const AccessedMemory& memory, int64_t turns) {
  const int64_t words = memory.packed_words;
  Work out;
  out.issued = words / 4 + words % 4 / 2 + words % 2;
  out.global_sectors = words * kBankBytes * kWarpThreads / kSectorBytes;
  return turns * out;
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

// The accesses of a tile, without what takes its elements out of registers. All slots access as the
// first one does: those of a power-of-two layout move its addresses by a multiple of a sector, or
// within sectors and banks.
Work AccessesWork(const AccessedMemory& memory, const TileLayout& layout, int64_t vector) {
  const int bits = memory.type.bits;
  std::vector<int64_t> strides;
  for (size_t d = 0; d < memory.strides.size(); ++d) strides.push_back(StrideOf(memory, d));
  const int unit = UnitOfBits(vector * bits);
  const bool only_first = !memory.is_load;
  const WarpAddresses lanes = memory.places ? AddressesOf(layout, *memory.places, only_first)
                                            : AddressesOf(layout, strides, bits, only_first);
  const bool known = std::find(memory.strides.begin(), memory.strides.end(),
                               AccessedMemory::kFar) == memory.strides.end();
  Work out;
  out.issued = 1 + (known ? 0 : kFarAddress);
  if (memory.space == Space::kShared) {
    out.shared_wavefronts = lanes.Wavefronts(unit);
  } else {
    out.global_sectors = lanes.Sectors(unit);
  }
  return layout.slots() / vector * CeilDiv(vector * bits, int64_t{8} * unit) * out;
}

// Where elements of less than a register are taken out of their words, or put into them.
int64_t WordsTakenApart(const AccessedMemory& memory, int64_t vector, int64_t slots) {
  const int bits = memory.type.bits;
  if (vector * bits % 8 != 0) return slots * kLoneCode;
  if (bits >= 32) return 0;
  return bits < 8 ? slots : slots / kSlotsMovedByOne;
}

// Whether each element takes the special function unit.
bool IsSpecial(Opcode opcode) {
  constexpr Opcode kSpecial[] = {Opcode::kDiv, Opcode::kSqrt, Opcode::kRsqrt, Opcode::kRcp,
                                 Opcode::kExp, Opcode::kExp2, Opcode::kLog,   Opcode::kLog2,
                                 Opcode::kSin, Opcode::kCos,  Opcode::kTanh,  Opcode::kErf};
  return std::find(std::begin(kSpecial), std::end(kSpecial), opcode) != std::end(kSpecial);
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

// Through shared memory.
Work SharedWork(const TileLayout& from, const TileLayout& to, DType type, Target target) {
  Work out;
  out.barriers = 2;
  if (to.rank() == 0) {
    out.issued = out.shared_wavefronts = 2;
    return out;
  }
  const ScratchPlan plan = PlanScratch(from, to, ContainerBytes(type), target);
  out.issued = plan.put.Accesses(from) + plan.get.Accesses(to);
  out.shared_wavefronts = plan.put.wavefronts + plan.get.wavefronts;
  return out;
}

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
  const int64_t run = all == 0 ? int64_t{1} << 40 : all & -all;  // the power of two in it
  return std::min(run, memory.together);
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
  out = AccessesWork(memory, layout, vector);
  out.issued += WordsTakenApart(memory, vector, slots);
  return out;
}

Work ConversionWork(const TileLayout& from, const TileLayout& to, DType type, Target target) {
  Work out;
  if (from == to || from.empty()) return out;
  if (from.shape() == to.shape() && from.reg().spatial() == to.reg().spatial()) {
    out.issued = to.slots() / kSlotsMovedByOne;
    return out;
  }
  const Work shared = SharedWork(from, to, type, target);
  const std::optional<ShufflePlan> plan = PlanShuffles(from, to, ContainerBytes(type) * 8);
  return plan && CostsLess(*plan, shared, target) ? ShuffledWork(*plan) : shared;
}

std::optional<ShufflePlan> CheapestByShuffles(const TileLayout& from, const TileLayout& to,
                                              DType type, Target target) {
  std::optional<ShufflePlan> plan = PlanShuffles(from, to, ContainerBytes(type) * 8);
  if (!plan || !CostsLess(*plan, SharedWork(from, to, type, target), target)) return std::nullopt;
  return plan;
}

Work MovedWork(const TileLayout& from, const TileLayout& to) {
  Work out;
  out.barriers = 2;
  out.issued = out.shared_wavefronts = from.slots() + to.slots();
  return out;
}

Work ElementwiseWork(Opcode opcode, DType type, const TileLayout& layout) {
  const int64_t slots = layout.slots();
  Work out;
  if (opcode == Opcode::kMov || opcode == Opcode::kFill) {
    out.issued = slots / kSlotsMovedByOne;
  } else {
    (type.bits > 32 ? out.wide : out.arithmetic) = slots;
    if (IsSpecial(opcode)) out.special = slots;
  }
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
  std::set<int64_t> rows, columns;
  for (int64_t slot = 0; slot < result.slots(); ++slot) {
    const Extents at = result.SlotOffset(slot);
    rows.insert(at[0]);
    columns.insert(at[1]);
  }
  const auto reads = static_cast<int64_t>(rows.size() + columns.size());
  Work out;
  (type.bits > 32 ? out.wide : out.arithmetic) = depth * result.slots();
  out.issued = out.shared_wavefronts = depth * reads;
  return out;
}

Work ScalarOperandWork(const TileLayout& operand) {
  Work out;
  out.issued = out.shared_wavefronts = operand.slots();
  return out;
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
