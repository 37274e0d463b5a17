#include "vm/agent.h"

#include <algorithm>
#include <cstring>

#include "dtypes/convert.h"
#include "isa/printer.h"
#include "vm/diagnostics.h"
#include "vm/trace.h"

namespace tarsia::vm {
namespace {

// How often a block looks whether the launch has failed, and whether anybody still wants it.
constexpr uint64_t kStopMask = 255;
constexpr uint64_t kStopMaskWhereAsked = 7;

template <typename T>
void GatherAs(const void* src, const std::vector<uint32_t>& index, void* dst) {
  const T* in = static_cast<const T*>(src);
  T* out = static_cast<T*>(dst);
  for (size_t i = 0; i < index.size(); ++i) out[i] = in[index[i]];
}

}  // namespace

void GatherContainers(int container_bytes, const void* src, const std::vector<uint32_t>& index,
                      void* dst) {
  switch (container_bytes) {
    case 1:
      return GatherAs<uint8_t>(src, index, dst);
    case 2:
      return GatherAs<uint16_t>(src, index, dst);
    case 4:
      return GatherAs<uint32_t>(src, index, dst);
    default:
      return GatherAs<uint64_t>(src, index, dst);
  }
}

// ---- block ---------------------------------------------------------------------------------

BlockState::BlockState(LaunchState& state) : launch(state) {
  const Plan& plan = launch.plan;
  uint8_t* base = shared_memory.Ensure(plan.shared_bytes);
  std::memset(base, 0, plan.shared_bytes);
  for (const Allocation& allocation : plan.shared) {
    Region region;
    region.data = base + allocation.offset;
    region.bytes = allocation.bytes;
    region.space = Space::kShared;
    region.value = allocation.value;
    if (launch.options().check) {
      shadows.push_back(std::make_unique<Shadow>(allocation.bytes, false, false));
      region.shadow = shadows.back().get();
    }
    shared.push_back(region);
  }
}

void BlockState::Begin(int64_t linear_index) {
  linear = linear_index;
  index = {linear_index % launch.grid[0], linear_index / launch.grid[0] % launch.grid[1],
           linear_index / launch.grid[0] / launch.grid[1]};
  epoch = 0;
  for (const Region& region : shared) {
    if (region.shadow != nullptr) region.shadow->Forget(0, region.bytes);
  }
}

// ---- life ----------------------------------------------------------------------------------

Agent::Agent(BlockState& block) : block_(block) {
  const Plan& p = plan();
  codes_.assign(p.values.size(), 0);
  tiles_.assign(p.values.size(), nullptr);
  views_.resize(p.values.size());
  loops_.resize(p.loops);
  maps_.resize(p.code.size());
  uint8_t* arena = arena_.Ensure(p.arena_bytes);
  for (size_t i = 0; i < p.values.size(); ++i) {
    const ValuePlan& value = p.values[i];
    if (value.kind == ValueKind::kTile && value.space == Space::kRegister) {
      tiles_[i] = arena + value.arena_offset;
    }
  }
  for (size_t i = 0; i < kScratchBuffers; ++i) scratch_[i].Ensure(p.scratch_bytes[i]);
  ReserveMaps();
}

// Dense views whose extents are known at run time: what MapOf then makes anew in place.
void Agent::ReserveMaps() {
  const std::vector<PlannedInst>& code = plan().code;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].map != nullptr || code[i].extents.empty() || code[i].results == 0) continue;
    const ConcreteType& type = plan().program.type(code[i].result[0]);
    const int64_t empty[kMaxRank] = {};
    maps_[i] = AddressMap::Reserve(type.mem_layout, {empty, code[i].extents.size()}, type.dtype);
  }
}

void Agent::BeginLaunch() {
  executed_ = 0;
  std::copy(launch().scalars.begin(), launch().scalars.end(), codes_.begin());
}

// Views let go of their addresses, so that the next launch can make them anew in place.
void Agent::EndLaunch() {
  for (MemoryView& view : views_) view.map.reset();
  copies_.clear();
}

void Agent::Begin() {
  const LaunchOptions& options = launch().options();
  pc_ = 0;
  waiting_ = nullptr;
  error_.reset();
  copies_.clear();
  open_group_ = 0;
  stop_mask_ = options.stop != nullptr ? kStopMaskWhereAsked : kStopMask;
  const bool traced = options.trace.enabled && options.trace.block == block_.index;
  slow_ = options.check || traced || options.max_instructions != 0 || options.wait != nullptr;
}

