#include "vm/host/reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "dtypes/arith.h"
#include "dtypes/bulk.h"
#include "dtypes/container.h"
#include "support/extents.h"
#include "vm/host/elementwise.h"
#include "vm/host/reduce_kernels.h"

namespace tarsia::host {
namespace {

using internal::ReduceKernels;
using internal::ReduceLane;
using internal::Reduction;

// Rows that are summed before the result is added to the total, so that rounding errors do not
// accumulate over a long axis.
constexpr int64_t kRowsOfBlock = 64;

// any and all are max and min of bytes that are 0 or 1.
std::optional<Reduction> ReductionOf(Opcode op) {
  if (op == Opcode::kReduceSum) return Reduction::kSum;
  if (op == Opcode::kReduceProd) return Reduction::kProd;
  if (op == Opcode::kReduceMin || op == Opcode::kReduceAll) return Reduction::kMin;
  if (op == Opcode::kReduceMax || op == Opcode::kReduceAny) return Reduction::kMax;
  if (op == Opcode::kReduceArgmin) return Reduction::kMin;
  if (op == Opcode::kReduceArgmax) return Reduction::kMax;
  return std::nullopt;
}

std::optional<ReduceLane> LaneOf(DType type) {
  if (type == kF16) return ReduceLane::kF16;
  if (type == kBF16) return ReduceLane::kBF16;
  if (type == kF32) return ReduceLane::kF32;
  if (type == kF64) return ReduceLane::kF64;
  if (type.IsBool()) return ReduceLane::kU8;
  if (!IsArithmetic(type)) return std::nullopt;
  const int first = static_cast<int>(type.IsSigned() ? ReduceLane::kI8 : ReduceLane::kU8);
  return static_cast<ReduceLane>(first + std::countr_zero(unsigned{type.bits} / 8));
}

bool IsHalf(DType type) { return type == kF16 || type == kBF16; }

bool AccumulatesWide(Reduction reduction, DType type) {
  return IsHalf(type) && (reduction == Reduction::kSum || reduction == Reduction::kProd);
}

size_t BytesOf(DType type) { return static_cast<size_t>(ContainerBytes(type)); }

ReduceKernels Kernels(Opcode op, DType type) {
  const std::optional<Reduction> reduction = ReductionOf(op);
  const std::optional<ReduceLane> lane = LaneOf(type);
  const bool logical = op == Opcode::kReduceAny || op == Opcode::kReduceAll;
  if (!reduction || !lane || logical != type.IsBool()) return {};
  return internal::FindReduce(*reduction, *lane);
}

// Which of two NaNs an addition keeps depends on the vector unit, so all become the same one.
template <typename T>
void MakeNansOne(void* values, size_t n) {
  T* const x = static_cast<T*>(values);
  for (size_t i = 0; i < n; ++i) x[i] = x[i] == x[i] ? x[i] : arith::CanonicalNan<T>();
}

// [axis, inner] -> [inner].
void ReduceSlab(const ReduceKernels& kernels, DType type, const uint8_t* src, int64_t axis,
                int64_t inner, uint8_t* out) {
  const size_t n = static_cast<size_t>(inner);
  const size_t row_bytes = n * BytesOf(type);
  Fill(ContainerBytes(type), kernels.empty, out, n);
  uint8_t* block = nullptr;
  if (type.IsFloat() && axis > kRowsOfBlock) {
    block = ThreadScratch().Get<uint8_t>(ScratchUse::kBlock, row_bytes);
  }
  for (int64_t first = 0; first < axis; first += kRowsOfBlock) {
    const int64_t end = std::min(axis, first + kRowsOfBlock);
    uint8_t* const target = block == nullptr ? out : block;
    if (block != nullptr) Fill(ContainerBytes(type), kernels.empty, block, n);
    for (int64_t row = first; row < end; ++row) {
      kernels.into(src + static_cast<size_t>(row) * row_bytes, target, n);
    }
    if (block != nullptr) kernels.into(block, out, n);
  }
}

void ReduceNative(const ReduceKernels& kernels, DType type, const void* src, int64_t outer,
                  int64_t axis, int64_t inner, void* out) {
  const size_t bytes = BytesOf(type);
  const auto* from = static_cast<const uint8_t*>(src);
  auto* to = static_cast<uint8_t*>(out);
  const size_t slab = static_cast<size_t>(axis * inner) * bytes;
  for (int64_t o = 0; o < outer; ++o) {
    const uint8_t* begin = from + static_cast<size_t>(o) * slab;
    uint8_t* result = to + static_cast<size_t>(o * inner) * bytes;
    if (inner == 1) {
      kernels.row(begin, static_cast<size_t>(axis), result);
    } else {
      ReduceSlab(kernels, type, begin, axis, inner, result);
    }
    if (type == kF32) MakeNansOne<float>(result, static_cast<size_t>(inner));
    if (type == kF64) MakeNansOne<double>(result, static_cast<size_t>(inner));
  }
}

// Reduces f16 and bf16 in f32, one slab at a time.
void ReduceWide(const ReduceKernels& kernels, DType type, const void* src, int64_t outer,
                int64_t axis, int64_t inner, void* out) {
  HostScratch& scratch = ThreadScratch();
  const size_t slab = static_cast<size_t>(axis * inner);
  const size_t results = static_cast<size_t>(inner);
  float* wide = scratch.Get<float>(ScratchUse::kWide, slab);
  float* narrow = scratch.Get<float>(ScratchUse::kNarrow, static_cast<size_t>(outer) * results);
  const auto* from = static_cast<const uint8_t*>(src);
  for (int64_t o = 0; o < outer; ++o) {
    const size_t at = static_cast<size_t>(o);
    CastBulk(type, from + at * slab * BytesOf(type), kF32, wide, slab);
    ReduceNative(kernels, kF32, wide, 1, axis, inner, narrow + at * results);
  }
  CastBulk(kF32, narrow, type, out, static_cast<size_t>(outer) * results);
}

// A shape as alternating groups of axes that are kept and axes that are reduced; extents[0] is
// kept.
struct Groups {
  std::array<int64_t, kMaxReduceRank + 2> extents{};
  size_t count = 0;
};

bool Goes(std::span<const int64_t> axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

Groups GroupAxes(std::span<const int64_t> shape, std::span<const int64_t> axes) {
  Groups groups;
  groups.extents[0] = 1;
  groups.count = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool last_goes = groups.count % 2 == 0;
    if (Goes(axes, axis) != last_goes) groups.extents[groups.count++] = 1;
    groups.extents[groups.count - 1] *= shape[axis];
  }
  return groups;
}

// The number of elements of the first `count` groups.
int64_t Product(const Groups& groups, size_t count) {
  return tarsia::Product({groups.extents.data(), count});
}

// The number of elements of the result.
int64_t Results(const Groups& groups) {
  int64_t results = 1;
  for (size_t g = 0; g < groups.count; g += 2) results *= groups.extents[g];
  return results;
}

// Reduces the groups from the last to the first, in the given type.
void ReduceGroups(const ReduceKernels& kernels, DType type, const void* src, Groups& groups,
                  void* out) {
  HostScratch& scratch = ThreadScratch();
  const size_t last = groups.count - 1;
  const void* from = src;
  int64_t inner = 1;
  size_t turn = 0;
  for (size_t g = last + 1; g-- > 0;) {
    if (g % 2 == 0) {
      inner *= groups.extents[g];
      continue;
    }
    const int64_t outer = Product(groups, g);
    const size_t results = static_cast<size_t>(outer * inner) * BytesOf(type);
    const ScratchUse use = turn++ % 2 == 0 ? ScratchUse::kAxes0 : ScratchUse::kAxes1;
    void* to = g == 1 ? out : scratch.Get<uint8_t>(use, results);
    ReduceNative(kernels, type, from, outer, groups.extents[g], inner, to);
    groups.extents[g] = 1;
    from = to;
  }
}

// The position in each row of the first code that is the row's extreme, or -1. Codes of equal keys
// are equal, and no NaN has the code of an extreme.
template <typename T>
void FindFirstIn(const void* src, const void* value, int64_t outer, int64_t axis, int32_t* index) {
  const T* x = static_cast<const T*>(src);
  const T* extremes = static_cast<const T*>(value);
  for (int64_t o = 0; o < outer; ++o) {
    const T* row = x + o * axis;
    const T* found = std::find(row, row + axis, extremes[o]);
    index[o] = found == row + axis ? -1 : static_cast<int32_t>(found - row);
  }
}

void FindFirst(int container_bytes, const void* src, const void* value, int64_t outer, int64_t axis,
               int32_t* index) {
  VisitContainer(container_bytes, [&](auto container) {
    FindFirstIn<decltype(container)>(src, value, outer, axis, index);
  });
}

// The same for interleaved rows of several reductions: from the end, so that the first position is
// marked last.
void MarkFirst(DType type, const void* src, const void* value, int64_t outer, int64_t axis,
               int64_t inner, int32_t* index) {
  const internal::MarkKernel mark = internal::FindMark(ContainerBytes(type));
  const size_t row_bytes = static_cast<size_t>(inner) * BytesOf(type);
  const auto* from = static_cast<const uint8_t*>(src);
  const auto* extremes = static_cast<const uint8_t*>(value);
  std::fill_n(index, outer * inner, -1);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t a = axis; a-- > 0;) {
      mark(from + static_cast<size_t>(o * axis + a) * row_bytes,
           extremes + static_cast<size_t>(o) * row_bytes, static_cast<int32_t>(a),
           index + o * inner, static_cast<size_t>(inner));
    }
  }
}

}  // namespace

