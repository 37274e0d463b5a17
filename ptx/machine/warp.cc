// The loop that runs a warp, its operands, and what is reported. Divergence is in warp_control.cc.
#include "ptx/machine/warp.h"

#include <chrono>

#include "ptx/machine/block.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/counter.h"
#include "ptx/table/bind.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kLocalBase = 256;  // below it no local address is valid

}  // namespace

Warp::Warp(Block* block, uint32_t number, uint32_t lanes)
    : block_(block),
      number_(number),
      live_(lanes >= kLanes ? kAllLanes : (uint32_t{1} << lanes) - 1),
      local_(kLanes),
      local_defined_(kLanes),
      async_(kLanes),
      checking_(block->launch().config->checks),
      across_(block->launch().config->grid.Count() > 1),
      order_(block->number(), number, block->threads(), block->clock()) {
  const EntryImage& entry = *block->launch().entry;
  const uint32_t function = block->launch().image->module().NumberOf(*entry.entry);
  AddSplit(live_, 0, NewFrame(function, nullptr, live_), nullptr);
}

LaunchContext& Warp::launch() const { return block_->launch(); }

// ---- the loop --------------------------------------------------------------------------------

uint64_t Warp::Run(uint64_t budget) {
  uint64_t ran = 0;
  uint64_t threads = 0;
  size_t polls = 0;                 // turns in a row that ended in vain
  constexpr uint64_t kTurn = 1024;  // before another split of the warp has its turn
  constexpr size_t kMaxPolls = 32;
  const std::atomic<bool>& stop = launch().stop;
  Counter* const counter = block_->counter();
  ++turn_;
  if (suspended_ != 0) WakeLate();
  while (ran < budget && !stop.load(std::memory_order_relaxed) &&
         (PickSplit() || (StopGathering(false) && PickSplit()))) {
    const uint64_t until = std::min(budget, ran + kTurn);
    yield_ = false;
    while (ran < until) {
      Split& split = *splits_[current_];
      const Inst& inst = frame_->function->code[split.pc];
      mask_ = inst.guarded ? Guard(inst) : split.mask;
      ++ran;
      ++clock_;
      threads += static_cast<uint64_t>(std::popcount(mask_));
      if (mask_ != 0) {
        if (checking_ && inst.undef != UndefRule::kOwn) Propagate(inst);
        const Step step = counter == nullptr ? inst.run(*this, inst) : RunCounted(inst, counter);
        if (step == Step::kMoved) break;
      } else if (counter != nullptr) {
        RunCounted(inst, counter);
      }
      ++split.pc;
      if (split.join != nullptr && split.pc == split.join->pc) break;
      if (yield_) break;
    }
    // All that these lanes can do is look again; another warp or block may have more to do.
    polls = yield_ ? polls + 1 : 0;
    if (polls > kMaxPolls + splits_.size()) break;
  }
  launch().thread_instructions.fetch_add(threads, std::memory_order_relaxed);
  return ran;
}

// An instruction whose guard holds in no lane is counted and does nothing.
Step Warp::RunCounted(const Inst& inst, Counter* counter) {
  const uint32_t function = frame_->number;
  const auto number = static_cast<size_t>(&inst - frame_->function->code.data());
  if (mask_ == 0) {
    counter->CountExecution(function, number, 0);
    return Step::kNext;
  }
  counted_ = mask_;
  if (inst.aligned && !GatherLanes()) return Step::kMoved;
  counter->CountAccess(*this, inst);
  const Step step = inst.run(*this, inst);
  if (counted_ != 0) counter->CountExecution(function, number, std::popcount(counted_));
  return step;
}

// The next split that can run, after those that have come to their join have been merged.
bool Warp::PickSplit() {
  if (splits_.empty()) return false;
  for (size_t tried = 0; tried <= splits_.size();) {
    if (splits_.empty()) return false;
    current_ = (current_ + 1) % splits_.size();
    Split* split = splits_[current_].get();
    if (split->state != Split::State::kReady) {
      ++tried;
      continue;
    }
    if (!Arrive()) {
      tried = 0;
      continue;
    }
    Enter(splits_[current_]->frame);
    return true;
  }
  return false;
}

