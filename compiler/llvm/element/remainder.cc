#include "compiler/llvm/element/remainder.h"

#include <llvm/IR/Module.h>

#include <string>

#include "compiler/llvm/element/ir.h"
#include "dtypes/dtype.h"

namespace tarsia::compiler {
namespace {

// Builds the function: long division of significands, so many bits at a time as 64 have room for.
class RemainderFunction {
 public:
  RemainderFunction(llvm::Module& module, const std::string& name, DType type)
      : type_(type), context_(module.getContext()), builder_(context_), ir_(builder_) {
    llvm::Type* real = type == kF64 ? builder_.getDoubleTy() : builder_.getFloatTy();
    auto* signature = llvm::FunctionType::get(real, {real, real}, false);
    function_ = llvm::Function::Create(signature, llvm::Function::InternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->setMemoryEffects(llvm::MemoryEffects::none());
  }

  llvm::Function* Build() {
    llvm::BasicBlock* entry = Block("entry");
    llvm::BasicBlock* special = Block("special");
    llvm::BasicBlock* ordinary = Block("ordinary");
    builder_.SetInsertPoint(entry);
    a_ = function_->getArg(0);
    b_ = function_->getArg(1);
    Value* a = Magnitude(a_);
    Value* b = Magnitude(b_);
    // Where |a| < |b| (and neither is a NaN) a itself; NaN where there is no remainder.
    Value* no_number = builder_.CreateOr(ir_.Ugt(a, Infinity() - 1), ir_.Eq(b, 0));
    no_number = builder_.CreateOr(no_number, ir_.Ugt(b, Infinity()));
    Value* smaller = builder_.CreateICmpULT(a, b);
    builder_.CreateCondBr(builder_.CreateOr(no_number, smaller), special, ordinary);
    builder_.SetInsertPoint(special);
    Value* nan = llvm::ConstantFP::getNaN(a_->getType());
    builder_.CreateRet(ir_.Select(no_number, nan, a_));
    builder_.SetInsertPoint(ordinary);
    Divide(a, b);
    return function_;
  }

 private:
  llvm::BasicBlock* Block(const char* name) {
    return llvm::BasicBlock::Create(context_, name, function_);
  }
  [[nodiscard]] uint64_t Infinity() const { return MaxFiniteCode(type_) + 1; }
  [[nodiscard]] uint64_t Hidden() const { return uint64_t{1} << type_.mantissa; }

  // The bits without sign, in 64.
  Value* Magnitude(Value* x) { return ir_.And(ir_.Zext(ir_.Bits(x), 64), CodeMask(type_) >> 1); }

  // A magnitude is significand * 2^(field - 1) of the least steps, field from 1 on.
  Value* Field(Value* magnitude) { return ir_.Umax(ir_.Shr(magnitude, type_.mantissa), 1); }
  Value* Significand(Value* magnitude) {
    Value* fraction = ir_.And(magnitude, Hidden() - 1);
    return ir_.Select(ir_.Ult(magnitude, Hidden()), fraction, ir_.Or(fraction, Hidden()));
  }

  // rest = a's significand; as long as its exponent is above b's: rest = rest * 2^step mod b.
  void Divide(Value* a, Value* b) {
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* loop = Block("loop");
    llvm::BasicBlock* done = Block("done");
    Value* divisor = Significand(b);
    Value* first_rest = builder_.CreateURem(Significand(a), divisor);
    Value* first_distance = ir_.Sub(Field(a), Field(b));
    builder_.CreateCondBr(ir_.Eq(first_distance, 0), done, loop);

    builder_.SetInsertPoint(loop);
    llvm::PHINode* rest = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    llvm::PHINode* distance = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    Value* step = ir_.Umin(distance, 63u - type_.mantissa);
    Value* next_rest = builder_.CreateURem(builder_.CreateShl(rest, step), divisor);
    Value* next_distance = ir_.Sub(distance, step);
    rest->addIncoming(first_rest, before);
    rest->addIncoming(next_rest, loop);
    distance->addIncoming(first_distance, before);
    distance->addIncoming(next_distance, loop);
    builder_.CreateCondBr(ir_.Eq(next_distance, 0), done, loop);

    builder_.SetInsertPoint(done);
    llvm::PHINode* remainder = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    remainder->addIncoming(first_rest, before);
    remainder->addIncoming(next_rest, loop);
    Return(remainder, Field(b));
  }

  // remainder * 2^(field - 1) least steps, with a's sign: shifted up until the hidden bit is
  // there or the exponent is the least.
  void Return(Value* remainder, Value* field) {
    Value* zeros = builder_.CreateIntrinsic(llvm::Intrinsic::ctlz, {builder_.getInt64Ty()},
                                            {remainder, builder_.getFalse()});
    Value* shift = ir_.Sub(zeros, 63u - type_.mantissa);
    Value* room = ir_.Sub(field, 1);
    shift = ir_.Call(llvm::Intrinsic::umin, shift, room);
    Value* magnitude = builder_.CreateShl(remainder, shift);  // with the hidden bit, if normal
    Value* binade = ir_.Shl(ir_.Sub(room, shift), type_.mantissa);
    // The hidden bit counts as one more in the field; there is none only where the binade is 0.
    Value* bits = ir_.Add(magnitude, binade);
    bits = ir_.Select(ir_.Eq(remainder, 0), uint64_t{0}, bits);
    Value* real = builder_.CreateBitCast(ir_.Zext(bits, type_.bits), a_->getType());
    builder_.CreateRet(ir_.Copysign(real, a_));
  }

  DType type_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  Ir ir_;
  llvm::Function* function_ = nullptr;
  Value* a_ = nullptr;
  Value* b_ = nullptr;
};

}  // namespace

llvm::Value* EmitRemainder(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  const DType type = a->getType()->isDoubleTy() ? kF64 : kF32;
  const std::string name = "tarsia.rem." + std::string(DTypeName(type));
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr) function = RemainderFunction(module, name, type).Build();
  return builder.CreateCall(function, {a, b});
}

}  // namespace tarsia::compiler
