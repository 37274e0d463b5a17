#include "ptx/machine/counter.h"

#include <algorithm>
#include <bit>

#include "ptx/count/transactions.h"
#include "ptx/machine/block.h"
#include "ptx/machine/warp.h"
#include "ptx/table/table.h"

namespace tarsia::ptx {
namespace {

// ---- plans -------------------------------------------------------------------------------------

// 2 m n k of a word such as m16n8k16; 0 for any other.
uint64_t OperationsOf(std::string_view word) {
  uint64_t product = 2;
  for (const char letter : {'m', 'n', 'k'}) {
    if (word.empty() || word[0] != letter) return 0;
    word.remove_prefix(1);
    uint64_t number = 0;
    while (!word.empty() && word[0] >= '0' && word[0] <= '9') {
      number = number * 10 + static_cast<uint64_t>(word[0] - '0');
      word.remove_prefix(1);
    }
    product *= number;
  }
  return word.empty() ? product : 0;
}

uint64_t OperationsOf(const Inst& inst) {
  for (int mod = 0; mod < kModCount; ++mod) {
    if (!inst.Has(static_cast<Mod>(mod))) continue;
    if (const uint64_t operations = OperationsOf(NameOf(static_cast<Mod>(mod)))) return operations;
  }
  return 0;
}

int AddressPlace(const Inst& inst) {
  const auto& shapes = RowOf(inst.op).shapes;
  const auto found = std::ranges::find(shapes, OperandRole::kAddress, &OperandShape::role);
  return static_cast<int>(found - shapes.begin());
}

CountPlan PlanAccess(const Inst& inst, CountPlan::Access access, int elements) {
  CountPlan plan;
  plan.access = access;
  plan.address = AddressPlace(inst);
  plan.bytes = static_cast<uint32_t>(BytesOf(inst.type[0]) * elements);
  if (plan.bytes == 0) plan.access = CountPlan::Access::kNone;
  return plan;
}

// A lane's address is that of a row of 16 bytes.
CountPlan PlanMatrix(const Inst& inst, CountPlan::Access access, int matrices) {
  CountPlan plan;
  plan.access = access;
  plan.address = AddressPlace(inst);
  plan.bytes = 16;
  plan.matrices = static_cast<uint32_t>(matrices);
  return plan;
}

}  // namespace

CountPlan PlanCounts(const Inst& inst) {
  CountPlan plan;
  switch (RuleOf(inst)) {
    case ClassRule::kLoad:
      return PlanAccess(inst, CountPlan::Access::kLoad, inst.CountAt(0));
    case ClassRule::kStore:
      return PlanAccess(inst, CountPlan::Access::kStore, inst.CountAt(1));
    case ClassRule::kLoadMatrix:
      return PlanMatrix(inst, CountPlan::Access::kLoadMatrix, inst.CountAt(0));
    case ClassRule::kStoreMatrix:
      return PlanMatrix(inst, CountPlan::Access::kStoreMatrix, inst.CountAt(1));
    case ClassRule::kAtomic:
      // The value, which may be a vector, is behind the address.
      return PlanAccess(inst, CountPlan::Access::kAtomic, inst.CountAt(AddressPlace(inst) + 1));
    case ClassRule::kCopy:
      if (inst.op == Op::kCpAsync || inst.op == Op::kCpAsyncHint) {
        plan.access = CountPlan::Access::kCopy;
      }
      break;
    case ClassRule::kProduct:
    case ClassRule::kFragments:
      if (ClassOf(inst) == InstClass::kMatrix) plan.tensor_operations = OperationsOf(inst);
      break;
    case ClassRule::kBarrier:  // with a number: one of a block
      plan.barrier = !inst.Has(Mod::kWarp) && !inst.operands.empty();
      break;
    case ClassRule::kWarpgroupProduct:  // the handlers say it
    case ClassRule::kControl:
    case ClassRule::kMove:
    case ClassRule::kArithmetic:
    case ClassRule::kLogic:
    case ClassRule::kCompare:
    case ClassRule::kConvert:
    case ClassRule::kWarpWide:
    case ClassRule::kSynchronise:
    case ClassRule::kHint:
      break;
  }
  return plan;
}

CountPlans PlanCounts(const Module& module) {
  CountPlans plans;
  for (const Function& function : module.functions) {
    std::vector<CountPlan>& list = plans.emplace_back();
    for (const Inst& inst : function.code) list.push_back(PlanCounts(inst));
  }
  return plans;
}

// ---- accesses ----------------------------------------------------------------------------------

namespace {

// The direction of an access: a load reads, a store writes, an atomic writes and may read.
struct Direction {
  bool reads = false;
  bool writes = false;
  bool atomic = false;
};

uint64_t BytesOf(const WarpAccess& access) {
  return uint64_t{access.bytes} * static_cast<uint64_t>(std::popcount(access.mask));
}

void AddBytes(const WarpAccess& access, const Direction& direction, uint64_t* read,
              uint64_t* written) {
  if (direction.reads) *read += BytesOf(access);
  if (direction.writes) *written += BytesOf(access);
}

void CountGlobal(const WarpAccess& access, const Direction& direction, Counts* counts) {
  const Transactions sectors = GlobalSectors(access);
  counts->global_sectors += sectors.actual;
  counts->global_ideal_sectors += sectors.ideal;
  AddBytes(access, direction, &counts->global_read_bytes, &counts->global_written_bytes);
}

void CountShared(const WarpAccess& access, const Direction& direction, Counts* counts) {
  const Transactions wavefronts = SharedWavefronts(access, direction.atomic);
  counts->shared_wavefronts += wavefronts.actual;
  counts->shared_ideal_wavefronts += wavefronts.ideal;
  AddBytes(access, direction, &counts->shared_read_bytes, &counts->shared_written_bytes);
}

void CountLocal(const WarpAccess& access, const Direction& direction, Counts* counts) {
  counts->local_sectors += LocalSectors(access);
  AddBytes(access, direction, &counts->local_read_bytes, &counts->local_written_bytes);
}

void CountIn(Space space, const WarpAccess& access, const Direction& direction, Counts* counts) {
  if (access.mask == 0) return;
  switch (space) {
    case Space::kGlobal:
      return CountGlobal(access, direction, counts);
    case Space::kShared:
      return CountShared(access, direction, counts);
    case Space::kLocal:
      return CountLocal(access, direction, counts);
    case Space::kConst:
    case Space::kParam:
      counts->constant_read_bytes += BytesOf(access);
      return;
    case Space::kGeneric:
      return;
  }
}

// The accesses of the executing lanes, those of a generic address by the space that it is in.
void CountLanes(Warp& warp, Space space, const Operand& address, uint32_t bytes,
                const Direction& direction, Counts* counts) {
  WarpAccess access{warp.mask(), bytes, {}};
  if (space != Space::kGeneric) {
    ForLanes(warp.mask(), [&](int lane) {
      access.address[static_cast<size_t>(lane)] = warp.Address(address, lane);
    });
    return CountIn(space, access, direction, counts);
  }
  std::array<uint32_t, 6> lanes_in{};  // by space
  ForLanes(warp.mask(), [&](int lane) {
    uint64_t at = warp.Address(address, lane);
    const Space in = ResolveGeneric(space, &at);
    access.address[static_cast<size_t>(lane)] = at;
    lanes_in[static_cast<size_t>(in)] |= uint32_t{1} << lane;
  });
  for (size_t in = 0; in < lanes_in.size(); ++in) {
    access.mask = lanes_in[in];
    CountIn(static_cast<Space>(in), access, direction, counts);
  }
}

// How many bytes of the source a lane of cp.async reads.
uint32_t SourceBytes(const Warp& warp, const Inst& inst, int lane, uint32_t bytes) {
  if (inst.CountAt(3) == 0) return bytes;
  const Operand& operand = inst[3];
  if (operand.bytes == 0) return warp.Bits(operand, lane) != 0 ? 0 : bytes;
  return static_cast<uint32_t>(std::min<uint64_t>(warp.Bits(operand, lane), bytes));
}

// cp.async: reads global memory, writes shared memory. Lanes may read different numbers of bytes.
void CountCopy(Warp& warp, const Inst& inst, Counts* counts) {
  const auto bytes = static_cast<uint32_t>(inst[2].immediate);
  CountLanes(warp, Space::kShared, inst[0], bytes, {false, true, false}, counts);
  counts->async_bytes += uint64_t{bytes} * static_cast<uint64_t>(std::popcount(warp.mask()));
  uint32_t left = warp.mask();
  while (left != 0) {
    const uint32_t size = SourceBytes(warp, inst, std::countr_zero(left), bytes);
    WarpAccess access{0, size, {}};
    ForLanes(left, [&](int lane) {
      if (SourceBytes(warp, inst, lane, bytes) != size) return;
      access.mask |= uint32_t{1} << lane;
      access.address[static_cast<size_t>(lane)] = warp.Address(inst[1], lane);
    });
    left &= ~access.mask;
    if (size != 0) CountIn(Space::kGlobal, access, {true, false, false}, counts);
  }
}

// All lanes' addresses count, also those of lanes that get no row.
void CountMatrix(Warp& warp, const Operand& address, const CountPlan& plan, bool reads,
                 Counts* counts) {
  const uint32_t rows = 8 * plan.matrices;
  WarpAccess access{rows >= kLanes ? kAllLanes : (uint32_t{1} << rows) - 1, plan.bytes, {}};
  ForLanes(access.mask, [&](int lane) {
    access.address[static_cast<size_t>(lane)] = warp.Address(address, lane);
  });
  CountShared(access, {reads, !reads, false}, counts);
}

}  // namespace

void Counter::CountAccess(Warp& warp, const Inst& inst) {
  const Function& function = *warp.frame().function;
  const auto number = static_cast<size_t>(&inst - function.code.data());
  const CountPlan& plan = (*plans_)[warp.frame().number][number];
  if (plan.access == CountPlan::Access::kNone) return;
  Counts& counts = At(warp.frame().number, number);
  switch (plan.access) {
    case CountPlan::Access::kNone:
      return;
    case CountPlan::Access::kLoad:
    case CountPlan::Access::kStore: {
      const bool reads = plan.access == CountPlan::Access::kLoad;
      const Operand& address = inst[plan.address];
      // A parameter of a function that is called lies in a register as a rule.
      if (address.frame_space && inst.space == Space::kParam) return;
      return CountLanes(warp, inst.space, address, plan.bytes, {reads, !reads, false}, &counts);
    }
    case CountPlan::Access::kAtomic: {
      const bool reads = inst.operands[0].dest;
      counts.atomics += static_cast<uint64_t>(std::popcount(warp.mask()));
      return CountLanes(warp, inst.space, inst[plan.address], plan.bytes, {reads, true, true},
                        &counts);
    }
    case CountPlan::Access::kCopy:
      return CountCopy(warp, inst, &counts);
    case CountPlan::Access::kLoadMatrix:
    case CountPlan::Access::kStoreMatrix:
      return CountMatrix(warp, inst[plan.address], plan,
                         plan.access == CountPlan::Access::kLoadMatrix, &counts);
  }
}

// ---- the counter -------------------------------------------------------------------------------

Counts& Counter::At(uint32_t function, size_t number) {
  std::vector<Counts>& list = counts_[function];
  if (list.empty()) list.resize((*plans_)[function].size());
  return list[number];
}

Counts& Counter::At(Warp& warp, const Inst& inst) {
  return At(warp.frame().number, static_cast<size_t>(&inst - warp.frame().function->code.data()));
}

void Counter::CountExecution(uint32_t function, size_t number, int lanes) {
  Counts& counts = At(function, number);
  const CountPlan& plan = (*plans_)[function][number];
  counts.warp_instructions += 1;
  counts.thread_instructions += static_cast<uint64_t>(lanes);
  if (lanes == 0) return;
  counts.tensor_operations += plan.tensor_operations;
  counts.barriers += static_cast<uint64_t>(plan.barrier);
}

void Counter::AddTo(const Module& module, std::vector<InstructionCounts>* all) const {
  size_t at = 0;
  for (size_t function = 0; function < counts_.size(); ++function) {
    for (size_t i = 0; i < counts_[function].size(); ++i)
      (*all)[at + i].counts += counts_[function][i];
    at += module.functions[function].code.size();
  }
}

Counter* CounterPool::Add() {
  if (module_ == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  return all_.emplace_back(std::make_unique<Counter>(&plans_)).get();
}

void CounterPool::Start(const Module& module) {
  module_ = &module;
  plans_ = PlanCounts(module);
}

LaunchCounts CounterPool::Sum() const {
  LaunchCounts sum;
  if (module_ == nullptr) return sum;
  for (const Function& function : module_->functions) {
    for (const Inst& inst : function.code) {
      sum.instructions.push_back(
          {inst.location, inst.source_file, inst.source_line, ClassOf(inst), {}});
    }
  }
  for (const auto& counter : all_) counter->AddTo(*module_, &sum.instructions);
  std::erase_if(sum.instructions,
                [](const InstructionCounts& one) { return one.counts == Counts(); });
  std::ranges::stable_sort(sum.instructions, {}, [](const InstructionCounts& one) {
    return std::pair(one.location.line, one.location.column);
  });
  return sum;
}

// ---- for handlers ------------------------------------------------------------------------------

void AddTensorOperations(Warp& warp, const Inst& inst, uint64_t operations) {
  Counter* counter = warp.block().counter();
  if (counter != nullptr) counter->At(warp, inst).tensor_operations += operations;
}

void AddBulkCopy(Warp& warp, const Inst& inst, const BulkCopy& copy) {
  Counter* counter = warp.block().counter();
  if (counter == nullptr) return;
  Counts& counts = counter->At(warp, inst);
  counts.async_bytes += copy.bytes;
  counts.global_sectors += copy.sectors;
  counts.global_ideal_sectors += copy.ideal_sectors;
  if (copy.from_global) counts.global_read_bytes += copy.bytes;
  if (copy.to_global) counts.global_written_bytes += copy.bytes;
}

}  // namespace tarsia::ptx
