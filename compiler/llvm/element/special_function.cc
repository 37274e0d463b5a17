#include "compiler/llvm/element/special_function.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <span>

#include "compiler/llvm/element/instruction.h"
#include "compiler/llvm/element/ir.h"

namespace tarsia::compiler {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

// An instruction of the GPU on an f32.
Value* GpuInstruction(Ir& ir, llvm::Intrinsic::ID id, Value* x) {
  return ir.b.CreateIntrinsic(id, {}, {x});
}
Value* Exponential(Ir& ir, Value* x) {
  return GpuInstruction(ir, llvm::Intrinsic::nvvm_ex2_approx_ftz_f, x);
}
Value* Inverse(Ir& ir, Value* x) {
  return GpuInstruction(ir, llvm::Intrinsic::nvvm_rcp_approx_ftz_f, x);
}

// ---- exp ---------------------------------------------------------------------------------------

// e^x = 2^n 2^r with n = round(x log2 e), a product that is exact or rounds once. n is at least
// -126 and at most 127: beyond, r takes the rest, and 2^r or the product underflows or overflows.
// (A NaN gives n = -126 and stays in r.)
//
// 1.4375 has so few bits that x 1.4375 - n is exact where x is large, so r has one rounding. The
// rest of log2 e is positive, so an infinite x gives no difference of infinities.
Value* Exp(Ir& ir, Value* x) {
  constexpr double kSteps = 253;
  constexpr double kMagic = 0x1.8p23;  // its last place is worth 1
  constexpr double kLog2EHigh = 1.4375;
  Value* const part =
      EmitInstruction(ir.b, "fma.rn.sat.f32 $0, $1, $2, $3;", "=f,f,f,f", x->getType(),
                      {x, Ir::Float(x, kLog2E / kSteps), Ir::Float(x, 126 / kSteps)});
  Value* const biased = ir.Fma(part, kSteps, Ir::Float(x, kMagic + 1));  // n + 127 in its low bits
  Value* const minus_n = ir.FSub(Ir::Float(x, kMagic + 127), biased);
  Value* const r = ir.Fma(x, kLog2E - kLog2EHigh, ir.Fma(x, kLog2EHigh, minus_n));
  return ir.FMul(Exponential(ir, r), ir.AsFloat(ir.Shl(ir.Bits(biased), 23)));
}

// An f16 is never subnormal as f32, so for it the instruction may flush.
Value* Exp2(Ir& ir, DType type, Value* x) {
  return type == kF16 ? Exponential(ir, x)
                      : GpuInstruction(ir, llvm::Intrinsic::nvvm_ex2_approx_f, x);
}

// The rounding of x log2 e leaves an error of 2^-18 for results that fit f32: enough for halves.
Value* ExpForHalf(Ir& ir, DType type, Value* x) { return Exp2(ir, type, ir.FMul(x, kLog2E)); }

Value* Rsqrt(Ir& ir, DType type, Value* x) {
  return GpuInstruction(ir,
                        type == kF16 ? llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f
                                     : llvm::Intrinsic::nvvm_rsqrt_approx_f,
                        x);
}

// ---- tanh --------------------------------------------------------------------------------------

// (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.8, to a relative error of 7e-8 of tanh.
constexpr double kTanhSmall[] = {-0x1.55541cp-2, 0x1.10d9aap-3, -0x1.b39ed0p-5, 0x1.3a6be4p-6,
                                 -0x1.21125ep-8};

Value* Polynomial(Ir& ir, Value* x, std::span<const double> coefficients) {
  Value* sum = Ir::Float(x, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = ir.Fma(sum, x, coefficients[i]);
  return sum;
}

// Above 0.8, 1 - 2 / (e^2a + 1): there the subtrahend is below 0.34, and so are its errors against
// the result. Where e^2a overflows, the quotient is 0.
Value* Tanh(Ir& ir, Value* x) {
  Value* const a = ir.FAbs(x);
  Value* const power = Exponential(ir, ir.FMul(a, 2 * kLog2E));
  Value* const large = ir.Fma(Inverse(ir, ir.FAdd(power, 1)), -2, Ir::Float(x, 1));
  Value* const z = ir.FMul(a, a);
  Value* const small = ir.Fma(ir.FMul(Polynomial(ir, z, kTanhSmall), z), a, a);
  Value* const result = ir.Select(ir.b.CreateFCmpOLT(a, Ir::Float(x, 0.8)), small, large);
  // LLVM makes three instructions of its own copysign.
  return EmitInstruction(ir.b, "copysign.f32 $0, $1, $2;", "=f,f,f", x->getType(), {x, result});
}

// To a relative 2^-11: an ulp of f16, an eighth of one of bf16.
Value* RoughTanh(Ir& ir, Value* x) {
  return EmitInstruction(ir.b, "tanh.approx.f32 $0, $1;", "=f,f", x->getType(), {x});
}

// ---- the forms of `fast` -----------------------------------------------------------------------

struct FastRow {
  Opcode op;
  llvm::Intrinsic::ID id;
  double before = 1;  // factors of the operand
  double after = 1;   // and of the result
};
constexpr FastRow kFastRows[] = {
    {Opcode::kSqrt, llvm::Intrinsic::nvvm_sqrt_approx_ftz_f},
    {Opcode::kRsqrt, llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f},
    {Opcode::kRcp, llvm::Intrinsic::nvvm_rcp_approx_ftz_f},
    {Opcode::kExp, llvm::Intrinsic::nvvm_ex2_approx_ftz_f, kLog2E},
    {Opcode::kExp2, llvm::Intrinsic::nvvm_ex2_approx_ftz_f},
    {Opcode::kLog, llvm::Intrinsic::nvvm_lg2_approx_ftz_f, 1, 1 / kLog2E},
    {Opcode::kLog2, llvm::Intrinsic::nvvm_lg2_approx_ftz_f},
    {Opcode::kSin, llvm::Intrinsic::nvvm_sin_approx_ftz_f},
    {Opcode::kCos, llvm::Intrinsic::nvvm_cos_approx_ftz_f},
    {Opcode::kDiv, llvm::Intrinsic::nvvm_div_approx_ftz_f},
};

Value* FastForm(Ir& ir, const FastRow& row, llvm::ArrayRef<Value*> x) {
  if (x.size() > 1) return ir.b.CreateIntrinsic(row.id, {}, x);
  Value* const operand = row.before == 1 ? x[0] : ir.FMul(x[0], row.before);
  Value* const result = GpuInstruction(ir, row.id, operand);
  return row.after == 1 ? result : ir.FMul(result, row.after);
}

// ---- division ----------------------------------------------------------------------------------

// Of $1 / $2 into $0. The quotient r a of an approximate reciprocal, one Newton step better, is
// mended by its remainder, which is exact (P. Markstein, "Computation of elementary functions on
// the IBM RISC System/6000 processor", 1990). That rounds correctly for every reciprocal within an
// ulp of the rounded one unless the mantissa of b is 0x7FFFFD or 0x7FFFFF, of which one step to the
// reciprocal may end on its wrong side: only quotients within 24 / (2^48 b) of the middle between
// two numbers can go wrong, and all of them were tried. ptxas takes the same steps for
// `div.rn.f32`, with no such exception: the reciprocals of GPUs are better than PTX promises.
//
// It holds where a and the quotient have magnitudes in [2^-96, 2^32): then so has no step an
// underflow, an overflow or an operand that is not finite, since b is at most 2^128, and its
// reciprocal, where that is subnormal, is flushed and gives a quotient of zero. 97 added to the two
// exponents sets their highest bits exactly there.
//
// Elsewhere the quotient is computed in f64, in whose range all is normal, and rounds once more,
// which changes nothing (53 bits against 24; Figueroa 1995). Three Newton steps bear a reciprocal
// that is only good to 8 bits. Where one of them meets an infinity it gives NaN, and the plain
// product is right; that also has the sign that a remainder of zero takes from a zero.
constexpr char kQuotient[] = R"({
	.reg .f32 r, e, n, q;
	.reg .b32 u, v;
	.reg .pred p;
	neg.f32 n, $2;
	rcp.approx.ftz.f32 r, $2;
	fma.rn.f32 e, n, r, 0f3F800000;
	fma.rn.f32 r, r, e, r;
	mul.rn.f32 q, $1, r;
	fma.rn.f32 e, n, q, $1;
	fma.rn.f32 q, e, r, q;
	mov.b32 u, $1;
	mov.b32 v, q;
	add.u32 u, u, 0x30800000;
	add.u32 v, v, 0x30800000;
	and.b32 u, u, v;
	and.b32 u, u, 0x40000000;
	setp.ne.u32 p, u, 0;
	setp.ne.and.u32 p, $3, 0xFFFFFFFF, p;
	@p bra $$L_quotient_${:uid};
	{
	.reg .f64 a, b, x, y, z;
	cvt.f64.f32 a, $1;
	cvt.f64.f32 b, $2;
	rcp.approx.ftz.f64 x, b;
	mul.rn.f64 z, a, x;
	cvt.rn.f32.f64 n, z;
	neg.f64 b, b;
	fma.rn.f64 y, b, x, 0d3FF0000000000000;
	fma.rn.f64 x, x, y, x;
	fma.rn.f64 y, b, x, 0d3FF0000000000000;
	fma.rn.f64 x, x, y, x;
	fma.rn.f64 y, b, x, 0d3FF0000000000000;
	fma.rn.f64 x, x, y, x;
	mul.rn.f64 z, a, x;
	fma.rn.f64 y, b, z, a;
	fma.rn.f64 z, y, x, z;
	cvt.rn.f32.f64 q, z;
	copysign.f32 q, n, q;
	setp.num.f32 p, q, q;
	selp.f32 q, q, n, p;
	}
$$L_quotient_${:uid}:
	mov.f32 $0, q;
	})";

