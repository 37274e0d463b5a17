// The control family.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "compiler/llvm/lower/lower.h"

namespace tarsia::compiler {
namespace {

Status SetIndex(Emitter& e, unsigned intrinsic) {
  e.scalars().Write(e.inst().results[0], e.function().ReadRegister(intrinsic),
                    Facts::Between(0, INT32_MAX));
  return OkStatus();
}

// What is known of the counter of a `for` in a turn.
Facts CounterFacts(const IndexValue& start, const IndexValue& stop, const IndexValue& step) {
  Facts facts;
  facts.multiple = std::gcd(start.facts.multiple, step.facts.multiple);
  if (facts.multiple == 0) facts.multiple = 1;
  if (step.facts.lo > 0 && stop.facts.hi > INT64_MIN) {
    facts.lo = start.facts.lo;
    facts.hi = std::max(start.facts.lo, stop.facts.hi - 1);
  } else if (step.facts.hi < 0 && stop.facts.lo < INT64_MAX) {
    facts.lo = std::min(start.facts.hi, stop.facts.lo + 1);
    facts.hi = start.facts.hi;
  }
  return facts;
}

// Whether the counter might overflow 64 bits.
bool MayOverflow(const Facts& counter, const IndexValue& stop, const IndexValue& step) {
  const Facts next = counter + step.facts;
  return next.lo == INT64_MIN && next.hi == INT64_MAX &&
         !(step.facts.lo > 0 && stop.facts.hi < INT64_MAX / 2 && step.facts.hi < INT64_MAX / 2);
}

// The bits of a counter: 32 where it, what it is compared with, and the sum that ends the loop have
// no more. Counters and addresses of 64 bits take two instructions for each one of these.
unsigned CounterBits(const Facts& counter, const IndexValue& start, const IndexValue& stop,
                     const IndexValue& step) {
  const Facts narrow = Facts::OfType(kI32);
  const Facts all[] = {start.facts, stop.facts, step.facts, counter, counter + step.facts};
  return std::all_of(std::begin(all), std::end(all),
                     [&](const Facts& x) { return x.lo >= narrow.lo && x.hi <= narrow.hi; })
             ? 32
             : 64;
}

// Whether there is another turn (i1).
llvm::Value* HasTurn(FunctionBuilder& f, llvm::Value* i, const IndexValue& stop,
                     const IndexValue& step) {
  llvm::IRBuilder<>& b = f.b();
  llvm::Value* end = b.CreateTrunc(stop.value, i->getType());
  if (step.facts.lo > 0) return b.CreateICmpSLT(i, end);
  if (step.facts.hi < 0) return b.CreateICmpSGT(i, end);
  return b.CreateSelect(b.CreateICmpSGT(step.value, f.Int64(0)), b.CreateICmpSLT(i, end),
                        b.CreateICmpSGT(i, end));
}

// How many turns the machine code makes as one; 0 if nothing is said of it. A few turns are
// unrolled unless the text says otherwise: without a counter, and with the code around the loop.
// ptxas must not unroll a loop that goes down: if its stop is a negated value, ptxas 13.0 to 13.5
// take the value itself where they count the turns that are left, and the loop ends early.
int64_t Unrolled(const ResolvedInst& loop, const IndexValue& start, const IndexValue& stop,
                 const IndexValue& step) {
  constexpr int64_t kFewTurns = 4;
  if (loop.unroll != 0) return loop.unroll;
  const int64_t unknown = step.facts.lo < 0 ? 1 : 0;
  if (!stop.facts.IsExact() || !step.facts.IsExact()) return unknown;
  int64_t turns = 0;
  for (Facts i = start.facts; turns <= kFewTurns; i = i + step.facts) {
    if (!i.IsExact()) return unknown;
    if (step.facts.lo > 0 ? i.lo >= stop.facts.lo : i.lo <= stop.facts.lo) return turns;
    ++turns;
  }
  return unknown;
}

// The turns of a `for`. The program sees the counter as a scalar of its own type.
Status EmitTurns(Emitter& e, const IndexValue& start, const IndexValue& stop,
                 const IndexValue& step) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  CurrentValues& values = e.values();
  const uint32_t counter = e.inst().results[0];
  const Inst& inst = *e.inst().inst;
  const std::vector<uint32_t> changed = values.Changed(e.number() + 1, inst.end);
  const Facts facts = CounterFacts(start, stop, step);
  const bool overflows = MayOverflow(facts, stop, step);
  llvm::Type* bits = f.I(overflows ? 64 : CounterBits(facts, start, stop, step));
  llvm::Value* first = b.CreateTrunc(start.value, bits);
  llvm::Value* by = b.CreateTrunc(step.value, bits);
  const int64_t unrolled = Unrolled(e.inst(), start, stop, step);
  llvm::BasicBlock* head = f.NewBlock("for");
  llvm::BasicBlock* turn = f.NewBlock("turn");
  llvm::BasicBlock* after = f.NewBlock("done");
  const CurrentValues::Edge before = values.Leave(changed);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(bits, 2, "counter");
  i->addIncoming(first, before.from);
  const std::vector<llvm::PHINode*> phis = values.OpenLoop(changed, before);
  const CurrentValues::Edge last = values.Leave(changed);
  b.CreateCondBr(HasTurn(f, i, stop, step), turn, after);
  b.SetInsertPoint(turn);
  const DType type = e.program().type(counter).dtype;
  e.scalars().Write(counter, b.CreateSExtOrTrunc(i, f.TypeOf(type)), Truncated(facts, type));
  TARSIA_CHECK(e.EmitBlock(e.number() + 1, inst.end));
  const CurrentValues::Edge back = values.Leave(changed);
  CurrentValues::CloseLoop(phis, back);
  // The loop ends where the counter would overflow.
  if (overflows) {
    llvm::Value* sum = f.CallIntrinsic(llvm::Intrinsic::sadd_with_overflow, {bits}, {i, by});
    i->addIncoming(b.CreateExtractValue(sum, 0), back.from);
    f.SetUnrolled(b.CreateCondBr(b.CreateExtractValue(sum, 1), after, head), unrolled);
  } else {
    const bool rises = facts.lo >= 0 && step.facts.lo >= 0;
    i->addIncoming(b.CreateAdd(i, by, "", /*HasNUW=*/rises, /*HasNSW=*/true), back.from);
    f.SetUnrolled(b.CreateBr(head), unrolled);
  }
  b.SetInsertPoint(after);
  overflows ? values.Enter(changed, last, back) : values.Enter(changed, last);
  return OkStatus();
}

// i1, the same in all threads: whether it holds in each of them.
llvm::Value* InAllThreads(FunctionBuilder& f, llvm::Value* holds) {
  llvm::Value* all = f.CallIntrinsic(llvm::Intrinsic::nvvm_barrier0_and, {},
                                     {f.b().CreateZExt(holds, f.I(32))}, true);
  return f.b().CreateICmpNE(all, f.Int32(0));
}

}  // namespace

