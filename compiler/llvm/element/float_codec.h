// Floats of any format as bits: from a code to an f32 (or f64) of exactly its value, and from there
// rounded to another format. All of it is integer arithmetic, except for two exact operations on
// floats, so that all modes of rounding and all formats share the code.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_FLOAT_CODEC_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_FLOAT_CODEC_H_

#include "compiler/llvm/element/ir.h"
#include "dtypes/convert.h"
#include "dtypes/dtype.h"

namespace tarsia::compiler {

// The bits of an f32 (an i32) or of an f64 (an i64) that has exactly the value converted. A NaN has
// any sign and payload.
struct HubFloat {
  Value* bits = nullptr;
  // The same as a float, where it is at hand.
  Value* real = nullptr;
  [[nodiscard]] bool wide() const { return Ir::Width(bits) == 64; }
};

struct RoundingMode {
  Rounding rounding = Rounding::kNearestEven;
  Overflow overflow = Overflow::kDefault;
  Value* random = nullptr;  // an i32, for kStochastic
};

// A code of a float of at most 8 bits (an i8) as bits of an f32.
Value* DecodeSmallFloat(Ir& ir, Value* code, DType type);
// The same as bits of an f16 (an i16), for types that fit (FitsHalf).
Value* DecodeSmallFloatToHalf(Ir& ir, Value* code, DType type);
// Whether every value of a float of at most 8 bits is one of f16, found by moving bits and one
// multiplication.
bool FitsHalf(DType type);
// A code of e8m0 as bits of an f32.
Value* DecodeExponent(Ir& ir, Value* code);

// A float or e8m0, rounded from the hub; the code, in an integer of the type's container.
Value* EncodeFloat(Ir& ir, HubFloat from, DType to, const RoundingMode& mode);
Value* EncodeExponent(Ir& ir, HubFloat from, const RoundingMode& mode);

// Puts a float's sign (the top bit of `signed_bits`, of any width) on a magnitude of the type, and
// the NaN of the type where the condition holds. `magnitude` has the width of the container.
Value* WithSign(Ir& ir, Value* magnitude, Value* signed_bits, Value* is_nan, DType type);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_FLOAT_CODEC_H_
