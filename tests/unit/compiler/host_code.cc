#include "tests/unit/compiler/host_code.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <cstring>
#include <utility>

#include "dtypes/convert.h"

namespace tarsia::compiler {
namespace {

std::string Text(llvm::Error error) { return llvm::toString(std::move(error)); }

// Half numbers are passed in a vector register, as in the ABI of _Float16, also bf16.
_Float16 HalfOf(DType type, double value) {
  const auto code = static_cast<uint16_t>(EncodeFromDouble(type, value));
  _Float16 half;
  std::memcpy(&half, &code, 2);
  return half;
}

}  // namespace

// The functions that baseline code calls for conversions. f16 always needs them; the code itself
// truncates f32 to bf16.
extern "C" {
float TarsiaTestHalfToFloat(_Float16 half) {
  uint16_t code = 0;
  std::memcpy(&code, &half, 2);
  return static_cast<float>(DecodeToDouble(kF16, code));
}
_Float16 TarsiaTestFloatToHalf(float value) { return HalfOf(kF16, static_cast<double>(value)); }
_Float16 TarsiaTestDoubleToHalf(double value) { return HalfOf(kF16, value); }
_Float16 TarsiaTestFloatToBfloat(float value) { return HalfOf(kBF16, static_cast<double>(value)); }
_Float16 TarsiaTestDoubleToBfloat(double value) { return HalfOf(kBF16, value); }
}

namespace {

// Code for any processor of this architecture, so that results are the same on each of them:
// extensions may differ, such as the conversions to bf16 of AVX-512, which return zeros for
// subnormal numbers.
llvm::orc::JITTargetMachineBuilder Baseline() {
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(llvm::sys::getProcessTriple())};
  builder.setCPU(builder.getTargetTriple().isX86() ? "x86-64" : "generic");
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  return builder;
}

}  // namespace

uint64_t Codes::operator[](size_t i) const {
  uint64_t code = 0;
  std::memcpy(&code, data_.data() + i * bytes_, bytes_);
  return code;
}

void Codes::Set(size_t i, uint64_t code) { std::memcpy(data_.data() + i * bytes_, &code, bytes_); }

namespace {

llvm::Value* LoadElement(llvm::IRBuilderBase& b, llvm::Value* array, llvm::Value* index,
                         DType type) {
  llvm::IntegerType* code = CodeType(b.getContext(), type);
  return FromCode(b, b.CreateLoad(code, b.CreateGEP(code, array, index)), type);
}

void StoreElement(llvm::IRBuilderBase& b, llvm::Value* array, llvm::Value* index, DType type,
                  llvm::Value* element) {
  llvm::IntegerType* code = CodeType(b.getContext(), type);
  b.CreateStore(ToCode(b, element, type), b.CreateGEP(code, array, index));
}

void EmitElement(llvm::IRBuilderBase& b, llvm::Function* function, const Operation& operation,
                 Target target, llvm::Value* index) {
  std::vector<llvm::Value*> elements;
  for (size_t i = 0; i < operation.operands.size(); ++i) {
    elements.push_back(
        LoadElement(b, function->getArg(static_cast<unsigned>(i)), index, operation.operands[i]));
  }
  ElementEmitter emitter(b, target);
  llvm::Value* result = operation.emit(emitter, elements);
  StoreElement(b, function->getArg(3), index, operation.result, result);
}

llvm::Function* NewFunction(llvm::Module& module, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* count = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, pointer, pointer, pointer, count}, false);
  return llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
}

}  // namespace

void AddLoop(llvm::Module& module, const Operation& operation, Target target) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Function* function = NewFunction(module, operation.name);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "loop", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  llvm::IRBuilder<> b(entry);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2);
  EmitElement(b, function, operation, target, index);
  llvm::Value* next = b.CreateAdd(index, b.getInt64(1));
  index->addIncoming(b.getInt64(0), entry);
  index->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpULT(next, function->getArg(4)), loop, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

void AddKernel(llvm::Module& module, const Operation& operation, Target target) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Function* function = NewFunction(module, operation.name);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* body = llvm::BasicBlock::Create(context, "body", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  llvm::IRBuilder<> b(entry);
  const auto special = [&](llvm::Intrinsic::ID id) {
    return b.CreateZExt(b.CreateIntrinsic(b.getInt32Ty(), id, {}), b.getInt64Ty());
  };
  llvm::Value* block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value* size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::Value* thread = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  llvm::Value* index = b.CreateAdd(b.CreateMul(block, size), thread);
  b.CreateCondBr(b.CreateICmpULT(index, function->getArg(4)), body, done);
  b.SetInsertPoint(body);
  EmitElement(b, function, operation, target, index);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  auto* one = llvm::ConstantAsMetadata::get(b.getInt32(1));
  module.getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(function),
                                               llvm::MDString::get(context, "kernel"), one}));
}

HostCode::HostCode(const std::vector<Operation>& operations) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("host", *context);
  for (const Operation& operation : operations) AddLoop(*module, operation, Target::kSm80);
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(Baseline()).create();
  if (!jit) {
    error_ = Text(jit.takeError());
    return;
  }
  jit_ = std::move(*jit);
  llvm::orc::SymbolMap symbols;
  const auto define = [&](const char* name, auto* function) {
    symbols[jit_->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                            llvm::JITSymbolFlags::Exported};
  };
  define("__extendhfsf2", &TarsiaTestHalfToFloat);
  define("__truncsfhf2", &TarsiaTestFloatToHalf);
  define("__truncdfhf2", &TarsiaTestDoubleToHalf);
  define("__truncsfbf2", &TarsiaTestFloatToBfloat);
  define("__truncdfbf2", &TarsiaTestDoubleToBfloat);
  llvm::cantFail(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  if (auto error =
          jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context)))) {
    error_ = Text(std::move(error));
  }
}

HostCode::~HostCode() = default;

void HostCode::Run(const Operation& operation, const std::vector<const Codes*>& operands,
                   Codes& result) {
  auto address = jit_->lookup(operation.name);
  if (!address) {
    error_ = Text(address.takeError());
    return;
  }
  auto* function =
      address->toPtr<void (*)(const void*, const void*, const void*, void*, uint64_t)>();
  const void* arrays[3] = {};
  for (size_t i = 0; i < operands.size(); ++i) arrays[i] = operands[i]->data();
  function(arrays[0], arrays[1], arrays[2], result.data(), operands[0]->size());
}

}  // namespace tarsia::compiler