// ---- reciprocals and roots ---------------------------------------------------------------------

// 1 / $1 into $0: an approximate reciprocal and two Newton steps. For every mantissa and every
// reciprocal within an ulp of the rounded one, the second step rounds correctly unless the
// remainder before it is 2^-24 or more, as it is of the largest mantissa, where the step can end in
// a tie (tests/unit/compiler/root_test.cc tries them all). It is no such number either where the
// reciprocal is subnormal, infinite or zero. Then f64 computes as in kQuotient.
constexpr char kReciprocal[] = R"({
	.reg .f32 r, e, n, q;
	.reg .pred p;
	neg.f32 n, $1;
	rcp.approx.ftz.f32 r, $1;
	fma.rn.f32 e, n, r, 0f3F800000;
	fma.rn.f32 r, r, e, r;
	fma.rn.f32 e, n, r, 0f3F800000;
	fma.rn.f32 q, r, e, r;
	abs.f32 e, e;
	setp.lt.f32 p, e, 0f33800000;
	@p bra $$L_reciprocal_${:uid};
	{
	.reg .f64 b, x, y;
	cvt.f64.f32 b, $1;
	rcp.approx.ftz.f64 x, b;
	cvt.rn.f32.f64 n, x;
	neg.f64 b, b;
	fma.rn.f64 y, b, x, 0d3FF0000000000000;
	fma.rn.f64 x, x, y, x;
	fma.rn.f64 y, b, x, 0d3FF0000000000000;
	fma.rn.f64 x, x, y, x;
	fma.rn.f64 y, b, x, 0d3FF0000000000000;
	fma.rn.f64 x, x, y, x;
	cvt.rn.f32.f64 q, x;
	setp.num.f32 p, q, q;
	selp.f32 q, q, n, p;
	}
