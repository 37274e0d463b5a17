#include "compiler/llvm/element/element.h"

#include "compiler/llvm/element/arithmetic.h"
#include "compiler/llvm/element/convert.h"
#include "compiler/llvm/element/ir.h"
#include "compiler/llvm/element/pairs.h"
#include "compiler/llvm/element/random.h"

namespace tarsia::compiler {

llvm::IntegerType* CodeType(llvm::LLVMContext& context, DType type) {
  return llvm::IntegerType::get(context, static_cast<unsigned>(ContainerBytes(type)) * 8);
}

llvm::Type* ElementType(llvm::LLVMContext& context, DType type) {
  if (type.IsBool()) return llvm::Type::getInt1Ty(context);
  if (type == kF16) return llvm::Type::getHalfTy(context);
  if (type == kBF16) return llvm::Type::getBFloatTy(context);
  if (type == kF32) return llvm::Type::getFloatTy(context);
  if (type == kF64) return llvm::Type::getDoubleTy(context);
  return CodeType(context, type);
}

namespace {

// The bits of a value as another type of the same size. What has been cast is not cast back.
llvm::Value* Bits(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Type* type) {
  auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(x);
  if (cast != nullptr && cast->getSrcTy() == type) return cast->getOperand(0);
  return builder.CreateBitCast(x, type);
}

}  // namespace

llvm::Value* ToCode(llvm::IRBuilderBase& builder, llvm::Value* element, DType type) {
  llvm::IntegerType* code = CodeType(builder.getContext(), type);
  if (type.IsBool()) return builder.CreateZExt(element, code);
  return Bits(builder, element, code);
}

llvm::Value* FromCode(llvm::IRBuilderBase& builder, llvm::Value* code, DType type) {
  if (type.IsBool()) return builder.CreateIsNotNull(code);
  return Bits(builder, code, ElementType(builder.getContext(), type));
}

llvm::Constant* ElementConstant(llvm::LLVMContext& context, DType type, uint64_t code) {
  llvm::Type* element = ElementType(context, type);
  if (type.IsBool()) return llvm::ConstantInt::getBool(context, code != 0);
  if (element->isIntegerTy()) return llvm::ConstantInt::get(element, code & CodeMask(type));
  return llvm::ConstantFP::get(
      element,
      llvm::APFloat(element->getFltSemantics(), llvm::APInt(type.bits, code & CodeMask(type))));
}

llvm::Value* ElementEmitter::Cast(llvm::Value* value, DType from, DType to, CastOptions options,
                                  llvm::Value* random) {
  return EmitCast(builder_, target_, {value, from, to, options, random});
}

llvm::Value* ElementEmitter::Component(llvm::Value* complex, DType type, int index) {
  return EmitComponent(builder_, complex, type, index);
}

llvm::Value* ElementEmitter::Complex(llvm::Value* real, llvm::Value* imaginary, DType type) {
  return EmitComplex(builder_, real, imaginary, type);
}

Elements ElementEmitter::CastAll(const Elements& values, DType from, DType to, CastOptions options,
                                 const Elements& random) {
  return EmitCastOfAll(builder_, target_, values, from, to, options, random);
}

Elements ElementEmitter::OnAll(Opcode op, DType type, const std::vector<Elements>& operands,
                               bool fast) {
  return EmitOnAll(builder_, target_, {op, type, fast}, operands);
}

bool ElementEmitter::ConvertsPairs(DType type) const {
  return compiler::ConvertsPairs(target_, type);
}

Elements ElementEmitter::DecodeFour(llvm::Value* codes) { return EmitDecodeFour(builder_, codes); }

llvm::Value* ElementEmitter::DecodePair(DType type, llvm::Value* codes) {
  return EmitDecodePair(builder_, type, codes);
}

llvm::Value* ElementEmitter::Unary(Opcode op, DType type, llvm::Value* a) {
  return EmitUnary(builder_, op, type, a);
}

llvm::Value* ElementEmitter::Binary(Opcode op, DType type, llvm::Value* a, llvm::Value* b) {
  return EmitBinary(builder_, op, type, a, b);
}

llvm::Value* ElementEmitter::Fma(DType type, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return EmitFma(builder_, type, a, b, c);
}

llvm::Value* ElementEmitter::Select(llvm::Value* condition, llvm::Value* a, llvm::Value* b) {
  return builder_.CreateSelect(condition, a, b);
}

llvm::Value* ElementEmitter::MulAdd(DType a_type, llvm::Value* a, DType b_type, llvm::Value* b,
                                    DType c_type, llvm::Value* c) {
  // Every operand's value is one of the accumulator's type, except that a product of integers
  // fits it only with its own signs.
  a = Cast(a, a_type, c_type);
  b = Cast(b, b_type, c_type);
  if (c_type.IsInteger()) return builder_.CreateAdd(builder_.CreateMul(a, b), c);
  return Fma(c_type, a, b, c);
}

llvm::Value* ElementEmitter::Random(llvm::Value* seed, llvm::Value* number) {
  return EmitRandom(builder_, seed, number);
}

}  // namespace tarsia::compiler
