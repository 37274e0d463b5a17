#include "compiler/llvm/element/approximate.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "compiler/llvm/element/ir.h"
#include "compiler/llvm/element/trigonometry.h"

namespace tarsia::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What differs between f32 and f64. Series are cut where the rest is below a tenth of an ulp.
struct Precision {
  unsigned width;
  unsigned mantissa;
  int bias;
  int exp_degree;   // of the Taylor series of exp, |r| <= ln(2) / 2
  int log_terms;    // of that of 2 atanh(s) - 2 s, |s| < 0.1716
  double ln2_high;  // with so many zero bits at the end that its product with an exponent is exact
  double ln2_low;
  double log2e_high;  // 1 / ln(2) to twice the precision
  double log2e_low;
  uint64_t sqrt_half;
  double least_normal;
};
constexpr Precision kSingle = {
    32,         23,      127, 7, 4, 0x1.62e4p-1, 0x1.7f7d1cp-20, 0x1.715476p+0, 0x1.4ae0c0p-26,
    0x3F3504F3, 0x1p-126};
constexpr Precision kDouble = {64,
                               52,
                               1023,
                               13,
                               10,
                               0x1.62e42fefa3800p-1,
                               0x1.ef35793c76730p-45,
                               0x1.71547652b82fep+0,
                               0x1.777d0ffda0d24p-56,
                               0x3FE6A09E667F3BCD,
                               0x1p-1022};

// (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.55: a Chebyshev interpolant, relative error 3e-17, of
// which the result sees a tenth.
constexpr double kTanhSmall[] = {
    -0x1.5555555555555p-2,  0x1.1111111111032p-3,  -0x1.ba1ba1b9fec84p-5,  0x1.664f487713373p-6,
    -0x1.226e32f00cf0cp-7,  0x1.d6d339333f329p-9,  -0x1.7d97cfd138c28p-10, 0x1.34c5a8a996cd4p-11,
    -0x1.ec1091436eb2ap-13, 0x1.64fd88e9900a5p-14, -0x1.59a834187ce22p-16};
// erf(x) / x - 1 in x^2 on [0, 1]: relative error of erf(x) / x 4e-11 and 3e-21.
constexpr double kErfSmallSingle[] = {0x1.06eba8p-3,  -0x1.812746p-2, 0x1.ce2f08p-4,
                                      -0x1.b829c8p-6, 0x1.562a60p-8,  -0x1.bccf66p-11,
                                      0x1.d88750p-14, -0x1.445f48p-17};
constexpr double kErfSmallDouble[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e7p-2,  0x1.ce2f21a042bdep-4,  -0x1.b82ce312889bap-6,
    0x1.565bcd0e6502dp-8,  -0x1.c02db3feeb579p-11, 0x1.f9a326c233146p-14, -0x1.f4d2561aeafd4p-17,
    0x1.b9e6509b9867dp-20, -0x1.5f6d925a0bc7ap-23, 0x1.fc4356498c2d9p-27, -0x1.4e607b41a6416p-30,
    0x1.7f072188e194dp-34, -0x1.29b9f1b3df556p-38};
// exp(x^2) erfc(x) in 1 / (x + 2) - middle on [1, 4] and [1, 6]: relative error 5e-8 and 2e-17, of
// which 1 - erfc(1) sees less than a fifth.
constexpr double kErfMiddleSingle = 0x1p-2;
constexpr double kErfLargeSingle[] = {0x1.058672p-2, 0x1.b5703ep+0,  0x1.eeea7ep+1, 0x1.437446p+2,
                                      0x1.e9359ep-1, -0x1.be5ff8p+2, -0x1.b75728p+1};
constexpr double kErfMiddleDouble = 0x1.d555555555555p-3;
constexpr double kErfLargeDouble[] = {
    0x1.c57cd9cd3f3a9p-3,  0x1.8ddea0419f380p+0,  0x1.c6e106001c029p+1,  0x1.3c74c4a51a871p+2,
    0x1.aca523a394e84p+0,  -0x1.a59ad7577beeep+2, -0x1.6fbbf78ecc1d0p+2, 0x1.dc0304e576c44p+3,
    0x1.796df91a42736p+3,  -0x1.841ddcc046facp+5, -0x1.f4e50f2475c39p+1, 0x1.4f139c61369c2p+7,
    -0x1.4944b6620f4bcp+7, -0x1.b74f86c4770ecp+8, 0x1.387c8acc5f140p+10, 0x1.02e368d3dca30p+8,
    -0x1.30be46f379823p+12};