ScratchSizes ReduceScratch(Opcode op, DType type, std::span<const int64_t> shape,
                           std::span<const int64_t> axes) {
  ScratchSizes sizes;
  const std::optional<Reduction> reduction = ReductionOf(op);
  if (!reduction || shape.size() > kMaxReduceRank) return sizes;
  const Groups groups = GroupAxes(shape, axes);
  const auto elements = static_cast<uint64_t>(Product(groups, groups.count));
  const bool wide = AccumulatesWide(*reduction, type);
  const uint64_t bytes = wide ? sizeof(float) : BytesOf(type);
  // The size after the last group is reduced; it shrinks with each further group.
  const size_t last = (groups.count / 2) * 2 - 1;
  const uint64_t left = groups.count < 2 || elements == 0
                            ? 0
                            : elements / static_cast<uint64_t>(groups.extents[last]) * bytes;
  if (type.IsFloat()) sizes[ScratchUse::kBlock] = left;
  if (wide) {
    sizes[ScratchUse::kWide] = elements * bytes;
    sizes[ScratchUse::kNarrow] = static_cast<uint64_t>(Results(groups)) * bytes;
  }
  if (groups.count > 3) sizes[ScratchUse::kAxes0] = sizes[ScratchUse::kAxes1] = left;
  return sizes;
}