void Warp::Enter(Frame* frame) {
  frame_ = frame;
  values_[0] = frame_->values.data();
  undef_[0] = frame_->undef.data();
  values_[1] = frame_->constants;
  undef_[1] = frame_->zeros;
}

uint32_t Warp::Guard(const Inst& inst) {
  const Split& split = *splits_[current_];
  mask_ = split.mask;
  if ((UndefLanes(inst.guard) & mask_) != 0) NeedDefined(inst, inst.guard, "the guard");
  return split.mask & Predicate(inst.guard);
}

void Warp::Propagate(const Inst& inst) {
  uint32_t sources = 0;
  uint32_t dests = 0;
  for (const Operand& operand : inst.operands) {
    if (operand.bank != 0) continue;
    (operand.dest ? dests : sources) |= frame_->undef_lanes[operand.flag];
  }
  if ((sources & mask_) != 0) {
    PropagateUndef(*this, inst, (sources | dests) & mask_);
  } else if ((dests & mask_) != 0) {
    for (const Operand& operand : inst.operands) {
      if (operand.dest && operand.bank == 0) SetDefined(operand);
    }
  }
}

// ---- operands --------------------------------------------------------------------------------

uint64_t Warp::Bits(const Operand& operand, int lane) const {
  switch (operand.bytes) {
    case 0:
      return Predicate(operand) >> lane & 1;
    case 1:
      return Get<uint8_t>(operand, lane);
    case 2:
      return Get<uint16_t>(operand, lane);
    case 4:
      return Get<uint32_t>(operand, lane);
    case 8:
      return Get<uint64_t>(operand, lane);
    default:
      return LoadLane<uint64_t>(Values(operand), lane * 2);
  }
}

namespace {

// Writes the low bits of a value into a lane of `bytes` bytes.
void WriteLane(uint8_t* at, int bytes, int lane, uint64_t bits) {
  switch (bytes) {
    case 0: {
      const auto mask = LoadLane<uint32_t>(at, 0) & ~(uint32_t{1} << lane);
      return StoreLane(at, 0, mask | (static_cast<uint32_t>(bits & 1) << lane));
    }
    case 1:
      return StoreLane(at, lane, static_cast<uint8_t>(bits));
    case 2:
      return StoreLane(at, lane, static_cast<uint16_t>(bits));
    case 4:
      return StoreLane(at, lane, static_cast<uint32_t>(bits));
    case 8:
      return StoreLane(at, lane, bits);
    default:
      StoreLane(at, lane * 2, bits);
      return StoreLane(at, lane * 2 + 1, uint64_t{0});
  }
}

}  // namespace

void Warp::SetBits(const Operand& operand, int lane, uint64_t bits) {
  WriteLane(Dest(operand), operand.bytes, lane, bits);
}

uint64_t Warp::Undef(const Operand& operand, int lane) const {
  if ((UndefLanes(operand) >> lane & 1) == 0) return 0;
  const uint8_t* at = undef_[operand.bank] + operand.offset;
  switch (operand.bytes) {
    case 0:
      return LoadLane<uint32_t>(at, 0) >> lane & 1;
    case 1:
      return LoadLane<uint8_t>(at, lane);
    case 2:
      return LoadLane<uint16_t>(at, lane);
    case 4:
      return LoadLane<uint32_t>(at, lane);
    case 8:
      return LoadLane<uint64_t>(at, lane);
    default:
      return LoadLane<uint64_t>(at, lane * 2) | LoadLane<uint64_t>(at, lane * 2 + 1);
  }
}

void Warp::SetUndef(const Operand& operand, int lane, uint64_t bits) {
  if (bits == 0) return SetUndef(operand, lane, 0, Origin());
  if (!checking_) return;
  const Inst& inst = frame_->function->code[split().pc];
  SetUndef(operand, lane, bits, OriginOfResult(inst, lane));
}

void Warp::SetUndef(const Operand& operand, int lane, uint64_t bits, Origin origin) {
  if (!checking_) return;
  uint8_t* at = frame_->undef.data() + operand.offset;
  WriteLane(at, operand.bytes, lane, bits);
  if (operand.bytes == 16 && bits != 0) StoreLane(at, lane * 2 + 1, ~uint64_t{0});
  uint32_t& lanes = frame_->undef_lanes[operand.flag];
  const uint32_t bit = uint32_t{1} << lane;
  lanes = bits != 0 ? lanes | bit : lanes & ~bit;
  frame_->homes.Forget(operand.flag, lane);
  if (bits == 0) return;
  if (frame_->origins.empty()) frame_->origins.resize(frame_->undef_lanes.size() * kLanes);
  frame_->origins[size_t{operand.flag} * kLanes + static_cast<size_t>(lane)] = origin;
}

