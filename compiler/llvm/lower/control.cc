// The control family.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/llvm/lower/lower.h"

namespace tarsia::compiler {
namespace {

Status SetIndex(Emitter& e, unsigned intrinsic) {
  e.scalars().Write(e.inst().results[0], e.function().ReadRegister(intrinsic),
                    Facts::Between(0, INT32_MAX));
  return OkStatus();
}

// The iterations of a `for`. The counter has 64 bits; the program sees it as a scalar of its own
// type.
Status EmitTurns(Emitter& e, const IndexValue& start, const IndexValue& stop,
                 const IndexValue& step) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const uint32_t counter = e.inst().results[0];
  const Inst& inst = *e.inst().inst;
  llvm::AllocaInst* variable = f.Variable(f.I(64), "counter");
  llvm::BasicBlock* head = f.NewBlock("for");
  llvm::BasicBlock* turn = f.NewBlock("turn");
  llvm::BasicBlock* next = f.NewBlock("next");
  llvm::BasicBlock* after = f.NewBlock("done");
  b.CreateStore(start.value, variable);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::Value* i = b.CreateLoad(f.I(64), variable);
  llvm::Value* up = b.CreateICmpSLT(i, stop.value);
  llvm::Value* down = b.CreateICmpSGT(i, stop.value);
  llvm::Value* turns = step.facts.lo > 0 ? up
                       : step.facts.hi < 0
                           ? down
                           : b.CreateSelect(b.CreateICmpSGT(step.value, f.Int64(0)), up, down);
  b.CreateCondBr(turns, turn, after);
  b.SetInsertPoint(turn);
  Facts facts;
  facts.multiple = std::gcd(start.facts.multiple, step.facts.multiple);
  if (facts.multiple == 0) facts.multiple = 1;
  if (step.facts.lo > 0 && stop.facts.hi > INT64_MIN) {
    facts.lo = start.facts.lo;
    facts.hi = std::max(start.facts.lo, stop.facts.hi - 1);
  }
  const DType type = e.program().type(counter).dtype;
  e.scalars().Write(counter, b.CreateTrunc(i, f.TypeOf(type)), Truncated(facts, type));
  TARSIA_CHECK(e.EmitBlock(e.number() + 1, inst.end));
  b.CreateBr(next);
  b.SetInsertPoint(next);
  // The loop ends where the counter would overflow 64 bits.
  if ((facts + step.facts) == Facts() &&
      !(step.facts.lo > 0 && stop.facts.hi < INT64_MAX / 2 && step.facts.hi < INT64_MAX / 2)) {
    llvm::Value* sum =
        f.CallIntrinsic(llvm::Intrinsic::sadd_with_overflow, {f.I(64)}, {i, step.value});
    b.CreateStore(b.CreateExtractValue(sum, 0), variable);
    b.CreateCondBr(b.CreateExtractValue(sum, 1), after, head);
  } else {
    b.CreateStore(b.CreateAdd(i, step.value), variable);
    b.CreateBr(head);
  }
  b.SetInsertPoint(after);
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
  const Inst& inst = *e.inst().inst;
  llvm::BasicBlock* head = f.NewBlock("while");
  llvm::BasicBlock* turn = f.NewBlock("turn");
  llvm::BasicBlock* after = f.NewBlock("done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  b.CreateCondBr(e.scalars().Condition(e.inst().operand[0].expr), turn, after);
  b.SetInsertPoint(turn);
  TARSIA_CHECK(e.EmitBlock(e.number() + 1, inst.end));
  b.CreateBr(head);
  b.SetInsertPoint(after);
  return OkStatus();
}

LOWER(If) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const Inst& inst = *e.inst().inst;
  const size_t number = e.number();
  llvm::BasicBlock* then = f.NewBlock("if");
  llvm::BasicBlock* otherwise = f.NewBlock("else");
  llvm::BasicBlock* after = f.NewBlock("fi");
  b.CreateCondBr(e.scalars().Condition(e.inst().operand[0].expr), then, otherwise);
  b.SetInsertPoint(then);
  TARSIA_CHECK(e.EmitBlock(number + 1, inst.else_begin));
  b.CreateBr(after);
  b.SetInsertPoint(otherwise);
  TARSIA_CHECK(e.EmitBlock(inst.else_begin, inst.end));
  b.CreateBr(after);
  b.SetInsertPoint(after);
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
    const LayoutId layout = e.inst_layouts().operand[0];
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
      const LayoutId layout = e.inst_layouts().operand[1];
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
