// The control family.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/llvm/lower.h"

namespace tarsia::compiler {
namespace {

Status SetIndex(Emitter& e, unsigned intrinsic) {
  e.WriteScalar(e.inst().results[0], e.ReadRegister(intrinsic), Facts::Between(0, INT32_MAX));
  return OkStatus();
}

// The turns of a `for`: the counter in 64 bits beside the scalar that the program sees.
Status EmitTurns(Emitter& e, const IndexValue& start, const IndexValue& stop,
                 const IndexValue& step) {
  llvm::IRBuilder<>& b = e.b();
  const uint32_t counter = e.inst().results[0];
  const Inst& inst = *e.inst().inst;
  llvm::AllocaInst* variable = e.Variable(e.I(64), "counter");
  llvm::BasicBlock* head = e.NewBlock("for");
  llvm::BasicBlock* turn = e.NewBlock("turn");
  llvm::BasicBlock* next = e.NewBlock("next");
  llvm::BasicBlock* after = e.NewBlock("done");
  b.CreateStore(start.value, variable);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::Value* i = b.CreateLoad(e.I(64), variable);
  llvm::Value* up = b.CreateICmpSLT(i, stop.value);
  llvm::Value* down = b.CreateICmpSGT(i, stop.value);
  llvm::Value* turns = step.facts.lo > 0 ? up
                       : step.facts.hi < 0
                           ? down
                           : b.CreateSelect(b.CreateICmpSGT(step.value, e.Int64(0)), up, down);
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
  e.WriteScalar(counter, b.CreateTrunc(i, e.TypeOf(type)), Truncated(facts, type));
  TARSIA_CHECK(e.EmitBody(e.inst_number() + 1, inst.end));
  b.CreateBr(next);
  b.SetInsertPoint(next);
  // Beyond 64 bits there is no further turn.
  if ((facts + step.facts) == Facts() &&
      !(step.facts.lo > 0 && stop.facts.hi < INT64_MAX / 2 && step.facts.hi < INT64_MAX / 2)) {
    llvm::Value* sum =
        e.CallIntrinsic(llvm::Intrinsic::sadd_with_overflow, {e.I(64)}, {i, step.value});
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
llvm::Value* InAllThreads(Emitter& e, llvm::Value* holds) {
  llvm::Value* all = e.CallIntrinsic(llvm::Intrinsic::nvvm_barrier0_and, {},
                                     {e.b().CreateZExt(holds, e.I(32))}, true);
  return e.b().CreateICmpNE(all, e.Int32(0));
}

// Thread 0 takes room for an entry; all threads learn its address (i64), 0 where there is none.
llvm::Value* TakeEntry(Emitter& e, uint32_t record, uint64_t bytes) {
  llvm::IRBuilder<>& b = e.b();
  llvm::AllocaInst* taken = e.Variable(e.I(64), "entry");
  b.CreateStore(e.Int64(0), taken);
  e.If(b.CreateICmpEQ(e.Thread(), e.Int32(0)),
       [&] { b.CreateStore(e.TakeEntry(record, bytes), taken); });
  return e.FromThreadZero(b.CreateLoad(e.I(64), taken));
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
    const ScalarValue value = e.Evaluate(source.expr);
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
    facts = e.ReadIndex(source.value).facts;
  }
  e.WriteScalar(result, element, facts);
  return OkStatus();
}

LOWER(For) {
  const IndexValue start = e.Index(e.inst().operand[0].expr);
  const IndexValue stop = e.Index(e.inst().operand[1].expr);
  const Operand& step_operand = e.inst().operand[2];
  const IndexValue step = step_operand.present() ? e.Index(step_operand.expr) : e.ConstantIndex(1);
  if (step.facts.lo <= 0 && step.facts.hi >= 0) {
    ReportRecord record;
    record.kind = ReportRecord::Kind::kStepIsZero;
    TARSIA_CHECK(e.FailUnless(e.b().CreateICmpNE(step.value, e.Int64(0)), std::move(record)));
  }
  return EmitTurns(e, start, stop, step);
}

LOWER(While) {
  llvm::IRBuilder<>& b = e.b();
  const Inst& inst = *e.inst().inst;
  llvm::BasicBlock* head = e.NewBlock("while");
  llvm::BasicBlock* turn = e.NewBlock("turn");
  llvm::BasicBlock* after = e.NewBlock("done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  b.CreateCondBr(e.Condition(e.inst().operand[0].expr), turn, after);
  b.SetInsertPoint(turn);
  TARSIA_CHECK(e.EmitBody(e.inst_number() + 1, inst.end));
  b.CreateBr(head);
  b.SetInsertPoint(after);
  return OkStatus();
}

LOWER(If) {
  llvm::IRBuilder<>& b = e.b();
  const Inst& inst = *e.inst().inst;
  const size_t number = e.inst_number();
  llvm::BasicBlock* then = e.NewBlock("if");
  llvm::BasicBlock* otherwise = e.NewBlock("else");
  llvm::BasicBlock* after = e.NewBlock("fi");
  b.CreateCondBr(e.Condition(e.inst().operand[0].expr), then, otherwise);
  b.SetInsertPoint(then);
  TARSIA_CHECK(e.EmitBody(number + 1, inst.else_begin));
  b.CreateBr(after);
  b.SetInsertPoint(otherwise);
  TARSIA_CHECK(e.EmitBody(inst.else_begin, inst.end));
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return OkStatus();
}

LOWER(Exit) {
  e.ReturnHere();
  return OkStatus();
}

LOWER(Assert) {
  const Operand& condition = e.inst().operand[0];
  llvm::Value* holds = nullptr;
  if (condition.IsTile()) {
    const LayoutId layout = e.inst_layouts().operand[0];
    const Slots slots = e.TileOperand(0);
    holds = e.Bool(true);
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      llvm::Value* one = slots[slot];
      if (llvm::Value* element = e.IsElement(layout, static_cast<int64_t>(slot))) {
        one = e.b().CreateSelect(element, one, e.Bool(true));
      }
      holds = e.b().CreateAnd(holds, one);
    }
    holds = InAllThreads(e, holds);
  } else {
    holds = e.ScalarOperand(0);
  }
  ReportRecord record;
  record.kind = ReportRecord::Kind::kAssert;
  record.text = std::string(e.program().pool().Text(e.inst().operand[1].expr));
  return e.FailUnless(holds, std::move(record));
}

LOWER(Print) {
  const Operand& value = e.inst().operand[1];
  ReportRecord record;
  record.kind = ReportRecord::Kind::kPrint;
  record.text = std::string(e.program().pool().Text(e.inst().operand[0].expr));
  record.type = value.type;
  if (value.IsTile()) record.shape = e.program().type(value.value).shape;
  const uint64_t bytes = record.EntryBytes();
  TARSIA_TRY(const uint32_t number, e.AddRecord(std::move(record)));
  const int container = ContainerBytes(value.type);
  const Slots slots = e.TileOperand(1);
  llvm::IRBuilder<>& b = e.b();
  llvm::Value* entry = TakeEntry(e, number, bytes);
  llvm::Value* there = b.CreateICmpNE(entry, e.Int64(0));
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    llvm::Value* mine = b.CreateICmpEQ(e.Thread(), e.Int32(0));
    llvm::Value* at = e.Int32(0);
    if (value.IsTile()) {
      const LayoutId layout = e.inst_layouts().operand[1];
      mine = e.And(e.IsElement(layout, static_cast<int64_t>(slot)), e.IsFirstHolder(layout));
      at = e.LinearIndex(layout, static_cast<int64_t>(slot));
    }
    llvm::Value* offset = b.CreateMul(b.CreateZExt(at, e.I(64)), e.Int64(container));
    e.StoreCode(Space::kGlobal, {b.CreateAdd(entry, offset), kEntryHeaderBytes}, container, 8,
                ToCode(b, slots[slot], value.type), e.And(there, mine));
  }
  return OkStatus();
}

}  // namespace tarsia::compiler
