#include "compiler/llvm/code/function_builder.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/llvm/backend.h"

namespace tarsia::compiler {

FunctionBuilder::FunctionBuilder(const Program& program, const CompiledKernel& entry,
                                 bool line_info, bool keep_names)
    : threads_(entry.threads),
      context_(std::make_unique<llvm::LLVMContext>()),
      module_(std::make_unique<llvm::Module>(std::string(program.name()), *context_)),
      builder_(*context_) {
  context_->setDiscardValueNames(!keep_names);
  SetTriple(*module_);
  if (program.kernel().fast) {
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    builder_.setFastMathFlags(flags);
  }
  MakeFunction(entry, program.registers());
  auto* const entry_block = llvm::BasicBlock::Create(*context_, "entry", function_);
  auto* const body = llvm::BasicBlock::Create(*context_, "body", function_);
  builder_.SetInsertPoint(entry_block);
  if (line_info) MakeDebugInfo(program, entry.name);
  thread_ = ReadRegister(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  entry_end_ = builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
}

void FunctionBuilder::MakeFunction(const CompiledKernel& entry, std::optional<int64_t> registers) {
  std::vector<llvm::Type*> types;
  for (const KernelParameter& parameter : entry.parameters) {
    types.push_back(I(parameter.bytes * 8));
  }
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
  function_ =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry.name, module_.get());
  const auto annotate = [&](const char* what, int64_t value) {
    llvm::Metadata* parts[] = {
        llvm::ConstantAsMetadata::get(function_), llvm::MDString::get(*context_, what),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(I(32), static_cast<uint64_t>(value)))};
    module_->getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(*context_, parts));
  };
  annotate("kernel", 1);
  annotate("reqntidx", threads_);
  annotate("reqntidy", 1);
  annotate("reqntidz", 1);
  if (registers) annotate("maxnreg", *registers);
}

// ---- source lines --------------------------------------------------------------------------

void FunctionBuilder::MakeDebugInfo(const Program& program, const std::string& name) {
  const Location location = program.kernel().location;
  std::string source = program.source_name();
  std::ranges::replace(source, '"', '\'');  // ptxas knows no escape for it
  module_->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  debug_ = std::make_unique<llvm::DIBuilder>(*module_);
  llvm::DIFile* file = debug_->createFile(source.empty() ? "kernel.tsa" : source, "");
  debug_->createCompileUnit(llvm::dwarf::DW_LANG_C, file, "tarsia", true, "", 0, "",
                            llvm::DICompileUnit::DebugDirectivesOnly);
  llvm::DISubroutineType* type = debug_->createSubroutineType(debug_->getOrCreateTypeArray({}));
  subprogram_ =
      debug_->createFunction(file, name, name, file, location.line, type, location.line,
                             llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function_->setSubprogram(subprogram_);
  SetLine(location);
}

void FunctionBuilder::SetLine(Location location) {
  if (subprogram_ == nullptr) return;
  builder_.SetCurrentDebugLocation(
      llvm::DILocation::get(*context_, location.line, location.column, subprogram_));
}

void FunctionBuilder::Finish() {
  builder_.CreateRetVoid();
  if (debug_) debug_->finalize();
}

// ---- blocks ------------------------------------------------------------------------------------

llvm::BasicBlock* FunctionBuilder::NewBlock(const llvm::Twine& name) {
  return llvm::BasicBlock::Create(*context_, name, function_);
}

void FunctionBuilder::If(llvm::Value* condition, const std::function<void()>& body) {
  If(condition, {}, [&] {
    body();
    return Slots();
  });
}

Slots FunctionBuilder::If(llvm::Value* condition, const Slots& otherwise,
                          const std::function<Slots()>& body) {
  if (condition == nullptr) return body();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* then = NewBlock("then");
  llvm::BasicBlock* after = NewBlock("after");
  builder_.CreateCondBr(condition, then, after);
  builder_.SetInsertPoint(then);
  const Slots given = body();
  llvm::BasicBlock* end = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  Slots out;
  for (size_t i = 0; i < given.size(); ++i) {
    llvm::PHINode* phi = builder_.CreatePHI(given[i]->getType(), 2);
    phi->addIncoming(otherwise[i], before);
    phi->addIncoming(given[i], end);
    out.push_back(phi);
  }
  return out;
}

Slots FunctionBuilder::Loop(llvm::Value* count, const Slots& first,
                            const std::function<Slots(llvm::Value*, const Slots&)>& body) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* head = NewBlock("head");
  llvm::BasicBlock* turn = NewBlock("turn");
  llvm::BasicBlock* after = NewBlock("after");
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  llvm::PHINode* i = builder_.CreatePHI(I(32), 2, "turn");
  i->addIncoming(Int32(0), before);
  Slots values;
  for (llvm::Value* value : first) {
    llvm::PHINode* phi = builder_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    values.push_back(phi);
  }
  builder_.CreateCondBr(builder_.CreateICmpULT(i, count), turn, after);
  builder_.SetInsertPoint(turn);
  const Slots next = body(i, values);
  llvm::BasicBlock* end = builder_.GetInsertBlock();
  i->addIncoming(builder_.CreateAdd(i, Int32(1)), end);
  for (size_t v = 0; v < values.size(); ++v) {
    llvm::cast<llvm::PHINode>(values[v])->addIncoming(next[v], end);
  }
  builder_.CreateBr(head);
  builder_.SetInsertPoint(after);
  return values;
}

