#include "compiler/llvm/lower/emitter.h"

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/llvm/lower/lower.h"
#include "support/extents.h"

namespace tarsia::compiler {

Emitter::Emitter(const Program& program, const RuntimeChecks& checks, const LayoutPlan& plan,
                 const SharedPlan& shared, Target target, CompiledKernel entry,
                 const CompileOptions& options, StopFlag& stop)
    : program_(program),
      checks_(checks),
      plan_(plan),
      shared_plan_(shared),
      facts_(CollectProgramFacts(program)),
      target_(target),
      stop_(stop),
      compiled_(std::move(entry)),
      function_(program, compiled_, options.line_info, options.keep_llvm_ir),
      elements_(function_.b(), target),
      arguments_(function_, compiled_),
      memory_(function_.b(), target),
      index_(function_.b()),
      values_(program, function_),
      scalars_(program, function_, values_, elements_, index_),
      layouts_(function_, plan.layouts),
      shared_(shared, function_),
      exchange_(function_, memory_, layouts_, shared_),
      register_tiles_(program, plan, function_, values_, layouts_, exchange_),
      memory_tiles_(program, facts_),
      reports_(function_, memory_, exchange_, arguments_, compiled_.records) {}

// ---- the walk over the instructions ---------------------------------------------------------

Status Emitter::EmitKernel() {
  TARSIA_CHECK(EmitBlock(0, kernel().code.size()));
  function_.Finish();
  TARSIA_TRY(compiled_.shared_bytes,
             TotalShared(program_, shared_plan_, target_, shared_.scratch_bytes()));
  return OkStatus();
}

Status Emitter::EmitBlock(size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    if (stop_.Stopped()) return MakeDiagnostic(diag::kCompileStopped, Location());
    TARSIA_CHECK(EmitInst(i));
    i = std::max<size_t>(kernel().code[i].end, i + 1);
  }
  return OkStatus();
}

Status Emitter::EmitInst(size_t number) {
  const size_t outer = std::exchange(number_, number);
  function_.SetLine(location());
  Status status = LoweringOf(inst().opcode())(*this);
  number_ = outer;
  return status;
}

// ---- the instruction ------------------------------------------------------------------------

ReportRecord Emitter::NewRecord(ReportRecord::Kind kind) const {
  ReportRecord record;
  record.kind = kind;
  record.location = location();
  return record;
}

Slots Emitter::TileOperand(size_t i, size_t slots) {
  const Operand& operand = inst().operand[i];
  if (!operand.IsTile()) return Slots(slots, ScalarOperand(i));
  return register_tiles_.Read(operand.value);
}

void Emitter::SetResult(size_t r, const Slots& slots) {
  register_tiles_.Write(inst().results[r], slots);
}

Status Emitter::SetResultWords(size_t r, const Slots& words) {
  return register_tiles_.WriteWords(inst().results[r], words);
}

TileWindow Emitter::Window(const MemoryTile& memory, LayoutId layout,
                           const std::vector<IndexValue>& start, const AccessFacts* proven) {
  TileWindow window{.memory = memory, .layout = layout, .tile = layouts_[layout]};
  window.proven = proven;
  for (size_t d = 0; d < start.size(); ++d) {
    IndexValue first = index_.Add(memory.dims[d].origin, index_.Saturate(start[d]));
    if (proven != nullptr) first.facts = Both(first.facts, proven->dims[d].first);
    window.root.push_back(first);
  }
  return window;
}

TileWindow Emitter::OperandWindow(size_t i, LayoutId layout) {
  const Operand& operand = inst().operand[i];
  return Window(memory_tiles_[operand.value], layout, scalars_.Indices(operand),
                facts_.Find(number_, i));
}

Result<LayoutId> Emitter::LayoutOfOne(size_t i) {
  const int rank = memory_tiles_[inst().operand[i].value].rank();
  const Extents ones(Size(rank), 1);
  TARSIA_TRY(TileLayout layout, BlockedLayout(ones, function_.threads(), 1, rank - 1));
  return layouts_.Add(std::move(layout));
}

LowerFunction LoweringOf(Opcode opcode) {
  static constexpr LowerFunction kFunctions[] = {
#define INST(name, ...) &Lower##name,
#include "isa/isa.def"
#undef INST
  };
  return kFunctions[static_cast<size_t>(opcode)];
}

}  // namespace tarsia::compiler
