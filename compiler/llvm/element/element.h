// The LLVM IR of single elements: the value that holds an element of a type, and every elementwise
// operation and conversion on such values, bit for bit as in docs/isa.md and docs/dtypes.md.
//
// An element is held in
//   bool                                   i1
//   integers and floats of at most 8 bits,
//   e8m0                                   i8, the code in the low bits, the others zero (signed
//                                          integers too: their raw code)
//   i16, u16                               i16
//   i32, u32, tf32, c32                    i32   (c32, c64: the real part in the low half)
//   i64, u64, c64                          i64
//   f16, bf16, f32, f64                    half, bfloat, float, double
//
// Additions, multiplications and the like take the builder's fast-math flags, so that a kernel that
// says `fast` sets `contract` there; conversions and approximations ignore them. No operation is
// undefined for any operand: shifts, divisions and conversions never make poison. All code goes to
// the builder's place, without new blocks; `rem` of floats, `sin` and `cos` call functions that are
// added to the module once.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_ELEMENT_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_ELEMENT_H_

#include <cstdint>
#include <vector>

#include "compiler/target.h"
#include "dtypes/convert.h"
#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace llvm {
class Constant;
class IntegerType;
class IRBuilderBase;
class LLVMContext;
class Type;
class Value;
}  // namespace llvm

namespace tarsia::compiler {

// Elements of one type: those that a thread has of a tile.
using Elements = std::vector<llvm::Value*>;

// Whether a 32-bit word holds two elements, which some instructions compute at once.
inline bool IsHalf(DType type) { return type == kF16 || type == kBF16; }

llvm::Type* ElementType(llvm::LLVMContext& context, DType type);
// The integer of the width of the type's container (ContainerBytes), which holds its code.
llvm::IntegerType* CodeType(llvm::LLVMContext& context, DType type);
// Between an element and its code. Any code but 0 makes a true bool.
llvm::Value* ToCode(llvm::IRBuilderBase& builder, llvm::Value* element, DType type);
llvm::Value* FromCode(llvm::IRBuilderBase& builder, llvm::Value* code, DType type);
llvm::Constant* ElementConstant(llvm::LLVMContext& context, DType type, uint64_t code);

class ElementEmitter {
 public:
  ElementEmitter(llvm::IRBuilderBase& builder, Target target)
      : builder_(builder), target_(target) {}

  // What CastCode (dtypes/convert.h) does; `random` is an i32, read by stochastic rounding only.
  // A complex number casts only to another.
  llvm::Value* Cast(llvm::Value* value, DType from, DType to, CastOptions options = {},
                    llvm::Value* random = nullptr);

  // The same of all values. `random` is empty, or has one for each.
  Elements CastAll(const Elements& values, DType from, DType to, CastOptions options = {},
                   const Elements& random = {});

  // The real (0) or the imaginary part (1) of an element of a complex type, and an element of
  // `type` made of both.
  llvm::Value* Component(llvm::Value* complex, DType type, int index);
  llvm::Value* Complex(llvm::Value* real, llvm::Value* imaginary, DType type);

  // Whether the target converts pairs of codes of an 8-bit float to f16; and two codes in an i16 as
  // two f16 in an i32.
  [[nodiscard]] bool ConvertsPairs(DType type) const;
  llvm::Value* DecodePair(DType type, llvm::Value* codes);
  // Four codes of f8e4m3fn in an i32, none of them NaN, as two i32 of two f16.
  Elements DecodeFour(llvm::Value* codes);

  // A unary, binary or ternary row of isa.def on all elements of its operands, which have equally
  // many: two halves at a time where the target can, and by the GPU's own form if `fast`.
  Elements OnAll(Opcode op, DType type, const std::vector<Elements>& operands, bool fast = false);

  // The unary rows of isa.def from neg to clz, on the types that each allows (else null).
  llvm::Value* Unary(Opcode op, DType type, llvm::Value* a);
  // The binary rows from add to ge; comparisons give an i1.
  llvm::Value* Binary(Opcode op, DType type, llvm::Value* a, llvm::Value* b);
  // a * b + c with one rounding, of a float or complex type (each real multiply-add rounds once).
  llvm::Value* Fma(DType type, llvm::Value* a, llvm::Value* b, llvm::Value* c);
  // For any type, condition an i1.
  llvm::Value* Select(llvm::Value* condition, llvm::Value* a, llvm::Value* b);

  // c + a * b as `dot` does it in scalar code: c is f32, f64, i32 or c64, and a and b are of types
  // that dot takes for it. A product of 8-bit floats, f16, bf16 or integers is exact.
  llvm::Value* MulAdd(DType a_type, llvm::Value* a, DType b_type, llvm::Value* b, DType c_type,
                      llvm::Value* c);

  // Element `number` (an i64) of `rand` with the seed (an i64), as an i32.
  llvm::Value* Random(llvm::Value* seed, llvm::Value* number);

 private:
  llvm::IRBuilderBase& builder_;
  Target target_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_ELEMENT_H_
