// What kernels say to the host (compiler/report_buffer.h): lines of `print`, and why they stopped.
#include <algorithm>

#include "compiler/diagnostics.h"
#include "compiler/llvm/emitter.h"
#include "compiler/llvm/lower.h"

namespace tarsia::compiler {

// Whether some instruction may have something to say to the host.
bool Emitter::NeedsReport() const {
  const auto& code = program_.instructions();
  return std::any_of(code.begin(), code.end(), [&](const ResolvedInst& inst) {
    if (inst.row->Has(kReports)) return true;
    // A step may be zero; a slice may not begin on a whole byte; an extent may be negative.
    if (inst.opcode() == Opcode::kFor) {
      return inst.operand[2].present() && program_.pool().UsesValues(inst.operand[2].expr);
    }
    if (inst.opcode() == Opcode::kView && IsMemoryTile(program_.type(inst.operand[0].value))) {
      return true;
    }
    return inst.row->MakesView() && ChecksExtents(inst);
  });
}

bool Emitter::ChecksExtents(const ResolvedInst& inst) const {
  const ConcreteType& type = program_.type(inst.results[0]);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d] < 0 && !DependsOnParametersAlone(type.shape_exprs[d])) return true;
  }
  return false;
}

bool Emitter::DependsOnParametersAlone(ExprId expr) const {
  return program_.scalar(expr).UsesOnlyBelow(static_cast<uint32_t>(kernel().params.size()));
}

Result<uint32_t> Emitter::AddRecord(ReportRecord record) {
  if (info_.records.size() >> kRecordBits != 0) {
    return MakeDiagnostic(diag::kTooManyReports, InstLocation(), 1 << kRecordBits);
  }
  record.location = InstLocation();
  info_.records.push_back(std::move(record));
  return static_cast<uint32_t>(info_.records.size() - 1);
}

llvm::Value* Emitter::TakeEntry(uint32_t record, uint64_t bytes) {
  llvm::IRBuilder<>& b = builder_;
  llvm::AllocaInst* taken = Variable(I(64), "entry");
  b.CreateStore(Int64(0), taken);
  const auto update = [&](llvm::AtomicRMWInst::BinOp operation, int64_t offset, llvm::Value* by) {
    llvm::Value* field =
        b.CreateIntToPtr(b.CreateAdd(report_, Int64(offset)), llvm::PointerType::get(*context_, 1));
    return b.CreateAtomicRMW(operation, field, by, llvm::MaybeAlign(8),
                             llvm::AtomicOrdering::Monotonic);
  };
  llvm::Value* size = Int64(static_cast<int64_t>(bytes));
  llvm::Value* at = update(llvm::AtomicRMWInst::Add, 8, size);
  llvm::Value* room = LoadCode(Space::kGlobal, {report_, 16}, 8, 8, nullptr);
  llvm::Value* fits = b.CreateICmpULE(b.CreateAdd(at, size), room);
  If(b.CreateNot(fits), [&] { update(llvm::AtomicRMWInst::UMin, 24, at); });
  If(fits, [&] {
    llvm::Value* entry = b.CreateAdd(report_, b.CreateAdd(at, Int64(sizeof(ReportHeader))));
    StoreCode(Space::kGlobal, {entry, 0}, 8, 8, Int64(record), nullptr);
    StoreCode(Space::kGlobal, {entry, 8}, 8, 8, LinearBlock(), nullptr);
    b.CreateStore(entry, taken);
  });
  return b.CreateLoad(I(64), taken);
}

Status Emitter::FailUnless(llvm::Value* holds, ReportRecord record, llvm::Value* detail) {
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(holds);
  if (known != nullptr && known->isOne()) return OkStatus();
  const uint64_t bytes = record.EntryBytes();
  TARSIA_TRY(const uint32_t number, AddRecord(std::move(record)));
  llvm::BasicBlock* fail = NewBlock("fail");
  llvm::BasicBlock* go_on = NewBlock("holds");
  builder_.CreateCondBr(holds, go_on, fail);
  builder_.SetInsertPoint(fail);
  If(builder_.CreateICmpEQ(thread_, Int32(0)), [&] {
    if (detail != nullptr) {
      llvm::Value* entry = TakeEntry(number, bytes);
      StoreCode(Space::kGlobal, {entry, kEntryHeaderBytes}, 8, 8, detail,
                builder_.CreateICmpNE(entry, Int64(0)));
    }
    llvm::Value* key =
        builder_.CreateOr(builder_.CreateShl(LinearBlock(), kRecordBits), Int64(number));
    llvm::Value* pointer = builder_.CreateIntToPtr(report_, llvm::PointerType::get(*context_, 1));
    builder_.CreateAtomicRMW(llvm::AtomicRMWInst::UMin, pointer, key, llvm::MaybeAlign(8),
                             llvm::AtomicOrdering::Monotonic);
  });
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(go_on);
  return OkStatus();
}

}  // namespace tarsia::compiler