void Reduce(Opcode op, DType type, const void* src, int64_t outer, int64_t axis, int64_t inner,
            void* out) {
  const std::optional<Reduction> reduction = ReductionOf(op);
  if (!reduction || outer == 0 || inner == 0) return;
  const bool wide = AccumulatesWide(*reduction, type);
  const ReduceKernels kernels = Kernels(op, wide ? kF32 : type);
  if (kernels.row == nullptr) return;
  if (wide) return ReduceWide(kernels, type, src, outer, axis, inner, out);
  ReduceNative(kernels, type, src, outer, axis, inner, out);
  if (type.IsBool() && axis == 0) {  // max and min of no bytes are 0 and 255
    Fill(1, op == Opcode::kReduceAll ? 1 : 0, out, static_cast<size_t>(outer * inner));
  }
}

void ReduceAxes(Opcode op, DType type, const void* src, std::span<const int64_t> shape,
                std::span<const int64_t> axes, void* out) {
  const std::optional<Reduction> reduction = ReductionOf(op);
  if (!reduction || shape.size() > kMaxReduceRank) return;
  Groups groups = GroupAxes(shape, axes);
  const auto elements = static_cast<size_t>(Product(groups, groups.count));
  if (groups.count == 1) {
    std::memcpy(out, src, elements * BytesOf(type));
    return;
  }
  if (groups.count <= 3) {
    const int64_t inner = groups.count == 3 ? groups.extents[2] : 1;
    return Reduce(op, type, src, groups.extents[0], groups.extents[1], inner, out);
  }
  const int64_t results = Results(groups);
  if (results == 0) return;
  if (elements == 0) return Reduce(op, type, src, results, 0, 1, out);
  if (!AccumulatesWide(*reduction, type)) {
    const ReduceKernels kernels = Kernels(op, type);
    if (kernels.row != nullptr) ReduceGroups(kernels, type, src, groups, out);
    return;
  }
  HostScratch& scratch = ThreadScratch();
  float* wide = scratch.Get<float>(ScratchUse::kWide, elements);
  float* narrow = scratch.Get<float>(ScratchUse::kNarrow, static_cast<size_t>(results));
  CastBulk(type, src, kF32, wide, elements);
  ReduceGroups(Kernels(op, kF32), kF32, wide, groups, narrow);
  CastBulk(kF32, narrow, type, out, static_cast<size_t>(results));
}

void ReduceArg(Opcode op, DType type, const void* src, int64_t outer, int64_t axis, int64_t inner,
               void* value, int32_t* index) {
  if (op != Opcode::kReduceArgmin && op != Opcode::kReduceArgmax) return;
  const ReduceKernels kernels = Kernels(op, type);
  if (kernels.row == nullptr || outer == 0 || inner == 0) return;
  ReduceNative(kernels, type, src, outer, axis, inner, value);
  if (inner == 1) {
    FindFirst(ContainerBytes(type), src, value, outer, axis, index);
  } else {
    MarkFirst(type, src, value, outer, axis, inner, index);
  }
}

}  // namespace tarsia::host
