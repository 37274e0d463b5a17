// The sync family.
#include "compiler/llvm/lower/lower.h"

namespace tarsia::compiler {
namespace {

// A semaphore in global memory, for the one thread that accesses it.
struct Semaphore {
  Address address;
  llvm::Value* mask = nullptr;   // i1, or null: this thread, and the element exists
  llvm::Value* value = nullptr;  // the operand, of the element's bits
};

Result<Semaphore> SemaphoreOf(Emitter& e) {
  TARSIA_TRY(const LayoutId unit, e.LayoutOfOne(0));
  AccessEmitter access = e.Access(e.OperandWindow(0, unit));
  const DType type = e.memory_tiles()[e.inst().operand[0].value].type;
  llvm::Value* value = e.scalars().Index(e.inst().operand[1].expr).value;
  llvm::IRBuilder<>& b = e.function().b();
  return Semaphore{access.ByteAddress(0), access.addresses().StoreMask(0),
                   b.CreateTrunc(value, b.getIntNTy(static_cast<unsigned>(type.bits)))};
}

void ControlGrids(Emitter& e, const char* text) {
  if (Row(e.target()).capability >= 90) e.function().Order(text);
}

}  // namespace

// A barrier of the block: after it, all threads see what was written before it to shared and global
// memory.
LOWER(Sync) {
  e.function().Barrier();
  return OkStatus();
}

// What one thread acquires, the barrier passes on to all.
LOWER(SemaphoreLock) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  TARSIA_TRY(const Semaphore semaphore, SemaphoreOf(e));
  f.If(semaphore.mask, [&] {
    llvm::BasicBlock* again = f.NewBlock("locked");
    llvm::BasicBlock* done = f.NewBlock("released");
    b.CreateBr(again);
    b.SetInsertPoint(again);
    llvm::Value* found = e.memory().LoadAcquire(semaphore.address, semaphore.value->getType());
    b.CreateCondBr(b.CreateICmpEQ(found, semaphore.value), done, again);
    b.SetInsertPoint(done);
  });
  f.Barrier();
  return OkStatus();
}

LOWER(SemaphoreRelease) {
  TARSIA_TRY(const Semaphore semaphore, SemaphoreOf(e));
  e.function().Barrier();
  e.memory().AddRelease(semaphore.address, semaphore.value, semaphore.mask);
  return OkStatus();
}

LOWER(GriddepWait) {
  ControlGrids(e, "griddepcontrol.wait;");
  return OkStatus();
}

LOWER(GriddepLaunch) {
  ControlGrids(e, "griddepcontrol.launch_dependents;");
  return OkStatus();
}

}  // namespace tarsia::compiler
