// The memory family.
#include <algorithm>
#include <cstring>

#include "dtypes/bits.h"
#include "dtypes/bulk.h"
#include "launch/diagnostics.h"
#include "launch/extent_error.h"
#include "support/extents.h"
#include "vm/diagnostics.h"
#include "vm/exec.h"
#include "vm/host/atomic.h"

namespace tarsia::vm {
namespace {

constexpr uint64_t kMaxScratchBytes = uint64_t{1} << 38;

const std::vector<int64_t>& ShapeOf(Agent& agent, const PlannedInst& inst, size_t operand) {
  return agent.plan().values[inst.operand[operand].value].shape;
}

// ---- views -----------------------------------------------------------------------------------

ExecState ViewPointer(Agent& agent, const PlannedInst& inst,
                      std::shared_ptr<const AddressMap> map) {
  Region* region = &agent.launch().pointers[inst.operand[0].value];
  if (map->size_bytes() > region->bytes) {
    return agent.Fail(diag::kBufferTooSmall, inst, agent.plan().ValueName(region->value),
                      region->bytes, std::string(DTypeName(map->type())) + ToString(map->shape()),
                      map->size_bytes());
  }
  agent.View(inst.result[0]) = MakeView(region, 0, std::move(map));
  return ExecState::kNext;
}

ExecState ViewMemory(Agent& agent, const PlannedInst& inst, std::shared_ptr<const AddressMap> map) {
  const uint32_t source = inst.operand[0].value;
  const MemoryView& from = agent.View(source);
  const std::optional<uint64_t> first = FirstByte(from);
  if (!first) return agent.Fail(diag::kViewOfSlice, inst, agent.plan().ValueName(source));
  const uint64_t room = from.region->bytes - *first;
  if (map->size_bytes() > room) {
    return agent.Fail(diag::kViewBeyondSource, inst, map->size_bytes(), room);
  }
  agent.View(inst.result[0]) = MakeView(from.region, *first, std::move(map));
  return ExecState::kNext;
}

// Zeros for all blocks, in memory of an earlier launch if that is large enough.
Status MakeScratch(Agent& agent, const PlannedInst& inst, GlobalScratch& scratch) {
  TARSIA_CHECK(agent.UpdateMap(inst, scratch.map));
  const uint64_t bytes = scratch.map->size_bytes();
  if (scratch.memory != nullptr && bytes <= scratch.room) {
    std::memset(scratch.memory.get(), 0, bytes);
  } else {
    scratch.room = 0;
    scratch.memory.reset(bytes <= kMaxScratchBytes ? std::calloc(bytes + 64, 1) : nullptr);
    if (scratch.memory == nullptr) {
      return MakeDiagnostic(diag::kOutOfMemory, agent.plan().LocationOf(inst), bytes,
                            "%" + agent.plan().ValueName(inst.result[0]));
    }
    scratch.room = bytes;
  }
  scratch.region.data = static_cast<uint8_t*>(scratch.memory.get());
  scratch.region.bytes = bytes;
  scratch.region.value = inst.result[0];
  if (agent.check()) {
    scratch.shadow = std::make_unique<Shadow>(bytes, inst.zeroed, true);
    scratch.region.shadow = scratch.shadow.get();
  }
  scratch.ready = true;
  return OkStatus();
}

// Each thread's bits under another type and layout.
void ViewRegisters(Agent& agent, const PlannedInst& inst) {
  const ValuePlan& from = agent.plan().values[inst.operand[0].value];
  const ValuePlan& to = agent.plan().values[inst.result[0]];
  const uint8_t* source = agent.Tile(inst.operand[0].value);
  uint8_t* target = agent.Tile(inst.result[0]);
  if (inst.register_bits == nullptr) {
    // Threads have equal numbers of bits: their concatenated streams are one stream.
    const auto bits = static_cast<uint64_t>(from.stored) * from.dtype.bits;
    uint8_t* stream = agent.Scratch(0, static_cast<int64_t>(BytesForBits(bits)) + 1);
    PackBits(source, from.dtype.bits, static_cast<size_t>(from.stored), stream, 0);
    UnpackBits(stream, 0, to.dtype.bits, static_cast<size_t>(to.stored), target);
    return;
  }
  const RegisterBits& bits = *inst.register_bits;
  const int64_t slots_from = bits.source.codes();
  const int64_t slots_to = bits.target.codes();
  const int64_t bytes = bits.words * 4;
  uint8_t* words = agent.Scratch(0, bits.threads * bytes);
  std::memset(words, 0, static_cast<size_t>(bits.threads * bytes));
  for (int64_t thread = 0; thread < bits.threads; ++thread) {
    for (int64_t slot = 0; slot < slots_from; ++slot) {
      const auto at = static_cast<size_t>(thread * slots_from + slot);
      bits.source.Or(words + thread * bytes, slot, LoadContainer(from.dtype, source, at));
    }
  }
  for (int64_t thread = 0; thread < bits.threads; ++thread) {
    for (int64_t slot = 0; slot < slots_to; ++slot) {
      const auto at = static_cast<size_t>(thread * slots_to + slot);
      StoreContainer(to.dtype, target, at, bits.target.Read(words + thread * bytes, slot));
    }
  }
}

// ---- gather and scatter ------------------------------------------------------------------------

// Calls each(i, box, tile strides, tile offset) for the part of the tile that index i selects.
template <typename Each>
void ForIndices(Agent& agent, const PlannedInst& inst, const std::vector<int64_t>& shape,
                const Each& each) {
  const MemoryView& view = agent.View(inst.operand[0].value);
  const auto axis = static_cast<size_t>(inst.axis);
  const DType type = inst.operand[1].type;
  const void* indices = agent.RowMajor(inst, 1);
  int64_t strides[kMaxRank] = {};
  int64_t part[kMaxRank] = {};
  int64_t start[kMaxRank] = {};
  RowMajorStrides(shape, strides);
  std::copy(shape.begin(), shape.end(), part);
  part[axis] = 1;
  for (int64_t i = 0; i < shape[axis]; ++i) {
    const uint64_t code = LoadContainer(type, indices, static_cast<size_t>(i));
    start[axis] = CodeToInt(type, code);
    if (start[axis] < 0) continue;  // outside; unsigned indices of 2^63 and more are negative here
    each(ClipBox(view, start, part), strides, i * strides[axis]);
  }
}

// ---- atomics ---------------------------------------------------------------------------------

// The tiles of an atomic instruction whose `value` is one operand, after `expected` if it compares.
class AtomicTiles {
 public:
  AtomicTiles(Agent& agent, const PlannedInst& inst, Opcode operation, size_t value)
      : agent_(agent),
        inst_(inst),
        operation_(operation),
        view_(agent.View(inst.operand[0].value)),
        type_(view_.map->type()),
        subnormals_(view_.region->space == Space::kGlobal ? host::Subnormals::kFlush
                                                          : host::Subnormals::kKeep),
        value_(agent.RowMajor(inst, value)) {
    if (operation == Opcode::kAtomicCas) expected_ = agent.RowMajor(inst, value - 1);
    if (inst.results == 0) return;
    const ValuePlan& result = agent.plan().values[inst.result[0]];
    old_ = agent.BeginResult(inst);
    std::memset(old_, 0, static_cast<size_t>(result.elements * result.container));
  }