RunState Agent::Resume() {
  const std::vector<PlannedInst>& code = plan().code;
  const auto end = static_cast<uint32_t>(code.size());
  waiting_ = nullptr;
  while (pc_ < end) {
    const PlannedInst& inst = code[pc_];
    ExecState state = ExecState::kNext;
    if (slow_ && !BeforeSlow(inst, state)) {
      return state == ExecState::kSuspend ? RunState::kSuspended : RunState::kFailed;
    }
    if ((++executed_ & stop_mask_) == 0 && launch().Stops(block_.linear)) return RunState::kDone;
    const uint32_t at = pc_++;
    state = inst.exec(*this, inst);
    switch (state) {
      case ExecState::kNext:
        break;
      case ExecState::kExit:
        return RunState::kDone;
      case ExecState::kSuspend:
        pc_ = at;
        return RunState::kSuspended;
      case ExecState::kFail:
        return RunState::kFailed;
    }
    if (slow_) Trace(inst);
  }
  return RunState::kDone;
}

// What only some launches need before each instruction. False: stop with `state`.
bool Agent::BeforeSlow(const PlannedInst& inst, ExecState& state) {
  const LaunchOptions& options = launch().options();
  stamp_ = ++launch().next_stamp;
  if (inst.inst == nullptr) return true;
  if (options.max_instructions != 0 &&
      launch().budget_used.fetch_add(1, std::memory_order_relaxed) >= options.max_instructions) {
    state = Fail(diag::kBudget, inst, options.max_instructions);
    return false;
  }
  if (options.wait != nullptr) {
    const auto number = static_cast<size_t>(inst.inst - plan().kernel().code.data());
    const WaitCondition* condition = options.wait(block_.index, number);
    if (condition != nullptr && !condition->Ready()) {
      waiting_ = condition;
      state = ExecState::kSuspend;
      return false;
    }
  }
  return true;
}

void Agent::Trace(const PlannedInst& inst) {
  const TraceOptions& trace = launch().options().trace;
  if (inst.inst == nullptr || !trace.enabled || trace.block != block_.index || !trace.sink) return;
  if (!trace.value.empty()) {
    bool wanted = false;
    for (uint32_t r = 0; r < inst.results; ++r) {
      wanted = wanted || plan().ValueName(inst.result[r]) == trace.value;
    }
    if (!wanted) return;
  }
  const Location location = plan().LocationOf(inst);
  std::string head = location.line != 0 ? std::to_string(location.line) + ": " : std::string();
  const std::lock_guard lock(launch().mutex);
  trace.sink(head + Text(inst));
  for (uint32_t r = 0; r < inst.results; ++r) TraceResult(*this, inst.result[r], trace.sink);
}

std::string Agent::Text(const PlannedInst& inst) const {
  if (inst.inst == nullptr) return "}";
  return PrintInst(plan().program.module(), plan().kernel(), *inst.inst);
}

std::string Agent::Place() const {
  if (pc_ >= plan().code.size()) return "the end";
  const PlannedInst& inst = plan().code[pc_];
  const Location location = plan().LocationOf(inst);
  return (location.line != 0 ? "line " + std::to_string(location.line) + ": " : std::string()) +
         Text(inst);
}

ExecState Agent::Fail(Diagnostic error) {
  error_ = std::move(error);
  return ExecState::kFail;
}

// ---- values --------------------------------------------------------------------------------

uint64_t Agent::Code(const PlannedInst& inst, size_t operand) {
  const PlannedOperand& o = inst.operand[operand];
  switch (o.kind) {
    case Operand::Kind::kScalar:
      return codes_[o.value];
    case Operand::Kind::kConstant:
      return o.code;
    case Operand::Kind::kExpr:
      return o.expr.Code(codes_.data(), o.type);
    case Operand::Kind::kNone:
    case Operand::Kind::kTile:
    case Operand::Kind::kMemory:
    case Operand::Kind::kText:
      break;
  }
  return 0;
}

Agent::Source Agent::Elements(const PlannedInst& inst, size_t operand) {
  const PlannedOperand& o = inst.operand[operand];
  switch (o.kind) {
    case Operand::Kind::kTile: {
      const uint8_t* tile = tiles_[o.value];
      if (o.to_result == nullptr) return {tile, false};
      if (check()) CheckReplicas(inst, o.value);
      const int container = plan().values[o.value].container;
      uint8_t* out = Scratch(operand, static_cast<int64_t>(o.to_result->size()) * container);
      GatherContainers(container, tile, *o.to_result, out);
      return {out, false};
    }
    case Operand::Kind::kScalar:
      return {&codes_[o.value], true};
    case Operand::Kind::kConstant:
      return {&o.code, true};
    case Operand::Kind::kExpr:
      temporary_[operand] = o.expr.Code(codes_.data(), o.type);
      return {&temporary_[operand], true};
    case Operand::Kind::kNone:
    case Operand::Kind::kMemory:
    case Operand::Kind::kText:
      break;
  }
  return {};
}