class Approximation {
 public:
  Approximation(Ir& ir, Value* x)
      : ir_(ir), b_(ir.b), x_(x), p_(x->getType()->isDoubleTy() ? kDouble : kSingle) {}

  // Rsqrt, Exp, Exp2 and Tanh are for f64 only.
  Value* Rsqrt() {
    // Two correctly rounded steps: half an ulp, and at most one that the square root's half ulp
    // becomes.
    return ir_.FDiv(Real(1), ir_.Call(llvm::Intrinsic::sqrt, x_));
  }

  Value* Exp() {
    // Beyond the clamp the result is 0 or infinity either way.
    return ExpOf(Clamp(x_, -746, 710));
  }

  Value* Exp2() {
    Value* x = Clamp(x_, -1080, 1025);
    const Rounded n = RoundToInteger(x, 1);
    Value* r = ir_.FMul(ir_.FSub(x, n.real), std::log(2.0));  // the difference is exact
    return Scale(ir_.FAdd(ExpMinusOne(r), 1), n);
  }

  // x = 2^k m: ln x = k ln 2 + ln m.
  Value* Log() {
    const LogParts log = LogReduced();
    Value* rest = ir_.Fma(log.exponent, p_.ln2_low, log.low);
    Value* sum = ir_.Fma(log.exponent, p_.ln2_high, log.high);
    // Fast two-sum: |k ln2_high| >= |high|, or k is 0 and the sum is high itself.
    Value* lost = ir_.Fma(log.exponent, p_.ln2_high, ir_.FNeg(sum));
    return LogSpecial(ir_.FAdd(sum, ir_.FAdd(ir_.FAdd(lost, log.high), rest)));
  }

  Value* Log2() {
    const LogParts log = LogReduced();
    Value* product = ir_.FMul(log.high, p_.log2e_high);
    Value* rest = ir_.Fma(log.high, p_.log2e_high, ir_.FNeg(product));
    rest = ir_.Fma(log.high, p_.log2e_low, rest);
    rest = ir_.Fma(log.low, p_.log2e_high, rest);
    Value* sum = ir_.FAdd(log.exponent, product);
    Value* lost = ir_.FAdd(ir_.FSub(log.exponent, sum), product);
    return LogSpecial(ir_.FAdd(sum, ir_.FAdd(lost, rest)));
  }

  // From 0.55 on t / (t + 2) with t = exp(2|x|) - 1 = 2^n (exp(r) - 1) + (2^n - 1), no part of
  // which cancels.
  Value* Tanh() {
    Value* a = Clamp(ir_.FAbs(x_), 0, 22);  // 1 from there on
    Value* y = ir_.FMul(a, 2);
    const Rounded n = RoundToInteger(y, kLog2E);
    Value* power = PowerOfTwo(n.integer);
    Value* t = ir_.Fma(power, ExpMinusOne(Reduce(y, n)), ir_.FAdd(power, -1));
    Value* large = ir_.FDiv(t, ir_.FAdd(t, 2));
    Value* z = ir_.FMul(a, a);
    Value* small = ir_.Fma(ir_.FMul(a, z), Polynomial(z, kTanhSmall), a);
    Value* result = ir_.Select(b_.CreateFCmpOLT(a, Real(0.55)), small, large);
    return ir_.Copysign(result, x_);
  }

