// The packed order of a weight matrix w[K, N]: which tiles, and where each code of a tile lies.
// There is one order for a type of weights and a type of the tensor core's operands (the compute
// type), and it serves every kernel, decode and prefill, from sm_80 on: as the left operand of yT =
// wT * xT, the fragments of `mma` and of `wgmma` (from registers) are the same.
//
// Everything is a memory layout of layout/ in the end: packed(T, B) for the codes, and for scales
// and zero points row-major in padded rows.
//
// Pure functions; safe from any thread.
#ifndef TARSIA_RUNTIME_WEIGHTS_PACKED_ORDER_H_
#define TARSIA_RUNTIME_WEIGHTS_PACKED_ORDER_H_

#include <cstdint>
#include <string>

#include "dtypes/dtype.h"
#include "layout/mem_layout.h"
#include "support/result.h"

namespace tarsia {

// Part of the identity of packed data: raised whenever a tile or a place of a bit changes.
inline constexpr int kPackedMapVersion = 2;
static_assert(kLanesVersion == 2, "raise kPackedMapVersion too");

// "u4-f16-v2": the type of the weights, the compute type, the version of the map.
std::string PackedLayoutId(DType weight, DType compute);

// Whether there is an order. Errors: those of CheckUnpack.
Status CheckPackedOrder(DType weight, DType compute);

// The register layout of a packed tile, as text, and its extents.
// Errors: those of CheckPackedOrder.
Result<std::string> PackedTileText(DType weight, DType compute);
int64_t PackedTileRows(DType weight, DType compute);
int64_t PackedTileColumns(DType weight, DType compute);

// The order of the codes, as text (`packed(..)`) and as a layout of [k, n].
// Errors: those of CheckPackedOrder, extents that are negative or too large.
Result<std::string> PackedOrderText(DType weight, DType compute);
Result<MemLayout> PackedOrder(DType weight, DType compute, int64_t k, int64_t n);

// The order of [k / group, n] scales or zero points of a type of 8, 16 or 32 bits: row-major, in
// rows that are padded to a multiple of 64 elements, or of 128 of 8 bits, so that copies have whole
// pieces.
std::string ScaleOrderText(DType type);
Result<MemLayout> ScaleOrder(DType type, int64_t groups, int64_t n);
// The bytes of such a row of n elements, with its padding.
int64_t ScaleRowBytes(DType type, int64_t n);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_PACKED_ORDER_H_
