#include "vm/agent.h"

#include <algorithm>
#include <cstring>

#include "dtypes/container.h"
#include "dtypes/convert.h"
#include "launch/diagnostics.h"
#include "launch/extent_error.h"
#include "vm/diagnostics.h"
#include "vm/trace.h"

namespace tarsia::vm {
namespace {

// How often a block checks whether the launch has failed or was cancelled.
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
  VisitContainer(container_bytes,
                 [&](auto container) { GatherAs<decltype(container)>(src, index, dst); });
}

// ---- life ----------------------------------------------------------------------------------

Agent::Agent(BlockState& block) : block_(block), checker_(block) {
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

// Reserves the maps of dense views whose extents are known at run time; MapOf then remakes them in
// place.
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

// Views release their addresses, so that the next launch can remake them in place.
void Agent::EndLaunch() {
  for (MemoryView& view : views_) view.map.reset();
  checker_.Begin();
}

void Agent::Begin() {
  const LaunchOptions& options = launch().options();
  pc_ = 0;
  waiting_ = nullptr;
  error_.reset();
  checker_.Begin();
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
    if (inst.chain != nullptr && !slow_) {
      if (launch().Stops(block_.linear)) return RunState::kDone;
      state = RunChain(*inst.chain);
      pc_ = inst.chain->end;
      executed_ += pc_ - at - 1;
    } else {
      state = inst.exec(*this, inst);
    }
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

// The work that only some launches need before each instruction. False: stop with `state`.
bool Agent::BeforeSlow(const PlannedInst& inst, ExecState& state) {
  const LaunchOptions& options = launch().options();
  if (options.check) checker_.Step();
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
  trace.sink(head + TextOf(plan(), inst));
  for (uint32_t r = 0; r < inst.results; ++r) TraceResult(*this, inst.result[r], trace.sink);
}

std::string Agent::Place() const {
  if (pc_ >= plan().code.size()) return "the end";
  const PlannedInst& inst = plan().code[pc_];
  const Location location = plan().LocationOf(inst);
  return (location.line != 0 ? "line " + std::to_string(location.line) + ": " : std::string()) +
         TextOf(plan(), inst);
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
    if (storage.element[i] == Storage::kPadding) continue;
    const size_t first = storage.holder[storage.element[i]];
    if (std::memcmp(tiles_[value] + i * bytes, tiles_[value] + first * bytes, bytes) == 0) continue;
    return Find(diag::kReplicasDiffer, inst, Row(inst.inst->opcode).mnemonic,
                plan().ValueName(value));
  }
}

// ---- memory --------------------------------------------------------------------------------

Result<std::shared_ptr<const AddressMap>> Agent::MapOf(const PlannedInst& inst) {
  if (inst.map != nullptr) return inst.map;
  views_[inst.result[0]].map.reset();  // the map of an earlier iteration, which ends here
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
      return launch::ExtentError(plan().program, *inst.inst, d, shape[d]);
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

}  // namespace tarsia::vm