const void* Agent::RowMajor(const PlannedInst& inst, size_t operand) {
  const PlannedOperand& o = inst.operand[operand];
  const uint8_t* tile = tiles_[o.value];
  if (o.to_logical == nullptr) return tile;
  if (check()) CheckReplicas(inst, o.value);
  const int container = plan().values[o.value].container;
  uint8_t* out = Scratch(operand, static_cast<int64_t>(o.to_logical->size()) * container);
  GatherContainers(container, tile, *o.to_logical, out);
  return out;
}

void* Agent::BeginResult(const PlannedInst& inst, size_t result) {
  const uint32_t value = inst.result[result];
  if (inst.direct[result]) return tiles_[value];
  const ValuePlan& type = plan().values[value];
  return Scratch(kMaxOperands + result, type.elements * type.container);
}

void Agent::EndResult(const PlannedInst& inst, size_t result) {
  if (inst.direct[result]) return;
  SetResult(inst, scratch_[kMaxOperands + result].data(), result);
}

void Agent::SetResult(const PlannedInst& inst, const void* row_major, size_t result) {
  const uint32_t value = inst.result[result];
  const ValuePlan& type = plan().values[value];
  if (inst.from_logical[result] != nullptr) {
    GatherContainers(type.container, row_major, *inst.from_logical[result], tiles_[value]);
  } else if (row_major != tiles_[value] && type.elements > 0) {
    std::memmove(tiles_[value], row_major, static_cast<size_t>(type.elements * type.container));
  }
}

void Agent::CheckReplicas(const PlannedInst& inst, uint32_t value) {
  const ValuePlan& type = plan().values[value];
  const Storage& storage = plan().storages[type.storage];
  if (!storage.replicated) return;
  const auto bytes = static_cast<size_t>(type.container);
  for (size_t i = 0; i < storage.element.size(); ++i) {
    const size_t first = storage.holder[storage.element[i]];
    if (std::memcmp(tiles_[value] + i * bytes, tiles_[value] + first * bytes, bytes) == 0) continue;
    return Find(diag::kReplicasDiffer, inst, Row(inst.inst->opcode).mnemonic,
                plan().ValueName(value));
  }
}

// ---- memory --------------------------------------------------------------------------------

Result<std::shared_ptr<const AddressMap>> Agent::MapOf(const PlannedInst& inst) {
  if (inst.map != nullptr) return inst.map;
  views_[inst.result[0]].map.reset();  // that of an earlier turn, which ends here
  std::shared_ptr<AddressMap>& map = maps_[static_cast<size_t>(&inst - plan().code.data())];
  TARSIA_CHECK(UpdateMap(inst, map));
  return std::shared_ptr<const AddressMap>(map);
}

Status Agent::UpdateMap(const PlannedInst& inst, std::shared_ptr<AddressMap>& map) {
  int64_t shape[kMaxRank];
  const size_t rank = inst.extents.size();
  for (size_t d = 0; d < rank; ++d) {
    shape[d] = inst.extents[d].Int(codes_.data());
    if (shape[d] < 0 || shape[d] > kMaxExtent) {
      return MakeDiagnostic(diag::kViewExtent, plan().kernel().TypeLocation(*inst.inst), d,
                            shape[d]);
    }
  }
  if (map != nullptr && std::equal(shape, shape + rank, map->shape().begin())) return OkStatus();
  const ConcreteType& type = plan().program.type(inst.result[0]);
  Status status = AddressMap::Remake(type.mem_layout, {shape, rank}, type.dtype, map);
  if (status.ok()) return status;
  Diagnostic error = status.error();
  error.location = plan().kernel().TypeLocation(*inst.inst);
  return error;
}

Box Agent::BoxOf(const PlannedInst& inst, size_t operand, const int64_t* shape) {
  const PlannedOperand& o = inst.operand[operand];
  int64_t start[kMaxRank];
  for (size_t d = 0; d < o.indices.size(); ++d) start[d] = o.indices[d].Int(codes_.data());
  return ClipBox(views_[o.value], start, shape);
}

bool Agent::MayWrite(const PlannedInst& inst, const MemoryView& view) {
  if (view.region->writable) return true;
  Fail(diag::kReadOnlyBuffer, inst, Row(inst.inst->opcode).mnemonic,
       plan().ValueName(view.region->value));
  return false;
}

Accessor Agent::Me(const PlannedInst& inst) const {
  Accessor me;
  me.inst = static_cast<uint32_t>(&inst - plan().code.data());
  me.stamp = stamp_;
  me.epoch = block_.epoch;
  me.block = block_.linear;
  return me;
}

