// Reductions of contiguous arrays of native containers, for the rows reduce.* of isa.def.
// - sum, prod: integers wrap; f16 and bf16 accumulate in f32 and round once at the end; f32 in f32
//   and f64 in f64, blockwise, in an unspecified order; 0 or 1 for no elements.
// - min, max: NaNs are ignored, -0 is below +0; +inf or the largest integer (max: the opposite) for
//   no elements or only NaNs.
// - any, all: on bool bytes; false and true for no elements.
// All functions are thread-safe and take arrays aligned to their container; `out` may not overlap
// `src`. They work in the thread's scratch. A type that the row does not allow is an error of the
// caller and leaves `out` unchanged.
#ifndef TARSIA_VM_HOST_REDUCE_H_
#define TARSIA_VM_HOST_REDUCE_H_

#include <cstdint>
#include <span>

#include "dtypes/dtype.h"
#include "isa/instruction.h"
#include "vm/host/scratch.h"

namespace tarsia::host {

// src [outer, axis, inner] -> out [outer, inner], one type; kReduceSum to kReduceAll.
void Reduce(Opcode op, DType type, const void* src, int64_t outer, int64_t axis, int64_t inner,
            void* out);

// Reduces along any set of axes of a row-major array; out has the other axes in their order. f16
// and bf16 round once, after the last axis. `axes` are distinct, in any order; no axes means a
// copy. With more than kMaxReduceRank dimensions nothing is reduced.
inline constexpr size_t kMaxReduceRank = 16;
void ReduceAxes(Opcode op, DType type, const void* src, std::span<const int64_t> shape,
                std::span<const int64_t> axes, void* out);

// The most scratch that ReduceAxes needs, and ReduceArg for one axis.
ScratchSizes ReduceScratch(Opcode op, DType type, std::span<const int64_t> shape,
                           std::span<const int64_t> axes);

// kReduceArgmin, kReduceArgmax: src [outer, axis, inner] -> value and index [outer, inner], the
// index of the first extreme value along the axis (with -0 below +0), -1 and the value for no
// elements (see above) if there is none.
void ReduceArg(Opcode op, DType type, const void* src, int64_t outer, int64_t axis, int64_t inner,
               void* value, int32_t* index);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_REDUCE_H_