$$L_reciprocal_${:uid}:
	mov.f32 $0, q;
	})";

// The square root of $1 into $0: that of an approximate reciprocal root, mended twice by its
// remainder. For every mantissa but the largest, under an even and an odd exponent, and every
// reciprocal root within PTX's bound, that rounds correctly (root_test.cc tries them all). The
// remainders are exact from 2^-100 on.
//
// Else f64 computes, with three Newton steps of a reciprocal root that is only good to 8 bits, and
// its rounding changes nothing, as in kQuotient. Zeros and infinity are their own roots.
constexpr char kSquareRoot[] = R"({
	.reg .f32 y, g, h, r, q;
	.reg .b32 u, v;
	.reg .pred p;
	rsqrt.approx.ftz.f32 y, $1;
	mul.rn.f32 g, $1, y;
	mul.rn.f32 h, y, 0f3F000000;
	neg.f32 r, g;
	fma.rn.f32 r, r, g, $1;
	fma.rn.f32 q, r, h, g;
	neg.f32 r, q;
	fma.rn.f32 r, r, q, $1;
	fma.rn.f32 q, r, h, q;
	mov.b32 u, $1;
	and.b32 v, u, 0x007FFFFF;
	sub.u32 u, u, 0x0D800000;
	setp.lt.u32 p, u, 0x72000000;
	setp.ne.and.u32 p, v, 0x007FFFFF, p;
	@p bra $$L_root_${:uid};
	{
	.reg .f64 a, x, s, e;
	cvt.f64.f32 a, $1;
	rsqrt.approx.ftz.f64 x, a;
	mul.rn.f64 s, a, x;
	neg.f64 s, s;
	fma.rn.f64 e, s, x, 0d3FF0000000000000;
	mul.rn.f64 s, x, 0d3FE0000000000000;
	fma.rn.f64 x, s, e, x;
	mul.rn.f64 s, a, x;
	neg.f64 s, s;
	fma.rn.f64 e, s, x, 0d3FF0000000000000;
	mul.rn.f64 s, x, 0d3FE0000000000000;
	fma.rn.f64 x, s, e, x;
	mul.rn.f64 s, a, x;
	neg.f64 s, s;
	fma.rn.f64 e, s, x, 0d3FF0000000000000;
	mul.rn.f64 s, x, 0d3FE0000000000000;
	fma.rn.f64 x, s, e, x;
	mul.rn.f64 s, a, x;
	neg.f64 e, s;
	fma.rn.f64 e, e, s, a;
	mul.rn.f64 x, x, 0d3FE0000000000000;
	fma.rn.f64 s, e, x, s;
	cvt.rn.f32.f64 q, s;
	setp.eq.f32 p, $1, 0f00000000;
	setp.eq.or.f32 p, $1, 0f7F800000, p;
	selp.f32 q, $1, q, p;
	}
