#include "compiler/llvm/element/pairs.h"

#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>

#include "compiler/llvm/element/arithmetic.h"
#include "compiler/llvm/element/convert.h"
#include "compiler/llvm/element/instruction.h"
#include "compiler/llvm/element/ir.h"

namespace tarsia::compiler {
namespace {

// ---- two halves as a vector -------------------------------------------------------------------

llvm::FixedVectorType* PairType(llvm::IRBuilderBase& b, DType type) {
  return llvm::FixedVectorType::get(ElementType(b.getContext(), type), 2);
}

// The word whose low and high half two elements are; null if there is none.
llvm::Value* WordOf(llvm::IRBuilderBase& b, llvm::Value* low, llvm::Value* high) {
  using llvm::PatternMatch::m_BitCast;
  using llvm::PatternMatch::m_LShr;
  using llvm::PatternMatch::m_SpecificInt;
  using llvm::PatternMatch::m_Trunc;
  using llvm::PatternMatch::m_Value;
  llvm::Value* word = nullptr;
  llvm::Value* same = nullptr;
  const bool halves =
      llvm::PatternMatch::match(low, m_BitCast(m_Trunc(m_Value(word)))) &&
      llvm::PatternMatch::match(high, m_BitCast(m_Trunc(m_LShr(m_Value(same), m_SpecificInt(16)))));
  return halves && word == same && word->getType() == b.getInt32Ty() ? word : nullptr;
}

llvm::Value* Join(llvm::IRBuilderBase& b, llvm::Value* low, llvm::Value* high, DType type) {
  llvm::FixedVectorType* const pair = PairType(b, type);
  if (llvm::Value* const word = WordOf(b, low, high)) {
    auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(word);
    if (cast != nullptr && cast->getSrcTy() == pair) return cast->getOperand(0);
    return b.CreateBitCast(word, pair);
  }
  llvm::Value* out = b.CreateInsertElement(llvm::PoisonValue::get(pair), low, uint64_t{0});
  return b.CreateInsertElement(out, high, uint64_t{1});
}

// Appends the halves of a pair, as parts of a word that Join and words.h recognise.
void Split(llvm::IRBuilderBase& b, llvm::Value* pair, DType type, Elements& out) {
  llvm::Value* const word = b.CreateBitCast(pair, b.getInt32Ty());
  for (llvm::Value* const half : {word, b.CreateLShr(word, uint64_t{16})}) {
    out.push_back(FromCode(b, b.CreateTrunc(half, b.getInt16Ty()), type));
  }
}

// ---- arithmetic ---------------------------------------------------------------------------------

bool ComputesPairs(Opcode op) {
  constexpr Opcode kOps[] = {Opcode::kAdd, Opcode::kSub, Opcode::kMul, Opcode::kFma,
                             Opcode::kNeg, Opcode::kAbs, Opcode::kMin, Opcode::kMax};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// Before sm_90, bf16 has no addition and no multiplication but these, each with one rounding:
// a + b = 1 b + a, a - b = -1 b + a and a b = a b + -0. LLVM would take fma apart again.
llvm::Value* ByMultiplyAdd(llvm::IRBuilderBase& b, Opcode op, llvm::Value* x, llvm::Value* y) {
  const auto both = [&](double value) {
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(2),
                                          llvm::ConstantFP::get(b.getBFloatTy(), value));
  };
  Elements operands;
  if (op == Opcode::kMul) {
    operands = {x, y, both(-0.0)};
  } else {
    operands = {y, both(op == Opcode::kAdd ? 1.0 : -1.0), x};
  }
  for (llvm::Value*& operand : operands) operand = b.CreateBitCast(operand, b.getInt32Ty());
  llvm::Value* const word =
      EmitInstruction(b, "fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", b.getInt32Ty(), operands);
  return b.CreateBitCast(word, x->getType());
}

// On elements, or on pairs of halves for the rows of ComputesPairs.
llvm::Value* EmitOne(llvm::IRBuilderBase& b, const Computation& what,
                     llvm::ArrayRef<llvm::Value*> x) {
  const auto& [op, type, fast] = what;
  if (fast) return EmitFast(b, op, type, x);
  if (op == Opcode::kFma) return EmitFma(b, type, x[0], x[1], x[2]);
  return x.size() == 1 ? EmitUnary(b, op, type, x[0]) : EmitBinary(b, op, type, x[0], x[1]);
}

llvm::Value* EmitPair(llvm::IRBuilderBase& b, Target target, const Computation& what,
                      llvm::ArrayRef<llvm::Value*> x) {
  const auto& [op, type, fast] = what;
  const bool sums = op == Opcode::kAdd || op == Opcode::kSub || op == Opcode::kMul;
  if (sums && type == kBF16 && Row(target).capability < 90) return ByMultiplyAdd(b, op, x[0], x[1]);
  return EmitOne(b, what, x);
}

// Element `i` of each operand.
Elements ElementsAt(llvm::ArrayRef<Elements> operands, size_t i) {
  Elements out;
  for (const Elements& operand : operands) out.push_back(operand[i]);
  return out;
}

// ---- casts --------------------------------------------------------------------------------------

// Two f32, rounded to nearest, as a pair.
llvm::Value* RoundPair(llvm::IRBuilderBase& b, DType to, llvm::Value* low, llvm::Value* high) {
  const llvm::Intrinsic::ID id =
      to == kF16 ? llvm::Intrinsic::nvvm_ff2f16x2_rn : llvm::Intrinsic::nvvm_ff2bf16x2_rn;
  return b.CreateIntrinsic(PairType(b, to), id, {high, low});
}

// What a value was before its rounding from f32 to a half; null if it was none.
llvm::Value* BeforeRounding(llvm::Value* x) {
  auto* const rounding = llvm::dyn_cast_or_null<llvm::FPTruncInst>(x);
  const bool single = rounding != nullptr && rounding->getSrcTy()->isFloatTy();
  return single ? rounding->getOperand(0) : nullptr;
}

// Appends two halves: rounded together where both were computed in f32.
void AddTwo(llvm::IRBuilderBase& b, DType type, llvm::Value* low, llvm::Value* high,
            Elements& out) {
  llvm::Value* const wide_low = BeforeRounding(low);
  llvm::Value* const wide_high = BeforeRounding(high);
  if (wide_low != nullptr && wide_high != nullptr) {
    Split(b, RoundPair(b, type, wide_low, wide_high), type, out);
  } else {
    out.insert(out.end(), {low, high});
  }
}

}  // namespace

Elements EmitOnAll(llvm::IRBuilderBase& builder, Target target, const Computation& what,
                   llvm::ArrayRef<Elements> operands) {
  const DType type = what.type;
  const size_t count = operands[0].size();
  Elements out;
  while (IsHalf(type) && out.size() + 2 <= count) {
    const size_t i = out.size();
    if (!ComputesPairs(what.op)) {
      llvm::Value* const low = EmitOne(builder, what, ElementsAt(operands, i));
      llvm::Value* const high = EmitOne(builder, what, ElementsAt(operands, i + 1));
      AddTwo(builder, type, low, high, out);
      continue;
    }
    Elements pairs;
    for (const Elements& operand : operands) {
      pairs.push_back(Join(builder, operand[i], operand[i + 1], type));
    }
    Split(builder, EmitPair(builder, target, what, pairs), type, out);
  }
  while (out.size() < count)
    out.push_back(EmitOne(builder, what, ElementsAt(operands, out.size())));
  return out;
}

Elements EmitCastOfAll(llvm::IRBuilderBase& builder, Target target, const Elements& values,
                       DType from, DType to, CastOptions options, const Elements& random) {
  const bool nearest = options.rounding == Rounding::kNearestEven;
  const bool pairs = (from == kF32 || (IsHalf(from) && from != to)) && IsHalf(to) && nearest &&
                     options.overflow != Overflow::kSaturate;
  const auto single = [&](llvm::Value* value) {
    return EmitCast(builder, target, {value, from, kF32, {}, nullptr});
  };
  Elements out;
  while (pairs && out.size() + 2 <= values.size()) {
    llvm::Value* const low = single(values[out.size()]);
    llvm::Value* const high = single(values[out.size() + 1]);
    Split(builder, RoundPair(builder, to, low, high), to, out);
  }
  for (size_t i = out.size(); i < values.size(); ++i) {
    out.push_back(EmitCast(builder, target,
                           {values[i], from, to, options, random.empty() ? nullptr : random[i]}));
  }
  return out;
}

}  // namespace tarsia::compiler
