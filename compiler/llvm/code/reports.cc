#include "compiler/llvm/code/reports.h"

#include <utility>

#include "compiler/diagnostics.h"

namespace tarsia::compiler {

Result<uint32_t> Reports::Add(ReportRecord record) {
  if (records_.size() >> kRecordBits != 0) {
    return MakeDiagnostic(diag::kTooManyReports, record.location, 1 << kRecordBits);
  }
  records_.push_back(std::move(record));
  return static_cast<uint32_t>(records_.size() - 1);
}

// One thread takes room for an entry: its address (i64), 0 where there is no room.
llvm::Value* Reports::TakeRoom(uint32_t record, uint64_t bytes) {
  llvm::Value* buffer = arguments_.ReportBuffer();
  const auto update = [&](llvm::AtomicRMWInst::BinOp operation, int64_t offset, llvm::Value* by) {
    llvm::Value* field = memory_.Pointer(Space::kGlobal, b_.CreateAdd(buffer, f_.Int64(offset)));
    return b_.CreateAtomicRMW(operation, field, by, llvm::MaybeAlign(8),
                              llvm::AtomicOrdering::Monotonic);
  };
  llvm::Value* size = f_.Int64(static_cast<int64_t>(bytes));
  llvm::Value* at = update(llvm::AtomicRMWInst::Add, 8, size);
  llvm::Value* room = memory_.LoadCode(Space::kGlobal, {buffer, 16}, 8, 8, nullptr);
  llvm::Value* fits = b_.CreateICmpULE(b_.CreateAdd(at, size), room);
  f_.If(b_.CreateNot(fits), [&] { update(llvm::AtomicRMWInst::UMin, 24, at); });
  const Slots taken = f_.If(fits, {f_.Int64(0)}, [&] {
    llvm::Value* entry = b_.CreateAdd(buffer, b_.CreateAdd(at, f_.Int64(sizeof(ReportHeader))));
    memory_.StoreCode(Space::kGlobal, {entry, 0}, 8, 8, f_.Int64(record), nullptr);
    memory_.StoreCode(Space::kGlobal, {entry, 8}, 8, 8, f_.LinearBlock(), nullptr);
    return Slots{entry};
  });
  return taken[0];
}

llvm::Value* Reports::TakeEntry(uint32_t record, uint64_t bytes) {
  const Slots taken = f_.If(b_.CreateICmpEQ(f_.Thread(), f_.Int32(0)), {f_.Int64(0)},
                            [&] { return Slots{TakeRoom(record, bytes)}; });
  return exchange_.FromThreadZero(taken[0]);
}

Status Reports::FailUnless(llvm::Value* holds, ReportRecord record, llvm::Value* detail) {
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(holds);
  if (known != nullptr && known->isOne()) return OkStatus();
  const uint64_t bytes = record.EntryBytes();
  TARSIA_TRY(const uint32_t number, Add(std::move(record)));
  llvm::BasicBlock* fail = f_.NewBlock("fail");
  llvm::BasicBlock* go_on = f_.NewBlock("holds");
  b_.CreateCondBr(holds, go_on, fail);
  b_.SetInsertPoint(fail);
  f_.If(b_.CreateICmpEQ(f_.Thread(), f_.Int32(0)), [&] {
    if (detail != nullptr) {
      llvm::Value* entry = TakeRoom(number, bytes);
      memory_.StoreCode(Space::kGlobal, {entry, kEntryHeaderBytes}, 8, 8, detail,
                        b_.CreateICmpNE(entry, f_.Int64(0)));
    }
    llvm::Value* key = b_.CreateOr(b_.CreateShl(f_.LinearBlock(), kRecordBits), f_.Int64(number));
    llvm::Value* failure = memory_.Pointer(Space::kGlobal, arguments_.ReportBuffer());
    b_.CreateAtomicRMW(llvm::AtomicRMWInst::UMin, failure, key, llvm::MaybeAlign(8),
                       llvm::AtomicOrdering::Monotonic);
  });
  b_.CreateRetVoid();
  b_.SetInsertPoint(go_on);
  return OkStatus();
}

}  // namespace tarsia::compiler
