#include "compiler/llvm/element/trigonometry.h"

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "compiler/llvm/element/ir.h"

namespace tarsia::compiler {
namespace {

constexpr unsigned kConstantSpace = 4;  // of NVPTX's address spaces

// 64 zero bits, then the bits of 2 / pi after the binary point: enough that 256 of them can be
// taken from wherever the exponent of an f64 says.
constexpr uint64_t kTwoOverPi[] = {0,
                                   0xA2F9836E4E441529u,
                                   0xFC2757D1F534DDC0u,
                                   0xDB6295993C439041u,
                                   0xFE5163ABDEBBC561u,
                                   0xB7246E3A424DD2E0u,
                                   0x06492EEA09D1921Cu,
                                   0xFE1DEB1CB129A73Eu,
                                   0xE88235F52EBB4484u,
                                   0xE99C7026B45F7E41u,
                                   0x3991D639835339F4u,
                                   0x9C845F8BBDF9283Bu,
                                   0x1FF897FFDE05980Fu,
                                   0xEF2F118B5A0A6D1Fu,
                                   0x6D367ECF27CB09B7u,
                                   0x4F463F669E5FEA2Du,
                                   0x7527BAC7EBE5F17Bu,
                                   0x3D0739F78A5292EAu,
                                   0x6BFB5FB11F8D5D08u,
                                   0x56033046FC7B6BABu,
                                   0xF0CFBC209AF4361Du};

constexpr double kPiHalf[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

// What differs between f32 and f64.
struct ReductionPrecision {
  const char* name;
  double limit;                // up to which pi / 2 in three parts is exact enough
  double pi_half[3];           // their sum
  std::vector<double> sine;    // (sin(r) - r) / r^3 in r^2
  std::vector<double> cosine;  // (cos(r) - 1) / r^2 in r^2
};

// The Taylor series of sine and cosine from the term of r^first on: 1 / first! with alternating
// signs, minus first.
std::vector<double> Series(int first, int terms) {
  std::vector<double> series;
  double factorial = 1;
  for (int i = 2; i <= first; ++i) factorial *= i;
  for (int i = 0; i < terms; ++i) {
    series.push_back((i % 2 == 0 ? -1 : 1) / factorial);
    factorial *= (first + 2 * i + 1) * (first + 2 * i + 2);
  }
  return series;
}

// |r| <= pi / 4: the first term left out is below 2^-28 and 2^-62 of the result.
ReductionPrecision SinglePrecision() {
  return {
      "f32", 65536, {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50}, Series(3, 4), Series(2, 5)};
}
ReductionPrecision DoublePrecision() {
  return {"f64",
          1048576,
          {kPiHalf[0], kPiHalf[1], -0x1.f1976b7ed8fbcp-110},
          Series(3, 8),
          Series(2, 9)};
}

// x = n pi / 2 + high + low with |high| <= pi / 4 and a bit; n modulo 4.
struct Reduced {
  Value* high;
  Value* low;
  Value* n;  // i32
};

llvm::Function* NewFunction(llvm::Module& module, const std::string& name, llvm::Type* result,
                            llvm::Type* argument) {
  auto* type = llvm::FunctionType::get(result, {argument}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::NoInline);
  return function;
}

// --- large arguments ---

// The reduction of Payne and Hanek (1983): of x * 2 / pi, x = m 2^e, only the bits of 2 / pi matter
// that neither give multiples of 4 nor lie below all precision.
class LargeReduction {
 public:
  explicit LargeReduction(llvm::Module& module)
      : module_(module), builder_(module.getContext()), ir_(builder_) {}

  // {double high, double low, i32 n} of a positive finite double from 2^10 on.
  llvm::Function* Build(const std::string& name) {
    llvm::Type* real = builder_.getDoubleTy();
    auto* result = llvm::StructType::get(real, real, builder_.getInt32Ty());
    llvm::Function* function = NewFunction(module_, name, result, real);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    Value* bits = ir_.Bits(function->getArg(0));
    Value* significand = ir_.Or(ir_.And(bits, kHidden - 1), kHidden);
    const Product product = Multiply(significand, Window(ir_.Shr(bits, 52)));
    Return(product, result);
    return function;
  }

 private:
  static constexpr uint64_t kHidden = uint64_t{1} << 52;
  struct Words {
    Value* word[3];  // the highest first
  };
  // The fraction of x * 2 / pi / 4 in 128 bits.
  struct Product {
    Value* high;
    Value* low;
  };

  Value* Entry(Value* index) {
    llvm::GlobalVariable* table = module_.getGlobalVariable(kTable, true);
    if (table == nullptr) {
      auto* data =
          llvm::ConstantDataArray::get(module_.getContext(), llvm::ArrayRef<uint64_t>(kTwoOverPi));
      table = new llvm::GlobalVariable(module_, data->getType(), true,
                                       llvm::GlobalValue::InternalLinkage, data, kTable, nullptr,
                                       llvm::GlobalValue::NotThreadLocal, kConstantSpace);
      table->setAlignment(llvm::Align(8));
    }
    Value* place =
        builder_.CreateInBoundsGEP(table->getValueType(), table, {builder_.getInt64(0), index});
    return builder_.CreateAlignedLoad(builder_.getInt64Ty(), place, llvm::Align(8));
  }

  // 192 bits of the table whose first is worth 2^1 when multiplied with 2^e, e = field - 1075.
  Words Window(Value* field) {
    Value* start = ir_.Sub(field, 1075 + 2 - 64);
    Value* index = ir_.Shr(start, 6);
    Value* shift = ir_.And(start, 63);
    Value* entries[4];
    for (uint64_t i = 0; i < 4; ++i) entries[i] = Entry(ir_.Add(index, i));
    Words words{};
    for (int i = 0; i < 3; ++i) {
      words.word[i] = builder_.CreateIntrinsic(llvm::Intrinsic::fshl, {builder_.getInt64Ty()},
                                               {entries[i], entries[i + 1], shift});
    }
    return words;
  }

  Value* Wide(Value* x) { return ir_.Zext(x, 128); }

  // The upper 128 of the low 192 bits of significand * words.
  Product Multiply(Value* significand, const Words& words) {
    Value* low = ir_.Shr(ir_.Mul(Wide(significand), Wide(words.word[2])), 64);
    Value* middle = ir_.Add(ir_.Mul(Wide(significand), Wide(words.word[1])), low);
    Value* high = ir_.Add(ir_.Mul(significand, words.word[0]), ir_.Zext(ir_.Shr(middle, 64), 64));
    return {high, ir_.Zext(middle, 64)};
  }

  // n is the two upper bits, rounded by the third; the rest, as a signed fraction, times pi / 2.
  void Return(const Product& product, llvm::StructType* type) {
    Value* fraction = ir_.Or(ir_.Shl(Wide(product.high), 64), Wide(product.low));
    fraction = ir_.Shl(fraction, 2);
    Value* negative = ir_.Negative(fraction);
    Value* n = ir_.Add(ir_.Shr(product.high, 62), ir_.Zext(negative, 64));
    Value* magnitude = ir_.Select(negative, builder_.CreateNeg(fraction), fraction);
    Value* upper = ir_.Zext(ir_.Shr(magnitude, 64), 64);
    Value* zeros = builder_.CreateIntrinsic(llvm::Intrinsic::ctlz, {builder_.getInt64Ty()},
                                            {upper, builder_.getFalse()});
    // Never all zero: no f64 comes closer to a multiple of pi / 2 than 2^-62.
    zeros = ir_.Umin(zeros, 63);
    Value* top = builder_.CreateIntrinsic(llvm::Intrinsic::fshl, {builder_.getInt64Ty()},
                                          {upper, ir_.Zext(magnitude, 64), zeros});
    // 53 and 11 bits, each exact.
    Value* a = builder_.CreateUIToFP(ir_.And(top, ~uint64_t{0x7FF}), builder_.getDoubleTy());
    Value* b = builder_.CreateUIToFP(ir_.And(top, 0x7FF), builder_.getDoubleTy());
    Value* high = ir_.FMul(a, kPiHalf[0]);
    Value* low = ir_.Fma(a, kPiHalf[0], ir_.FNeg(high));
    low = ir_.Fma(a, kPiHalf[1], ir_.Fma(b, kPiHalf[0], low));
    Value* exponent = ir_.Sub(Ir::Const(zeros, 1023 - 64), zeros);
    Value* scale = ir_.AsFloat(ir_.Or(
        ir_.Shl(exponent, 52), ir_.Select(negative, uint64_t{1} << 63, Ir::Const(zeros, 0))));
    Value* result = llvm::PoisonValue::get(type);
    result = builder_.CreateInsertValue(result, ir_.FMul(high, scale), 0);
    result = builder_.CreateInsertValue(result, ir_.FMul(low, scale), 1);
    builder_.CreateRet(builder_.CreateInsertValue(result, ir_.Zext(n, 32), 2));
  }

  static constexpr char kTable[] = "tarsia.two_over_pi";
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  Ir ir_;
};

// --- sine ---

// sin(x + quadrants pi / 2) as a function of its own: reduction, then a polynomial.
class SineFunction {
 public:
  SineFunction(llvm::Module& module, llvm::Type* type)
      : module_(module),
        type_(type),
        builder_(module.getContext()),
        ir_(builder_),
        p_(type->isDoubleTy() ? DoublePrecision() : SinglePrecision()) {}

  llvm::Function* Build(const char* base, unsigned quadrants) {
    const std::string name = std::string(base) + p_.name;
    if (llvm::Function* function = module_.getFunction(name)) return function;
    llvm::Function* function = NewFunction(module_, name, type_, type_);
    x_ = function->getArg(0);
    llvm::BasicBlock* entry = Block(function, "entry");
    llvm::BasicBlock* small = Block(function, "small");
    llvm::BasicBlock* large = Block(function, "large");
    llvm::BasicBlock* done = Block(function, "done");
    builder_.SetInsertPoint(entry);
    Value* magnitude = ir_.FAbs(x_);
    Value* is_large = builder_.CreateFCmpOGT(magnitude, Ir::Float(x_, p_.limit));
    builder_.CreateCondBr(is_large, large, small);
    builder_.SetInsertPoint(small);
    const Reduced near = ReduceSmall();
    builder_.CreateBr(done);
    builder_.SetInsertPoint(large);
    const Reduced far = ReduceLarge(magnitude);
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
    const Reduced r = {Merge(near.high, small, far.high, large),
                       Merge(near.low, small, far.low, large), Merge(near.n, small, far.n, large)};
    builder_.CreateRet(Evaluate(r, quadrants));
    return function;
  }

 private:
  llvm::BasicBlock* Block(llvm::Function* function, const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function);
  }
  Value* Merge(Value* a, llvm::BasicBlock* from_a, Value* b, llvm::BasicBlock* from_b) {
    llvm::PHINode* phi = builder_.CreatePHI(a->getType(), 2);
    phi->addIncoming(a, from_a);
    phi->addIncoming(b, from_b);
    return phi;
  }

  // Cody and Waite: x - n times the first part is exact. The product with the second is taken as
  // two numbers, and so is the difference from it (Knuth's two-sum).
  Reduced ReduceSmall() {
    const bool wide = type_->isDoubleTy();
    const double magic = wide ? 0x1.8p52 : 0x1.8p23;
    Value* sum = ir_.Fma(x_, Ir::Float(x_, 0x1.45f306dc9c883p-1), magic);
    Value* n = ir_.FAdd(sum, -magic);
    Value* first = ir_.Fma(n, -p_.pi_half[0], x_);
    Value* product = ir_.FMul(n, -p_.pi_half[1]);
    Value* product_rest = ir_.Fma(n, -p_.pi_half[1], ir_.FNeg(product));
    Value* high = ir_.FAdd(first, product);
    Value* part = ir_.FSub(high, first);
    Value* lost = ir_.FAdd(ir_.FSub(first, ir_.FSub(high, part)), ir_.FSub(product, part));
    Value* low = ir_.Fma(n, -p_.pi_half[2], ir_.FAdd(lost, product_rest));
    return {high, low, ir_.Zext(ir_.Bits(sum), 32)};
  }

  // The large reduction works in f64, on |x|.
  Reduced ReduceLarge(Value* magnitude) {
    constexpr char kName[] = "tarsia.reduce_pi_half";
    llvm::Function* reduce = module_.getFunction(kName);
    if (reduce == nullptr) reduce = LargeReduction(module_).Build(kName);
    const bool wide = type_->isDoubleTy();
    if (!wide) magnitude = builder_.CreateFPExt(magnitude, builder_.getDoubleTy());
    Value* parts = builder_.CreateCall(reduce, {magnitude});
    Value* high = builder_.CreateExtractValue(parts, 0);
    Value* low = builder_.CreateExtractValue(parts, 1);
    Value* n = builder_.CreateExtractValue(parts, 2);
    if (!wide) {
      low = Ir::Float(x_, 0);  // the high part alone has twice the bits
      high = builder_.CreateFPTrunc(high, type_);
    }
    Value* negative = ir_.Negative(ir_.Bits(x_));
    return {ir_.Select(negative, ir_.FNeg(high), high), ir_.Select(negative, ir_.FNeg(low), low),
            ir_.Select(negative, builder_.CreateNeg(n), n)};
  }

  Value* Polynomial(Value* z, const std::vector<double>& coefficients) {
    Value* sum = Ir::Float(z, coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) sum = ir_.Fma(sum, z, coefficients[i]);
    return sum;
  }

  // sin(r + low) = sin(r) + low cos(r), of which low alone is enough, and cos(r + low) = cos(r) -
  // low r; the one that n says, with its sign.
  Value* Evaluate(const Reduced& r, unsigned quadrants) {
    Value* z = ir_.FMul(r.high, r.high);
    Value* cubic = ir_.FMul(ir_.FMul(z, r.high), Polynomial(z, p_.sine));
    Value* sine = ir_.FAdd(r.high, ir_.FAdd(cubic, r.low));
    Value* drop = ir_.Fma(z, Polynomial(z, p_.cosine), ir_.FNeg(ir_.FMul(r.high, r.low)));
    Value* cosine = ir_.FAdd(drop, 1);
    Value* n = ir_.Add(r.n, quadrants);
    Value* result = ir_.Select(ir_.Ne(ir_.And(n, 1), 0), cosine, sine);
    result = ir_.Select(ir_.Ne(ir_.And(n, 2), 0), ir_.FNeg(result), result);
    // sin(-0) is -0, which adding r.low has lost; infinities and NaN have no sine.
    if (quadrants == 0)
      result = ir_.Select(builder_.CreateFCmpOEQ(x_, Ir::Float(x_, 0)), x_, result);
    Value* finite = builder_.CreateFCmpONE(ir_.FAbs(x_), llvm::ConstantFP::getInfinity(type_));
    return ir_.Select(finite, result, llvm::ConstantFP::getNaN(type_));
  }

  llvm::Module& module_;
  llvm::Type* type_;
  llvm::IRBuilder<> builder_;
  Ir ir_;
  ReductionPrecision p_;
  Value* x_ = nullptr;
};

Value* CallSine(llvm::IRBuilderBase& builder, Value* x, const char* base, unsigned quadrants) {
  SineFunction sine(*builder.GetInsertBlock()->getModule(), x->getType());
  return builder.CreateCall(sine.Build(base, quadrants), {x});
}

}  // namespace

llvm::Value* EmitSine(llvm::IRBuilderBase& builder, llvm::Value* x) {
  return CallSine(builder, x, "tarsia.sin.", 0);
}

llvm::Value* EmitCosine(llvm::IRBuilderBase& builder, llvm::Value* x) {
  return CallSine(builder, x, "tarsia.cos.", 1);
}

}  // namespace tarsia::compiler