LOWER(BlockX) { return SetIndex(e, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x); }
LOWER(BlockY) { return SetIndex(e, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y); }
LOWER(BlockZ) { return SetIndex(e, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z); }
LOWER(GridX) { return SetIndex(e, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x); }
LOWER(GridY) { return SetIndex(e, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y); }
LOWER(GridZ) { return SetIndex(e, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z); }

// A lone scalar may change its integer type; it keeps its low bits, as expressions do.
LOWER(Mov) {
  const Operand& source = e.inst().operand[0];
  const uint32_t result = e.inst().results[0];
  if (IsRegisterTile(e.program().type(result))) {
    e.SetResult(0, e.TileOperand(0));
    return OkStatus();
  }
  const DType type = e.inst().type;
  llvm::Value* element = e.ScalarOperand(0);
  Facts facts;
  if (source.IsExpr()) {
    const ScalarValue value = e.scalars().Evaluate(source.expr);
    if (value.kind == ScalarKind::kInt && e.program().pool().UsesValues(source.expr)) {
      facts = Truncated(value.facts, type);
    } else if (value.kind == ScalarKind::kInt && type.IsInteger()) {
      facts = Both(value.facts, Facts::OfType(type));
    }
  } else if (source.type != type) {
    CastOptions options;
    options.overflow = Overflow::kWrap;
    element = e.elements().Cast(element, source.type, type, options);
  } else if (type.IsInteger()) {
    facts = e.scalars().ReadIndex(source.value).facts;
  }
  e.scalars().Write(result, element, facts);
  return OkStatus();
}

LOWER(For) {
  FunctionBuilder& f = e.function();
  Scalars& scalars = e.scalars();
  const IndexValue start = scalars.Index(e.inst().operand[0].expr);
  const IndexValue stop = scalars.Index(e.inst().operand[1].expr);
  const Operand& step_operand = e.inst().operand[2];
  const IndexValue step =
      step_operand.present() ? scalars.Index(step_operand.expr) : e.index().Constant(1);
  if (step.facts.lo <= 0 && step.facts.hi >= 0) {
    llvm::Value* moves = f.b().CreateICmpNE(step.value, f.Int64(0));
    TARSIA_CHECK(e.reports().FailUnless(moves, e.NewRecord(ReportRecord::Kind::kStepIsZero)));
  }
  return EmitTurns(e, start, stop, step);
}

