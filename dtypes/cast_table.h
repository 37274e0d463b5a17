// The tables by which CastBulk converts codes of at most 8 bits.
#ifndef TARSIA_DTYPES_CAST_TABLE_H_
#define TARSIA_DTYPES_CAST_TABLE_H_

#include "dtypes/convert.h"
#include "dtypes/dtype.h"

namespace tarsia {

// Builds the table that CastBulk would build at the first use of a pair of types, if there is one,
// so that no later call allocates. Thread-safe.
void PrepareCast(DType from, DType to, CastOptions options = {});

}  // namespace tarsia

#endif  // TARSIA_DTYPES_CAST_TABLE_H_