  Value* Erf() {
    const bool wide = p_.width == 64;
    Value* a = Clamp(ir_.FAbs(x_), 0, wide ? 6 : 4);  // 1 from there on
    Value* z = ir_.FMul(a, a);
    Value* p = wide ? Polynomial(z, kErfSmallDouble) : Polynomial(z, kErfSmallSingle);
    Value* small = ir_.Fma(a, p, a);
    Value* t = Inverse(ir_.FAdd(a, 2));
    t = ir_.FAdd(t, wide ? -kErfMiddleDouble : -kErfMiddleSingle);
    Value* q = wide ? Polynomial(t, kErfLargeDouble) : Polynomial(t, kErfLargeSingle);
    Value* large = ir_.Fma(ir_.FNeg(ExpOf(ir_.FNeg(z))), q, 1);
    Value* result = ir_.Select(b_.CreateFCmpOLT(a, Real(1)), small, large);
    return ir_.Copysign(result, x_);
  }

 private:
  static constexpr double kLog2E = 0x1.71547652b82fep+0;

  // An integer as a float and as a signed integer of the same width.
  struct Rounded {
    Value* real;
    Value* integer;
  };

  Value* Real(double value) { return Ir::Float(x_, value); }
  llvm::Type* IntType() { return ir_.IntType(p_.width); }
  Value* Int(uint64_t bits) { return llvm::ConstantInt::get(IntType(), bits); }

  // A NaN stays a NaN.
  Value* Clamp(Value* x, double low, double high) {
    x = ir_.Select(b_.CreateFCmpOLT(x, Real(low)), Real(low), x);
    return ir_.Select(b_.CreateFCmpOGT(x, Real(high)), Real(high), x);
  }

  // 1 / x of an x between 1 and 8, to an ulp: for f32 the GPU's own and a Newton step.
  Value* Inverse(Value* x) {
    if (p_.width == 64) return ir_.FDiv(Real(1), x);
    Value* r = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, {x});
    return ir_.Fma(r, ir_.Fma(ir_.FNeg(x), r, 1), r);
  }

  Value* Polynomial(Value* x, std::span<const double> coefficients) {
    Value* sum = Real(coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) sum = ir_.Fma(sum, x, coefficients[i]);
    return sum;
  }

  // round(x * factor), by adding so much that the last place is worth 1; the integer is then in
  // the low bits. (An integer conversion of a NaN would be undefined.)
  Rounded RoundToInteger(Value* x, double factor) {
    const double magic = std::ldexp(1.5, static_cast<int>(p_.mantissa));
    Value* sum = factor == 1 ? ir_.FAdd(x, magic) : ir_.Fma(x, Real(factor), magic);
    Value* magic_bits = b_.CreateBitCast(Real(magic), IntType());
    return {ir_.FAdd(sum, -magic), ir_.Sub(ir_.Bits(sum), magic_bits)};
  }

  // x - n ln 2.
  Value* Reduce(Value* x, const Rounded& n) {
    return ir_.Fma(n.real, -p_.ln2_low, ir_.Fma(n.real, -p_.ln2_high, x));
  }

  // exp(r) - 1 for |r| <= ln(2) / 2: r + r^2 (1/2 + r/6 + ..).
  Value* ExpMinusOne(Value* r) {
    std::vector<double> series;
    double factorial = 1;
    for (int i = 2; i <= p_.exp_degree; ++i) {
      factorial *= i;
      series.push_back(1 / factorial);
    }
    return ir_.Fma(ir_.FMul(r, r), Polynomial(r, series), r);
  }

  // 2^k, k from the least normal exponent to the largest.
  Value* PowerOfTwo(Value* k) {
    Value* field = ir_.Add(k, static_cast<uint64_t>(p_.bias));
    return ir_.AsFloat(ir_.Shl(field, p_.mantissa));
  }

  // x * 2^n for an x near 1 and any n: the first product is exact, so there is one rounding.
  Value* Scale(Value* x, const Rounded& n) {
    Value* half = ir_.Sar(n.integer, 1);
    Value* rest = ir_.Sub(n.integer, half);
    return ir_.FMul(ir_.FMul(x, PowerOfTwo(half)), PowerOfTwo(rest));
  }

  Value* ExpOf(Value* x) {
    const Rounded n = RoundToInteger(x, kLog2E);
    return Scale(ir_.FAdd(ExpMinusOne(Reduce(x, n)), 1), n);
  }

  // x = 2^exponent m with m in [sqrt(1/2), sqrt(2)), and ln m = high + low.
  struct LogParts {
    Value* exponent;
    Value* high;
    Value* low;
  };

  // With f = m - 1 (exact) and s = f / (2 + f): ln m = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R)),
  // R = s^2 (2/3 + s^2 (2/5 + ..)).
  LogParts LogReduced() {
    const double up = std::ldexp(1.0, static_cast<int>(p_.mantissa) + 2);
    Value* subnormal = b_.CreateFCmpOLT(x_, Real(p_.least_normal));
    Value* x = ir_.Select(subnormal, ir_.FMul(x_, up), x_);
    Value* moved = ir_.Sub(ir_.Bits(x), p_.sqrt_half);
    Value* k = ir_.Sar(moved, p_.mantissa);
    Value* bits = ir_.Add(ir_.And(moved, (uint64_t{1} << p_.mantissa) - 1), p_.sqrt_half);
    Value* exponent = b_.CreateSIToFP(ir_.Zext(k, 32), x_->getType());
    exponent = ir_.FAdd(exponent, ir_.Select(subnormal, Real(-1.0 * (p_.mantissa + 2)), Real(0)));
    Value* f = ir_.FAdd(ir_.AsFloat(bits), -1);
    Value* s = p_.width == 64 ? ir_.FDiv(f, ir_.FAdd(f, 2)) : ir_.FMul(f, Inverse(ir_.FAdd(f, 2)));
    Value* z = ir_.FMul(s, s);
    std::vector<double> series;
    for (int i = 1; i <= p_.log_terms; ++i) series.push_back(2.0 / (2 * i + 1));
    Value* tail = ir_.FMul(z, Polynomial(z, series));
    Value* half_square = ir_.FMul(ir_.FMul(f, 0.5), f);
    Value* high = ir_.FSub(f, half_square);
    Value* low = ir_.FSub(ir_.FSub(f, high), half_square);
    // The rounding error of the half square.
    Value* lost = ir_.Fma(ir_.FMul(f, 0.5), f, ir_.FNeg(half_square));
    low = ir_.FAdd(ir_.FSub(low, lost), ir_.FMul(s, ir_.FAdd(half_square, tail)));
    return {exponent, high, low};
  }

  Value* LogSpecial(Value* result) {
    result = ir_.Select(b_.CreateFCmpOEQ(x_, Real(kInfinity)), x_, result);
    result = ir_.Select(b_.CreateFCmpOEQ(x_, Real(0)), Real(-kInfinity), result);
    Value* nan = llvm::ConstantFP::getNaN(x_->getType());
    return ir_.Select(b_.CreateFCmpOGE(x_, Real(0)), result, nan);
  }

  Ir& ir_;
  llvm::IRBuilderBase& b_;
  Value* x_;
  const Precision& p_;
};