void Agent::CheckAccess(const PlannedInst& inst, const MemoryView& view, const Box& box,
                        Access access) {
  Shadow* shadow = view.region->shadow;
  if (shadow == nullptr || access == Access::kNone) return;
  Accessor me = Me(inst);
  me.atomic = access == Access::kAtomic;
  unsigned found = 0;
  const auto report = [&](FindingKind kind, const Accessor& other) {
    ReportAccess(inst, view, static_cast<int>(kind), other);
  };
  VisitBits(view, box, [&](uint64_t bit, uint64_t count) {
    if (access != Access::kWrite) shadow->Read(bit, count, me, found, report);
    if (access != Access::kRead) shadow->Write(bit, count, me, found, report);
  });
}

void Agent::ReportAccess(const PlannedInst& inst, const MemoryView& view, int kind,
                         const Accessor& other) {
  const std::string name = plan().ValueName(view.region->value);
  const std::string_view mnemonic = Row(inst.inst->opcode).mnemonic;
  const Location location = plan().LocationOf(inst);
  const PlannedInst* earlier = other.stamp != 0 ? &plan().code[other.inst] : nullptr;
  const auto report = [&](const DiagInfo& info, Diagnostic diagnostic) {
    if (earlier != nullptr && plan().LocationOf(*earlier).line != 0) {
      diagnostic.notes.push_back({plan().LocationOf(*earlier), Text(*earlier)});
    }
    launch().Report(info, inst, earlier, block_.index, std::move(diagnostic));
  };
  const auto race = [&](std::string_view did, std::string_view had_done) {
    const std::string_view by = Row(earlier->inst->opcode).mnemonic;
    if (other.block == block_.linear) {
      return report(diag::kRace,
                    MakeDiagnostic(diag::kRace, location, mnemonic, did, name, by, had_done));
    }
    const auto& grid = launch().grid;
    report(diag::kRaceBetweenBlocks,
           MakeDiagnostic(diag::kRaceBetweenBlocks, location, mnemonic, did, name, by,
                          other.block % grid[0], other.block / grid[0] % grid[1],
                          other.block / grid[0] / grid[1], had_done));
  };
  switch (static_cast<FindingKind>(kind)) {
    case FindingKind::kReadBeforeWait:
      return report(diag::kReadBeforeWait,
                    MakeDiagnostic(diag::kReadBeforeWait, location, mnemonic, name));
    case FindingKind::kWriteBeforeWait:
      return report(diag::kWriteBeforeWait,
                    MakeDiagnostic(diag::kWriteBeforeWait, location, mnemonic, name));
    case FindingKind::kUnwritten:
      return report(diag::kUnwritten, MakeDiagnostic(diag::kUnwritten, location, mnemonic, name));
    case FindingKind::kWriteAfterWrite:
      return race("writes", "wrote");
    case FindingKind::kWriteAfterRead:
      return race("writes", "read");
    case FindingKind::kReadAfterWrite:
      return race("reads", "wrote");
  }
}

// Until its wait, the target holds a pattern that is no likely value.
void Agent::StartCopy(PendingCopy copy) {
  copy.group = open_group_;
  std::vector<uint8_t> poison(copy.data.size(), 0xA5);
  int64_t elements = 1;
  for (int d = 0; d < copy.target.rank; ++d) elements *= copy.inst->shape[static_cast<size_t>(d)];
  const auto mask = static_cast<uint8_t>(CodeMask(copy.target.map->type()));
  for (uint8_t& byte : poison) byte &= mask;
  if (elements > 0) StoreBox(copy.target, copy.box, copy.inst->shape.data(), poison.data());
  if (Shadow* shadow = copy.target.region->shadow; shadow != nullptr) {
    const Accessor me = Me(*copy.inst);
    unsigned found = 0;
    VisitBits(copy.target, copy.box, [&](uint64_t bit, uint64_t count) {
      shadow->WriteLater(bit, count, me, found, [&](FindingKind kind, const Accessor& other) {
        ReportAccess(*copy.inst, copy.target, static_cast<int>(kind), other);
      });
    });
  }
  copies_.push_back(std::move(copy));
}

void Agent::WaitForCopies(int64_t pending) {
  while (!copies_.empty()) {
    const PendingCopy& copy = copies_.front();
    const uint64_t newer = open_group_ - copy.group;  // groups committed since, its own included
    if (copy.group >= open_group_ || newer <= static_cast<uint64_t>(pending)) return;
    StoreBox(copy.target, copy.box, copy.inst->shape.data(), copy.data.data());
    if (Shadow* shadow = copy.target.region->shadow; shadow != nullptr) {
      Accessor me = Me(*copy.inst);
      me.stamp = stamp_;
      VisitBits(copy.target, copy.box,
                [&](uint64_t bit, uint64_t count) { shadow->Deliver(bit, count, me); });
    }
    copies_.pop_front();
  }
}

}  // namespace tarsia::vm