LOWER(While) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  CurrentValues& values = e.values();
  const Inst& inst = *e.inst().inst;
  const std::vector<uint32_t> changed = values.Changed(e.number() + 1, inst.end);
  llvm::BasicBlock* head = f.NewBlock("while");
  llvm::BasicBlock* turn = f.NewBlock("turn");
  llvm::BasicBlock* after = f.NewBlock("done");
  const CurrentValues::Edge before = values.Leave(changed);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  const std::vector<llvm::PHINode*> phis = values.OpenLoop(changed, before);
  llvm::Value* goes_on = e.scalars().Condition(e.inst().operand[0].expr);
  const CurrentValues::Edge last = values.Leave(changed);
  b.CreateCondBr(goes_on, turn, after);
  b.SetInsertPoint(turn);
  TARSIA_CHECK(e.EmitBlock(e.number() + 1, inst.end));
  CurrentValues::CloseLoop(phis, values.Leave(changed));
  b.CreateBr(head);
  b.SetInsertPoint(after);
  values.Enter(changed, last);
  return OkStatus();
}

LOWER(If) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  CurrentValues& values = e.values();
  const Inst& inst = *e.inst().inst;
  const size_t number = e.number();
  const std::vector<uint32_t> changed = values.Changed(number + 1, inst.end);
  llvm::BasicBlock* then = f.NewBlock("if");
  llvm::BasicBlock* otherwise = f.NewBlock("else");
  llvm::BasicBlock* after = f.NewBlock("fi");
  const CurrentValues::Edge before = values.Leave(changed);
  b.CreateCondBr(e.scalars().Condition(e.inst().operand[0].expr), then, otherwise);
  b.SetInsertPoint(then);
  TARSIA_CHECK(e.EmitBlock(number + 1, inst.else_begin));
  const CurrentValues::Edge one = values.Leave(changed);
  b.CreateBr(after);
  b.SetInsertPoint(otherwise);
  values.Enter(changed, before);
  TARSIA_CHECK(e.EmitBlock(inst.else_begin, inst.end));
  const CurrentValues::Edge other = values.Leave(changed);
  b.CreateBr(after);
  b.SetInsertPoint(after);
  values.Enter(changed, one, other);
  return OkStatus();
}

LOWER(Exit) {
  e.function().Return();
  return OkStatus();
}

LOWER(Assert) {
  FunctionBuilder& f = e.function();
  const Operand& condition = e.inst().operand[0];
  llvm::Value* holds = nullptr;
  if (condition.IsTile()) {
    const LayoutId layout = e.OperandLayout(0);
    const Slots slots = e.TileOperand(0);
    holds = f.Bool(true);
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      llvm::Value* one = slots[slot];
      if (llvm::Value* element = e.layouts().IsElement(layout, static_cast<int64_t>(slot))) {
        one = f.b().CreateSelect(element, one, f.Bool(true));
      }
      holds = f.b().CreateAnd(holds, one);
    }
    holds = InAllThreads(f, holds);
  } else {
    holds = e.ScalarOperand(0);
  }
  ReportRecord record = e.NewRecord(ReportRecord::Kind::kAssert);
  record.text = std::string(e.program().pool().Text(e.inst().operand[1].expr));
  return e.reports().FailUnless(holds, std::move(record));
}

LOWER(Print) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const Operand& value = e.inst().operand[1];
  ReportRecord record = e.NewRecord(ReportRecord::Kind::kPrint);
  record.text = std::string(e.program().pool().Text(e.inst().operand[0].expr));
  record.type = value.type;
  if (value.IsTile()) record.shape = e.program().type(value.value).shape;
  const uint64_t bytes = record.EntryBytes();
  TARSIA_TRY(const uint32_t number, e.reports().Add(std::move(record)));
  const int container = ContainerBytes(value.type);
  const Slots slots = e.TileOperand(1);
  llvm::Value* entry = e.reports().TakeEntry(number, bytes);
  llvm::Value* there = b.CreateICmpNE(entry, f.Int64(0));
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    llvm::Value* mine = b.CreateICmpEQ(f.Thread(), f.Int32(0));
    llvm::Value* at = f.Int32(0);
    if (value.IsTile()) {
      Layouts& layouts = e.layouts();
      const LayoutId layout = e.OperandLayout(1);
      const auto number_of_slot = static_cast<int64_t>(slot);
      mine = f.And(layouts.IsElement(layout, number_of_slot), layouts.IsFirstHolder(layout));
      at = layouts.LinearValue(layout, number_of_slot);
    }
    llvm::Value* offset = b.CreateMul(b.CreateZExt(at, f.I(64)), f.Int64(container));
    e.memory().StoreCode(Space::kGlobal, {b.CreateAdd(entry, offset), kEntryHeaderBytes}, container,
                         8, ToCode(b, slots[slot], value.type), f.And(there, mine));
  }
  return OkStatus();
}

}  // namespace tarsia::compiler