$$L_root_${:uid}:
	mov.f32 $0, q;
	})";

// The root of an f16 can lie 2^-25 of its size from what rounds to another one, which is less than
// the error of PTX's form: one mending by its remainder. There is none (NaN) of zeros and infinity.
Value* RootOfHalf(Ir& ir, Value* x) {
  Value* const root = GpuInstruction(ir, llvm::Intrinsic::nvvm_sqrt_approx_ftz_f, x);
  Value* const inverse = GpuInstruction(ir, llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f, x);
  Value* const rest = ir.Fma(ir.FNeg(root), root, x);
  Value* const mended = ir.Fma(rest, ir.FMul(inverse, 0.5), root);
  return ir.Select(ir.IsNan(mended), root, mended);
}

}  // namespace

llvm::Value* EmitSpecialFunction(llvm::IRBuilderBase& builder, Opcode op, DType type,
                                 llvm::Value* x) {
  Ir ir(builder);
  const bool half = type != kF32;
  if (op == Opcode::kExp) return half ? ExpForHalf(ir, type, x) : Exp(ir, x);
  if (op == Opcode::kExp2) return Exp2(ir, type, x);
  if (op == Opcode::kRsqrt) return Rsqrt(ir, type, x);
  if (op == Opcode::kTanh) return half ? RoughTanh(ir, x) : Tanh(ir, x);
  return nullptr;
}

llvm::Value* EmitFastForm(llvm::IRBuilderBase& builder, Opcode op, llvm::ArrayRef<llvm::Value*> x) {
  Ir ir(builder);
  for (const FastRow& row : kFastRows) {
    if (row.op == op) return FastForm(ir, row, x);
  }
  return op == Opcode::kTanh ? RoughTanh(ir, x[0]) : nullptr;
}

llvm::Value* EmitQuotient(llvm::IRBuilderBase& builder, DType type, llvm::Value* a,
                          llvm::Value* b) {
  constexpr uint32_t kAllButTwoMantissas = 0xFF800002;
  llvm::Value* exception = builder.getInt32(0);  // a bf16 has no such mantissa
  if (type == kF32) {
    exception =
        builder.CreateOr(builder.CreateBitCast(b, builder.getInt32Ty()), kAllButTwoMantissas);
  }
  return EmitInstruction(builder, kQuotient, "=f,f,f,r", a->getType(), {a, b, exception});
}

// An ulp of f32 does not change how the reciprocal of an f16, which is normal as f32, rounds to
// f16.
llvm::Value* EmitReciprocal(llvm::IRBuilderBase& builder, DType type, llvm::Value* x) {
  Ir ir(builder);
  if (type == kF16) return Inverse(ir, x);
  return EmitInstruction(builder, kReciprocal, "=f,f", x->getType(), {x});
}

// The root of a bf16 lies 2^-19 of its size or more from what rounds to another one.
llvm::Value* EmitSquareRoot(llvm::IRBuilderBase& builder, DType type, llvm::Value* x) {
  Ir ir(builder);
  if (type == kF16) return RootOfHalf(ir, x);
  if (type == kBF16) return GpuInstruction(ir, llvm::Intrinsic::nvvm_sqrt_approx_f, x);
  return EmitInstruction(builder, kSquareRoot, "=f,f", x->getType(), {x});
}

// The quotient of two 11-bit numbers lies 2^-23 of its size or more from what rounds to another
// f16, and one mended quotient is better than that. A remainder of zero would lose the sign of a
// zero quotient; that of a zero or an infinity is NaN.
llvm::Value* EmitQuotientOfHalves(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b) {
  Ir ir(builder);
  Value* const r = Inverse(ir, b);
  Value* const q = ir.FMul(a, r);
  Value* const rest = ir.Fma(ir.FNeg(b), q, a);
  Value* const mends = ir.b.CreateFCmpONE(rest, Ir::Float(rest, 0));
  return ir.Select(mends, ir.Fma(rest, r, q), q);
}

}  // namespace tarsia::compiler