bool Warp::IsAtHome(const Operand& operand, int lane, uint64_t address) const {
  if (Undef(operand, lane) == 0) return true;
  const Home* home = HomeOf(operand, lane);
  return home != nullptr && home->first == address * 8;
}

void Warp::NeedDefined(const Inst& inst, const Operand& operand, std::string_view what) {
  const uint32_t lanes = UndefLanes(operand) & mask_;
  if (lanes == 0) return;
  const int first = std::countr_zero(lanes);
  const Origin origin = OriginOf(operand, first);
  ReportUndefined(inst, first, fmt::format("{} depends on bits that were never written", what),
                  origin.none() ? Origin::Of(inst) : origin);
  frame_->undef_lanes[operand.flag] &= ~lanes;
  excused_ = (excused_at_ == clock_ ? excused_ : 0) | lanes;
  excused_at_ = clock_;
}

// ---- frames ----------------------------------------------------------------------------------

Frame* Warp::NewFrame(uint32_t number, Frame* caller, uint32_t lanes) {
  const EntryImage& entry = *block_->launch().entry;
  const Function& function = block_->launch().image->module().functions[number];
  auto frame = std::make_unique<Frame>();
  frame->function = &function;
  frame->number = number;
  frame->caller = caller;
  frame->constants = entry.constants[number].data();
  frame->zeros = entry.zeros[number].data();
  frame->values.assign(function.register_bytes, 0);
  frame->undef.assign(function.register_bytes, 0xFF);
  frame->undef_lanes.assign(function.registers.size(), checking_ ? lanes : 0);
  if (function.watched) frame->marks.resize(function.registers.size());
  frame->local_base = kLocalBase;
  if (caller != nullptr) {
    uint64_t end = caller->StaticEnd();
    for (const uint64_t top : caller->tops) end = std::max(end, top);
    frame->local_base = (end + 255) / 256 * 256;
  }
  const uint64_t from = frame->local_base - kLocalBase;
  ForLanes(lanes, [&](int lane) {
    const auto i = static_cast<size_t>(lane);
    if (!origins_.empty()) origins_.Forget(lane, frame->local_base);
    local_[i].resize(from);
    local_defined_[i].resize(from);
    local_[i].resize(from + function.local_bytes);
    local_defined_[i].resize(from + function.local_bytes);
  });
  for (const FrameValue& value : function.frame_values) SetFrameValue(value, frame.get());
  frames_.push_back(std::move(frame));
  return frames_.back().get();
}

void Warp::FreeFrame(Frame* frame) {
  std::erase_if(frames_, [&](const auto& known) { return known.get() == frame; });
}

bool Warp::MoveTop(int lane, uint64_t address, uint64_t bytes) {
  const uint64_t from = address - kLocalBase;
  if (from > kMaxLocal || bytes > kMaxLocal - from) return false;
  if (frame_->tops.empty()) frame_->tops.assign(kLanes, frame_->StaticEnd());
  const auto i = static_cast<size_t>(lane);
  frame_->tops[i] = address + bytes;
  if (!origins_.empty()) origins_.Forget(lane, address);
  for (std::vector<uint8_t>* bank : {&local_[i], &local_defined_[i]}) {
    bank->resize(from);
    bank->resize(from + bytes);
  }
  return true;
}

void Warp::SetFrameValue(const FrameValue& value, Frame* frame) {
  uint8_t* at = frame->values.data() + value.where.offset;
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t bits = value.kind == FrameValue::Kind::kSpecial
                              ? SpecialValue(value.special, lane)
                              : frame->local_base + value.local;
    WriteLane(at, value.where.bytes, lane, bits);
  }
  frame->undef_lanes[value.where.flag] = 0;
}

void Warp::UpdateClocks() {
  for (const FrameValue& value : frame_->function->frame_values) {
    if (value.kind == FrameValue::Kind::kSpecial && IsClock(value.special)) {
      SetFrameValue(value, frame_);
    }
  }
}

