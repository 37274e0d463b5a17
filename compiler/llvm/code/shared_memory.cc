#include "compiler/llvm/code/shared_memory.h"

#include <algorithm>

namespace tarsia::compiler {
namespace {

constexpr char kSharedName[] = "tarsia_shared";

}  // namespace

llvm::Value* SharedMemory::Base() {
  if (base_ != nullptr) return base_;
  auto* array = new llvm::GlobalVariable(f_.module(), llvm::ArrayType::get(f_.I(8), 0), false,
                                         llvm::GlobalValue::ExternalLinkage, nullptr, kSharedName,
                                         nullptr, llvm::GlobalValue::NotThreadLocal, 3);
  array->setAlignment(llvm::Align(kSharedAlignment));
  const FunctionBuilder::EntryScope scope(f_);
  base_ = f_.b().CreateTrunc(f_.b().CreatePtrToInt(array, f_.I(64)), f_.I(32));
  return base_;
}

llvm::Value* SharedMemory::Scratch() {
  if (scratch_ != nullptr) return scratch_;
  llvm::Value* base = Base();
  const FunctionBuilder::EntryScope scope(f_);
  scratch_ = f_.b().CreateAdd(base, f_.Int32(static_cast<int64_t>(plan_.tile_bytes)));
  return scratch_;
}

// Where the target has too little room, TotalShared refuses the kernel in the end.
uint64_t SharedMemory::ScratchRoom(uint64_t wanted) const {
  return std::min(wanted, std::max(plan_.scratch_room, kLeastScratch));
}

void SharedMemory::TakeScratch(uint64_t bytes) { scratch_bytes_ = std::max(scratch_bytes_, bytes); }

}  // namespace tarsia::compiler
