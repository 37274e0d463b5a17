// The operations on single elements that tests run: casts and the elementwise rows of isa.def.
#ifndef TARSIA_TESTS_UNIT_COMPILER_OPERATIONS_H_
#define TARSIA_TESTS_UNIT_COMPILER_OPERATIONS_H_

#include <vector>

#include "dtypes/convert.h"
#include "isa/instruction.h"
#include "tests/unit/compiler/host_code.h"

namespace tarsia::compiler {

// Operands: the source and a u32 of random bits.
Operation CastOperation(DType from, DType to, CastOptions options);
// Whether programs can have the cast.
bool CastAllowed(DType from, DType to, CastOptions options);

// Whether two codes are the same value: all NaNs of a type are, as no instruction says which one it
// makes.
bool SameValue(DType type, uint64_t a, uint64_t b);

// The unary and binary elementwise rows for the type, except select.
std::vector<const InstRow*> ElementwiseRows(DType type);
Operation ElementwiseOperation(const InstRow& row, DType type);
// By the GPU's own form.
Operation FastOperation(const InstRow& row, DType type);

// What an approximated function gives, by the C library.
long double Truth(Opcode op, long double x);

}  // namespace tarsia::compiler

#endif  // TARSIA_TESTS_UNIT_COMPILER_OPERATIONS_H_