void FunctionBuilder::SetUnrolled(llvm::BranchInst* back, int64_t turns) {
  if (turns <= 0) return;
  std::vector<llvm::Metadata*> parts;
  if (turns == 1) {
    parts.push_back(llvm::MDString::get(*context_, "llvm.loop.unroll.disable"));
  } else {
    const auto count = static_cast<uint32_t>(std::min<int64_t>(turns, INT32_MAX));
    parts.push_back(llvm::MDString::get(*context_, "llvm.loop.unroll.count"));
    parts.push_back(llvm::ConstantAsMetadata::get(builder_.getInt32(count)));
  }
  llvm::Metadata* operands[] = {nullptr, llvm::MDNode::get(*context_, parts)};
  llvm::MDNode* loop = llvm::MDNode::getDistinct(*context_, operands);
  loop->replaceOperandWith(0, loop);  // by which LLVM knows it
  back->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

void FunctionBuilder::Return() {
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(NewBlock("unreached"));
}

// ---- instructions ----------------------------------------------------------------------------

llvm::Value* FunctionBuilder::And(llvm::Value* a, llvm::Value* c) {
  if (a == nullptr) return c;
  return c == nullptr ? a : builder_.CreateAnd(a, c);
}

llvm::Value* FunctionBuilder::Plus(llvm::Value* x, int64_t constant) {
  if (constant == 0) return x;
  auto* const c = llvm::ConstantInt::get(x->getType(), static_cast<uint64_t>(constant), true);
  return builder_.CreateAdd(x, c);
}

llvm::Value* FunctionBuilder::Times(llvm::Value* x, int64_t constant) {
  if (constant == 1) return x;
  auto* const c = llvm::ConstantInt::get(x->getType(), static_cast<uint64_t>(constant), true);
  return constant == 0 ? c : builder_.CreateMul(x, c);
}

llvm::Value* FunctionBuilder::CallIntrinsic(unsigned id, llvm::ArrayRef<llvm::Type*> types,
                                            llvm::ArrayRef<llvm::Value*> arguments,
                                            bool convergent) {
  llvm::Function* f = llvm::Intrinsic::getDeclaration(module_.get(), id, types);
  llvm::CallInst* call = builder_.CreateCall(f, arguments);
  if (convergent) call->setConvergent();
  return call;
}

llvm::Value* FunctionBuilder::ReadRegister(unsigned id) {
  // Values are at least `from` and below `to`: the block has as many threads as the kernel is made
  // for, and CUDA limits the grid (CUDA C++ programming guide, compute capabilities).
  const struct {
    unsigned id;
    uint32_t from;
    uint32_t to;
  } ranges[] = {
      {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, 0, static_cast<uint32_t>(threads_)},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, 0, 0x7fffffff},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, 0, 0xffff},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, 0, 0xffff},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, 1, 0x80000000},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y, 1, 0x10000},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z, 1, 0x10000},
  };
  auto* const read = llvm::cast<llvm::CallInst>(CallIntrinsic(id, {}, {}));
  for (const auto& range : ranges) {
    if (range.id != id) continue;
    read->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDBuilder(*context_).createRange(llvm::APInt(32, range.from),
                                                             llvm::APInt(32, range.to)));
  }
  return read;
}

void FunctionBuilder::Order(const std::string& text, bool convergent) {
  auto* const type = llvm::FunctionType::get(builder_.getVoidTy(), {}, /*isVarArg=*/false);
  llvm::CallInst* const call = builder_.CreateCall(
      type, llvm::InlineAsm::get(type, text, "~{memory}", /*hasSideEffects=*/true), {});
  call->setDoesNotThrow();
  if (convergent) call->setConvergent();
}

void FunctionBuilder::Barrier() { Order("bar.sync 0;", /*convergent=*/true); }

llvm::Value* FunctionBuilder::LinearBlock() {
  const auto read = [&](unsigned id) { return builder_.CreateZExt(ReadRegister(id), I(64)); };
  llvm::Value* x = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value* y = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y);
  llvm::Value* z = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z);
  llvm::Value* nx = read(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  llvm::Value* ny = read(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y);
  llvm::Value* rows = builder_.CreateAdd(y, builder_.CreateMul(ny, z));
  return builder_.CreateAdd(x, builder_.CreateMul(nx, rows));
}

}  // namespace tarsia::compiler