Step RunWithClock(Warp& warp, const Inst& inst) {
  warp.UpdateClocks();
  return inst.behind(warp, inst);
}

Dim3 Warp::ThreadOf(int lane) const {
  return UnravelIndex(uint64_t{number_} * kLanes + static_cast<uint64_t>(lane), block_->shape());
}

uint64_t Warp::SpecialValue(Special special, int lane) const {
  const Dim3 tid = ThreadOf(lane);
  const Dim3& ntid = block_->shape();
  const Dim3 ctaid = block_->index();
  const LaunchConfig& config = *block_->launch().config;
  const Cluster& cluster = block_->cluster();
  const Dim3& within = block_->within();
  const uint32_t bit = uint32_t{1} << lane;
  const auto now = [] {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  switch (special) {
    case Special::kTidX:
      return tid.x;
    case Special::kTidY:
      return tid.y;
    case Special::kTidZ:
      return tid.z;
    case Special::kNtidX:
      return ntid.x;
    case Special::kNtidY:
      return ntid.y;
    case Special::kNtidZ:
      return ntid.z;
    case Special::kCtaidX:
      return ctaid.x;
    case Special::kCtaidY:
      return ctaid.y;
    case Special::kCtaidZ:
      return ctaid.z;
    case Special::kNctaidX:
      return config.grid.x;
    case Special::kNctaidY:
      return config.grid.y;
    case Special::kNctaidZ:
      return config.grid.z;
    case Special::kLaneId:
      return static_cast<uint64_t>(lane);
    case Special::kWarpId:
      return number_;
    case Special::kNwarpId:
      return (block_->threads() + kLanes - 1) / kLanes;
    case Special::kSmId:
      return 0;
    case Special::kNsmId:
      return 1;
    case Special::kGridId:
      return 0;
    case Special::kLanemaskEq:
      return bit;
    case Special::kLanemaskLe:
      return bit | (bit - 1);
    case Special::kLanemaskLt:
      return bit - 1;
    case Special::kLanemaskGe:
      return ~(bit - 1);
    case Special::kLanemaskGt:
      return ~(bit | (bit - 1));
    case Special::kClock:
    case Special::kClock64:
      return clock_;
    case Special::kClockHi:
      return clock_ >> 32;
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
      return now();
    case Special::kGlobaltimerHi:
      return now() >> 32;
    case Special::kAggrSmemSize:
    case Special::kTotalSmemSize:
      return block_->launch().entry->dynamic_offset + config.dynamic_shared;
    case Special::kDynamicSmemSize:
      return config.dynamic_shared;
    case Special::kClusterCtaidX:
      return within.x;
    case Special::kClusterCtaidY:
      return within.y;
    case Special::kClusterCtaidZ:
      return within.z;
    case Special::kClusterNctaidX:
      return cluster.shape().x;
    case Special::kClusterNctaidY:
      return cluster.shape().y;
    case Special::kClusterNctaidZ:
      return cluster.shape().z;
    case Special::kClusteridX:
      return cluster.index().x;
    case Special::kClusteridY:
      return cluster.index().y;
    case Special::kClusteridZ:
      return cluster.index().z;
    case Special::kNclusteridX:
      return cluster.grid().x;
    case Special::kNclusteridY:
      return cluster.grid().y;
    case Special::kNclusteridZ:
      return cluster.grid().z;
    case Special::kClusterCtarank:
      return block_->rank();
    case Special::kClusterNctarank:
      return cluster.size();
    case Special::kIsExplicitCluster:
      return HasExplicitCluster(*block_->launch().entry->entry, config) ? 1 : 0;
    case Special::kReservedSmemBegin:
    case Special::kReservedSmem0:
      return kSharedBase;
    case Special::kReservedSmem1:
      return kSharedBase + kReservedShared / 2;
    case Special::kReservedSmemEnd:
      return kSharedBase + kReservedShared;
    case Special::kReservedSmemCap:
      return kReservedShared;
    case Special::kEnvreg1:
      return block_->launch().grid_workspace >> 32;
    case Special::kEnvreg2:
      return block_->launch().grid_workspace & UINT32_MAX;
#define PTX_SPECIAL(constant, name, bytes)
#define PTX_SPECIAL_ZERO(constant, name, bytes) case Special::constant:
#include "ptx/table/specials.def"
#undef PTX_SPECIAL
      return 0;
  }
  return 0;
}

// ---- memory ----------------------------------------------------------------------------------

Space Warp::Narrow(Space space, uint64_t* address) {
  if (space != Space::kGeneric) return space;
  const auto within = [&](uint64_t window) { return *address - window < kWindowBytes; };
  if (*address - kSharedWindow < kSharedWindowBytes) {
    *address -= kSharedWindow;
    return Space::kShared;
  }
  if (within(kLocalWindow)) {
    *address -= kLocalWindow;
    return Space::kLocal;
  }
  if (within(kParamWindow)) {
    *address -= kParamWindow;
    return Space::kParam;
  }
  return Space::kGlobal;
}

Place Warp::LocalPlace(int lane, uint64_t address) {
  const auto i = static_cast<size_t>(lane);
  const uint64_t at = address - kLocalBase;
  return {local_[i].data() + at, local_defined_[i].data() + at};
}

bool Warp::FindShared(const Inst& inst, int lane, uint64_t address, uint32_t bytes, Access access,
                      Place* place) {
  Block* const owner =
      address < kSharedPeers ? block_ : FindPeer(inst, lane, &address, bytes, access);
  if (owner == nullptr) return false;
  MemoryRange& shared = owner->shared();
  if (!shared.Holds(address, bytes)) {
    ReportAccess(inst, FindingKind::kOutOfBounds, lane, Space::kShared, address, bytes, access,
                 fmt::format("the block has {} bytes from 0x{:x}", shared.bytes, kSharedBase));
    return false;
  }
  if (const Mbarrier* mbarrier = owner->mbarriers().Overlapping(address, bytes)) {
    ReportAccess(inst, FindingKind::kMbarrier, lane, Space::kShared, address, bytes, access,
                 "it is of " + mbarrier->Describe());
  }
  *place = {shared.data + (address - kSharedBase), shared.defined + (address - kSharedBase)};
  return true;
}

bool Warp::Find(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
                Access access, Place* place) {
  if (!Locate(inst, space, lane, address, bytes, access, place)) return false;
  NoteFound(inst, space, lane, address, bytes, access);
  return true;
}

void Warp::NoteFound(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
                     Access access) {
  if (!checking_) return;
  space = Narrow(space, &address);
  // What `red` finds decides nothing.
  if ((inst.semantics & kAtomicBit) != 0 && inst.operands.front().dest)
    NoteSeen(lane, space, address);
  NoteAccess(inst, AccessorOf(inst, lane), lane, space, address, bytes, access);
}

bool Warp::Locate(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
                  Access access, Place* place) {
  const uint64_t whole = address;
  space = Narrow(space, &address);
  if ((address & (bytes - 1)) != 0) {
    ReportAccess(inst, FindingKind::kMisaligned, lane, space, whole, bytes, access,
                 fmt::format("the address is no multiple of {}", bytes));
    return false;
  }
  switch (space) {
    case Space::kShared:
      return FindShared(inst, lane, address, bytes, access, place);
    case Space::kLocal: {
      const std::vector<uint8_t>& local = local_[static_cast<size_t>(lane)];
      if (address - kLocalBase < local.size() && bytes <= local.size() - (address - kLocalBase)) {
        *place = LocalPlace(lane, address);
        return true;
      }
      ReportAccess(inst, FindingKind::kOutOfBounds, lane, space, whole, bytes, access,
                   fmt::format("the thread has {} bytes from 0x{:x}", local.size(), kLocalBase));
      return false;
    }
    case Space::kParam: {
      LaunchContext& launch = block_->launch();
      const uint64_t size = launch.config->parameters.size();
      if (access == Access::kRead && address < size && bytes <= size - address) {
        *place = {launch.parameters.data() + address, launch.parameters_defined.data() + address};
        return true;
      }
      ReportAccess(inst, FindingKind::kOutOfBounds, lane, space, whole, bytes, access,
                   fmt::format("there are {} bytes of parameters, which cannot be written", size));
      return false;
    }
    case Space::kGeneric:
    case Space::kGlobal:
    case Space::kConst:
      break;
  }
  const MemoryRange* range = FindGlobal(address, bytes);
  if (range == nullptr) {
    ReportAccess(inst, FindingKind::kOutOfBounds, lane, space, whole, bytes, access,
                 block_->launch().image->memory().Describe(address));
    return false;
  }
  if (range->read_only && access != Access::kRead) {
    ReportAccess(inst, FindingKind::kOutOfBounds, lane, space, whole, bytes, access,
                 "the variable is constant");
    return false;
  }
  const uint64_t at = address - range->address;
  *place = {range->data + at, range->defined + at};
  return true;
}

const MemoryRange* Warp::FindGlobal(uint64_t address, uint64_t bytes) {
  if (last_range_ != nullptr && last_range_->Holds(address, bytes)) return last_range_;
  const Memory& memory = block_->launch().image->memory();
  if (memory.heap() != nullptr && Heap::Covers(address)) {
    const bool found = memory.heap()->Find(address, &heap_range_);
    return found && heap_range_.Holds(address, bytes) ? &heap_range_ : nullptr;
  }
  const MemoryRange* range = memory.Find(address);
  if (range == nullptr || !range->Holds(address, bytes)) return nullptr;
  last_range_ = range;
  return range;
}

const MemoryRange* Warp::FindMerged(Space space, const Operand& address, uint32_t bytes,
                                    Access access, uint64_t* offsets) {
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  uint64_t bits = 0;
  ForLanes(mask_, [&](int lane) {
    const uint64_t at = Address(address, lane);
    offsets[lane] = at;
    bits |= at;
    least = std::min(least, at);
    most = std::max(most, at);
  });
  if ((bits & (bytes - 1)) != 0) return nullptr;
  uint64_t base = least;
  // If the last lies within the range of the first, so do all between, and the window is the same.
  space = Narrow(space, &base);
  const uint64_t window = least - base;
  const uint64_t span = most - least + bytes;
  if (span < bytes) return nullptr;  // wraps around
  const MemoryRange* range = nullptr;
  switch (space) {
    case Space::kShared:
      range = &block_->shared();
      if (!range->Holds(base, span)) return nullptr;
      if (block_->mbarriers().Near(base, span)) return nullptr;
      break;
    case Space::kGlobal:
    case Space::kConst:
      range = FindGlobal(base, span);
      if (range == &heap_range_) return nullptr;
      if (range == nullptr || (range->read_only && access != Access::kRead)) return nullptr;
      break;
    case Space::kParam:
      range = &launch().parameter_range;
      if (access != Access::kRead || !range->Holds(base, span)) return nullptr;
      break;
    case Space::kLocal:
    case Space::kGeneric:
      return nullptr;
  }
  const uint64_t start = window + range->address;
  ForLanes(mask_, [&](int lane) { offsets[lane] -= start; });
  return range;
}

// ---- reports ---------------------------------------------------------------------------------

std::string Warp::AccessText(Space space, uint64_t address, uint32_t bytes, Access access,
                             std::string_view where) {
  constexpr std::string_view kVerbs[] = {"reads", "writes", "updates"};
  return fmt::format("{} {} bytes at {} address 0x{:x}: {}", kVerbs[static_cast<size_t>(access)],
                     bytes, NameOf(space), address, where);
}

void Warp::ReportAccess(const Inst& inst, FindingKind kind, int lane, Space space, uint64_t address,
                        uint32_t bytes, Access access, std::string_view where) {
  Report(inst, kind, lane, AccessText(space, address, bytes, access, where));
}

Finding Warp::MakeFinding(const Inst& inst, FindingKind kind, int lane, std::string message) const {
  Finding finding;
  finding.kind = kind;
  finding.location = inst.location;
  SetSource(launch().image->module(), inst, &finding);
  finding.block = block_->index();
  finding.thread = ThreadOf(lane);
  finding.message = std::move(message);
  finding.count = 1;
  return finding;
}

void Warp::AddFinding(Finding finding, int lane) {
  const bool excused = excused_at_ == clock_ && (excused_ >> lane & 1) != 0;
  if (!excused) launch().findings.Add(std::move(finding));
}

void Warp::Report(const Inst& inst, FindingKind kind, int lane, std::string message,
                  Severity severity) {
  Finding finding = MakeFinding(inst, kind, lane, std::move(message));
  finding.severity = severity;
  AddFinding(std::move(finding), lane);
}

}  // namespace tarsia::ptx