struct ApproximationRow {
  Opcode op;
  Value* (*emit)(Ir& ir, Value* x);
};

template <Value* (Approximation::*method)()>
Value* EmitMethod(Ir& ir, Value* x) {
  return (Approximation(ir, x).*method)();
}

constexpr ApproximationRow kApproximations[] = {
    {Opcode::kRsqrt, EmitMethod<&Approximation::Rsqrt>},
    {Opcode::kExp, EmitMethod<&Approximation::Exp>},
    {Opcode::kExp2, EmitMethod<&Approximation::Exp2>},
    {Opcode::kLog, EmitMethod<&Approximation::Log>},
    {Opcode::kLog2, EmitMethod<&Approximation::Log2>},
    {Opcode::kTanh, EmitMethod<&Approximation::Tanh>},
    {Opcode::kErf, EmitMethod<&Approximation::Erf>},
    {Opcode::kSin, [](Ir& ir, Value* x) { return EmitSine(ir.b, x); }},
    {Opcode::kCos, [](Ir& ir, Value* x) { return EmitCosine(ir.b, x); }},
};

}  // namespace

llvm::Value* EmitApproximation(llvm::IRBuilderBase& builder, Opcode op, llvm::Value* x) {
  Ir ir(builder);
  for (const ApproximationRow& row : kApproximations) {
    if (row.op == op) return row.emit(ir, x);
  }
  return nullptr;
}

}  // namespace tarsia::compiler