  [[nodiscard]] const MemoryView& view() const { return view_; }

  void CheckBox(const Box& box) const {
    if (agent_.check()) agent_.checker().Check(inst_, view_, box, Agent::Access::kAtomic);
  }

  // Updates the element with this root index by the tiles' element of this number.
  void Update(int64_t element, const int64_t* root) const {
    uint8_t* address = view_.region->data + ElementBit(view_, root, 0) / 8;
    const auto at = static_cast<size_t>(element);
    const uint64_t code = LoadContainer(type_, value_, at);
    const uint64_t was =
        expected_ != nullptr
            ? host::AtomicCas(type_, address, LoadContainer(type_, expected_, at), code)
            : host::AtomicRmw(operation_, type_, address, code, subnormals_);
    if (old_ != nullptr) StoreContainer(type_, old_, at, was);
  }

  ExecState End() const {
    if (old_ != nullptr) agent_.EndResult(inst_);
    return ExecState::kNext;
  }

 private:
  Agent& agent_;
  const PlannedInst& inst_;
  const Opcode operation_;
  const MemoryView& view_;
  const DType type_;
  const host::Subnormals subnormals_;
  const void* value_;
  const void* expected_ = nullptr;
  void* old_ = nullptr;
};

ExecState Atomic(Agent& agent, const PlannedInst& inst) {
  if (!agent.MayWrite(inst, agent.View(inst.operand[0].value))) return ExecState::kFail;
  const Opcode opcode = inst.inst->opcode;
  const size_t value = opcode == Opcode::kAtomicCas ? 2 : 1;
  const AtomicTiles tiles(agent, inst, opcode, value);
  const std::vector<int64_t>& shape = ShapeOf(agent, inst, value);
  const Box box = agent.BoxOf(inst, 0, shape.data());
  tiles.CheckBox(box);
  VisitElements(box, shape.data(),
                [&](int64_t element, const int64_t* root) { tiles.Update(element, root); });
  return tiles.End();
}

// The same at gathered places, by the operation of another row.
ExecState AtomicScatter(Agent& agent, const PlannedInst& inst, Opcode operation) {
  if (!agent.MayWrite(inst, agent.View(inst.operand[0].value))) return ExecState::kFail;
  const size_t value = operation == Opcode::kAtomicCas ? 3 : 2;
  const AtomicTiles tiles(agent, inst, operation, value);
  const std::vector<int64_t>& shape = ShapeOf(agent, inst, value);
  std::vector<int64_t> part(shape);
  part[Size(inst.axis)] = 1;
  ForIndices(agent, inst, shape, [&](const Box& box, const int64_t* strides, int64_t first) {
    tiles.CheckBox(box);
    VisitElements(box, part.data(), [&](int64_t /*of part*/, const int64_t* root) {
      int64_t element = first;
      for (int d = 0; d < box.rank; ++d) element += (root[d] - box.root[d]) * strides[d];
      tiles.Update(element, root);
    });
  });
  return tiles.End();
}

}  // namespace

EXEC(View) {
  const PlannedOperand& source = inst.operand[0];
  if (source.IsTile()) {
    ViewRegisters(agent, inst);
    return ExecState::kNext;
  }
  Result<std::shared_ptr<const AddressMap>> map = agent.MapOf(inst);
  if (!map.ok()) return agent.Fail(map.TakeError());
  return agent.plan().values[source.value].kind == ValueKind::kPointer
             ? ViewPointer(agent, inst, *std::move(map))
             : ViewMemory(agent, inst, *std::move(map));
}

EXEC(AllocShared) {
  Region* region = &agent.block().shared[inst.allocation];
  if (region->shadow != nullptr) {
    // Other tiles may still be accessed where the text has placed this one.
    const bool placed = agent.plan().shared[inst.allocation].placed;
    if (placed) region->shadow->Undefine(region->shadow_first, region->bytes);
    if (!placed) region->shadow->Forget(region->shadow_first, region->bytes);
  }
  agent.View(inst.result[0]) = MakeView(region, 0, inst.map);
  return ExecState::kNext;
}

EXEC(AllocGlobal) {
  LaunchState& launch = agent.launch();
  const std::lock_guard lock(launch.mutex);
  GlobalScratch& scratch = launch.scratch[inst.allocation];
  if (!scratch.ready) {
    if (Status status = MakeScratch(agent, inst, scratch); !status.ok()) {
      return agent.Fail(status.error());
    }
  }
  agent.View(inst.result[0]) = MakeView(&scratch.region, 0, scratch.map);
  return ExecState::kNext;
}

EXEC(Slice) {
  const PlannedOperand& source = inst.operand[0];
  int64_t start[kMaxRank];
  int64_t shape[kMaxRank];
  for (size_t d = 0; d < inst.extents.size(); ++d) {
    start[d] = source.indices[d].Int(agent.codes());
    shape[d] = inst.extents[d].Int(agent.codes());
    if (shape[d] < 0 || shape[d] > kMaxExtent) {
      return agent.Fail(launch::ExtentError(agent.plan().program, *inst.inst, d, shape[d]));
    }
  }
  agent.View(inst.result[0]) = SliceView(agent.View(source.value), start, shape);
  return ExecState::kNext;
}

EXEC(Load) {
  const MemoryView& view = agent.View(inst.operand[0].value);
  const Box box = agent.BoxOf(inst, 0, inst.shape.data());
  if (agent.check()) agent.checker().Check(inst, view, box, Agent::Access::kRead);
  LoadBox(view, box, inst.shape.data(), agent.BeginResult(inst));
  agent.EndResult(inst);
  return ExecState::kNext;
}

EXEC(LoadScalar) {
  static constexpr int64_t kOnes[kMaxRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  const MemoryView& view = agent.View(inst.operand[0].value);
  const Box box = agent.BoxOf(inst, 0, kOnes);
  if (agent.check()) agent.checker().Check(inst, view, box, Agent::Access::kRead);
  uint64_t code = 0;
  LoadBox(view, box, kOnes, &code);
  agent.Scalar(inst.result[0]) = code;
  return ExecState::kNext;
}

EXEC(Store) {
  const MemoryView& view = agent.View(inst.operand[0].value);
  if (!agent.MayWrite(inst, view)) return ExecState::kFail;
  const std::vector<int64_t>& shape = ShapeOf(agent, inst, 1);
  const Box box = agent.BoxOf(inst, 0, shape.data());
  if (agent.check()) agent.checker().Check(inst, view, box, Agent::Access::kWrite);
  StoreBox(view, box, shape.data(), agent.RowMajor(inst, 1));
  return ExecState::kNext;
}

// Without --check the copy is done at once; with --check its bytes arrive at the wait.
EXEC(CopyAsync) {
  const MemoryView& target = agent.View(inst.operand[0].value);
  const MemoryView& source = agent.View(inst.operand[1].value);
  const int64_t* shape = inst.shape.data();
  const Box from = agent.BoxOf(inst, 1, shape);
  Box to = agent.BoxOf(inst, 0, shape);
  int64_t bytes = ContainerBytes(source.map->type());
  for (const int64_t extent : inst.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMaxRegisterTileBytes) {
      return agent.Fail(diag::kOutOfMemory, inst, bytes, "an asynchronous copy");
    }
  }
  if (agent.check()) {
    agent.checker().Check(inst, source, from, Agent::Access::kRead);
    PendingCopy copy;
    copy.inst = &inst;
    copy.target = target;
    copy.box = to;
    copy.data.resize(static_cast<size_t>(bytes));
    LoadBox(source, from, shape, copy.data.data());
    agent.checker().StartCopy(std::move(copy));
    return ExecState::kNext;
  }
  uint8_t* staging = agent.Scratch(kFirstFreeScratch, bytes);
  LoadBox(source, from, shape, staging);
  StoreBox(target, to, shape, staging);
  return ExecState::kNext;
}

EXEC(CopyCommit) {
  agent.checker().CommitCopies();
  return ExecState::kNext;
}

EXEC(CopyWait) {
  agent.checker().WaitForCopies(std::max<int64_t>(0, agent.Index(inst, 0)));
  return ExecState::kNext;
}

EXEC(Gather) {
  const MemoryView& view = agent.View(inst.operand[0].value);
  const ValuePlan& result = agent.plan().values[inst.result[0]];
  auto* out = static_cast<uint8_t*>(agent.BeginResult(inst));
  std::memset(out, 0, static_cast<size_t>(result.elements * result.container));
  ForIndices(agent, inst, result.shape, [&](const Box& box, const int64_t* strides, int64_t at) {
    if (agent.check()) agent.checker().Check(inst, view, box, Agent::Access::kRead);
    LoadBoxStrided(view, box, strides, out + at * result.container);
  });
  agent.EndResult(inst);
  return ExecState::kNext;
}

EXEC(Scatter) {
  const MemoryView& view = agent.View(inst.operand[0].value);
  if (!agent.MayWrite(inst, view)) return ExecState::kFail;
  const auto* value = static_cast<const uint8_t*>(agent.RowMajor(inst, 2));
  const int container = ContainerBytes(view.map->type());
  ForIndices(agent, inst, ShapeOf(agent, inst, 2),
             [&](const Box& box, const int64_t* strides, int64_t at) {
               if (agent.check()) agent.checker().Check(inst, view, box, Agent::Access::kWrite);
               StoreBoxStrided(view, box, strides, value + at * container);
             });
  return ExecState::kNext;
}

// A hint: nothing is read, and bytes that were never written are not reported.
EXEC(Prefetch) { return ExecState::kNext; }

EXEC(AtomicAdd) { return Atomic(agent, inst); }
EXEC(AtomicMin) { return Atomic(agent, inst); }
EXEC(AtomicMax) { return Atomic(agent, inst); }
EXEC(AtomicAnd) { return Atomic(agent, inst); }
EXEC(AtomicOr) { return Atomic(agent, inst); }
EXEC(AtomicXor) { return Atomic(agent, inst); }
EXEC(AtomicExch) { return Atomic(agent, inst); }
EXEC(AtomicCas) { return Atomic(agent, inst); }
EXEC(RedAdd) { return Atomic(agent, inst); }
EXEC(RedMin) { return Atomic(agent, inst); }
EXEC(RedMax) { return Atomic(agent, inst); }
EXEC(RedAnd) { return Atomic(agent, inst); }
EXEC(RedOr) { return Atomic(agent, inst); }
EXEC(RedXor) { return Atomic(agent, inst); }

EXEC(AtomicScatterAdd) { return AtomicScatter(agent, inst, Opcode::kAtomicAdd); }
EXEC(AtomicScatterMin) { return AtomicScatter(agent, inst, Opcode::kAtomicMin); }
EXEC(AtomicScatterMax) { return AtomicScatter(agent, inst, Opcode::kAtomicMax); }
EXEC(AtomicScatterAnd) { return AtomicScatter(agent, inst, Opcode::kAtomicAnd); }
EXEC(AtomicScatterOr) { return AtomicScatter(agent, inst, Opcode::kAtomicOr); }
EXEC(AtomicScatterXor) { return AtomicScatter(agent, inst, Opcode::kAtomicXor); }
EXEC(AtomicScatterExch) { return AtomicScatter(agent, inst, Opcode::kAtomicExch); }
EXEC(AtomicScatterCas) { return AtomicScatter(agent, inst, Opcode::kAtomicCas); }
EXEC(RedScatterAdd) { return AtomicScatter(agent, inst, Opcode::kAtomicAdd); }
EXEC(RedScatterMin) { return AtomicScatter(agent, inst, Opcode::kAtomicMin); }
EXEC(RedScatterMax) { return AtomicScatter(agent, inst, Opcode::kAtomicMax); }
EXEC(RedScatterAnd) { return AtomicScatter(agent, inst, Opcode::kAtomicAnd); }
EXEC(RedScatterOr) { return AtomicScatter(agent, inst, Opcode::kAtomicOr); }
EXEC(RedScatterXor) { return AtomicScatter(agent, inst, Opcode::kAtomicXor); }

}  // namespace tarsia::vm
