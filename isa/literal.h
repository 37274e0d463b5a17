// Numbers of the text as elements of a type.
#ifndef TARSIA_ISA_LITERAL_H_
#define TARSIA_ISA_LITERAL_H_

#include "dtypes/dtype.h"
#include "layout/text/expr.h"

namespace tarsia {

// Whether a folded constant of a static kind is a value of the type: no float for an integer, no
// number for bool, no overflow, and infinity or NaN only where the type has it. An expression that
// is still open may be one.
bool IsLiteralOf(DType dtype, const ExprPool& pool, ExprId folded, ExprType kind);

}  // namespace tarsia

#endif  // TARSIA_ISA_LITERAL_H_
