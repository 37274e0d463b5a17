#include "vm/host/reduce_kernels.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "dtypes/container.h"
#include "vm/host/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vm/host/reduce_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

#ifndef TARSIA_VM_HOST_REDUCE_KERNELS_ONCE_
#define TARSIA_VM_HOST_REDUCE_KERNELS_ONCE_
namespace tarsia::host::internal {
namespace {

// How min and max order the codes of a type: by integer keys, without NaNs.
template <typename T>
struct IntegerOrder {
  using Code = T;
  using Key = T;
  static constexpr Key kLeast = std::numeric_limits<T>::min();
  static constexpr Key kMost = std::numeric_limits<T>::max();
  static Key ToKey(Code code) { return code; }
  static Code ToCode(Key key) { return key; }
  static bool IsNan(Code) { return false; }
};

// Signed is the integer of the float's width, infinity its positive infinity. Keys of negative
// numbers are the complement of their magnitude, so that -0 (-1) is below +0 (0).
template <typename Signed, Signed infinity>
struct FloatOrder {
  using Code = Signed;
  using Key = Signed;
  static constexpr Signed kMagnitude = std::numeric_limits<Signed>::max();
  static constexpr Key kLeast = static_cast<Key>(~infinity);
  static constexpr Key kMost = infinity;
  static Key ToKey(Code code) {
    return static_cast<Key>(code ^ ((code >> (8 * sizeof(Code) - 1)) & kMagnitude));
  }
  static Code ToCode(Key key) { return ToKey(key); }
  static bool IsNan(Code code) { return (code & kMagnitude) > infinity; }
};

using F16Order = FloatOrder<int16_t, 0x7C00>;
using BF16Order = FloatOrder<int16_t, 0x7F80>;
using F32Order = FloatOrder<int32_t, 0x7F800000>;
using F64Order = FloatOrder<int64_t, 0x7FF0000000000000>;

struct MinTag {
  template <typename Order>
  static constexpr typename Order::Key kEmpty = Order::kMost;
  template <typename K>
  static K Run(K a, K b) {
    return b < a ? b : a;
  }
};
struct MaxTag {
  template <typename Order>
  static constexpr typename Order::Key kEmpty = Order::kLeast;
  template <typename K>
  static K Run(K a, K b) {
    return a < b ? b : a;
  }
};
struct SumTag {
  static constexpr int kEmpty = 0;
  template <typename T>
  static T Run(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct ProdTag {
  static constexpr int kEmpty = 1;
  template <typename T>
  static T Run(T a, T b) {
    if constexpr (std::is_integral_v<T>) {  // in 64 bits: 16-bit factors would be promoted to int
      return static_cast<T>(uint64_t{a} * uint64_t{b});
    } else {
      return a * b;
    }
  }
};

}  // namespace
}  // namespace tarsia::host::internal
#endif  // TARSIA_VM_HOST_REDUCE_KERNELS_ONCE_

HWY_BEFORE_NAMESPACE();
namespace tarsia::host::internal {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// --- min, max ---

template <typename Order, typename Tag>
void ExtremeRow(const void* src, size_t n, void* out) {
  using Code = typename Order::Code;
  using Key = typename Order::Key;
  const Code* x = static_cast<const Code*>(src);
  constexpr Key kEmpty = Tag::template kEmpty<Order>;
  Key best = kEmpty;
  for (size_t i = 0; i < n; ++i) {
    const Key key = Order::IsNan(x[i]) ? kEmpty : Order::ToKey(x[i]);
    best = Tag::Run(best, key);
  }
  *static_cast<Code*>(out) = Order::ToCode(best);
}

template <typename Order, typename Tag>
void ExtremeInto(const void* src, void* out, size_t n) {
  using Code = typename Order::Code;
  using Key = typename Order::Key;
  const Code* x = static_cast<const Code*>(src);
  Code* y = static_cast<Code*>(out);
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) {
    const Key old = Order::ToKey(y[i]);
    const Key key = Order::IsNan(x[i]) ? old : Order::ToKey(x[i]);
    y[i] = Order::ToCode(Tag::Run(old, key));
  }
}

template <typename Order, typename Tag>
constexpr ReduceKernels Extreme() {
  using Code = std::make_unsigned_t<typename Order::Code>;
  // ToCode of the empty value, written out because it is needed at compile time.
  constexpr auto kKey = Tag::template kEmpty<Order>;
  constexpr bool kFlip = !std::is_same_v<Order, IntegerOrder<typename Order::Code>> && kKey < 0;
  constexpr auto kFlips = static_cast<Code>(kFlip ? static_cast<Code>(~Code{0}) >> 1 : 0);
  return {&ExtremeRow<Order, Tag>, &ExtremeInto<Order, Tag>,
          static_cast<Code>(static_cast<Code>(kKey) ^ kFlips)};
}

// --- sum, prod ---

template <typename T, typename Tag>
void IntegerRow(const void* src, size_t n, void* out) {
  const T* x = static_cast<const T*>(src);
  T total = static_cast<T>(Tag::kEmpty);
  for (size_t i = 0; i < n; ++i) total = Tag::Run(total, x[i]);
  *static_cast<T*>(out) = total;
}

template <typename V>
HWY_INLINE V Apply(SumTag, V a, V b) {
  return hn::Add(a, b);
}
template <typename V>
HWY_INLINE V Apply(ProdTag, V a, V b) {
  return hn::Mul(a, b);
}

// Partial results of a block: element i is added to number i % kPartials. They are 256 bytes on
// every instruction set, four of the longest vectors, so that sums are the same on all of them.
template <typename T>
inline constexpr size_t kPartials = 256 / sizeof(T);

// Combines the upper half of `count` results with the lower until one is left; count is a power of
// two.
template <typename T, typename Tag>
T CombinePartials(T* values, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  while (count > 1) {
    count /= 2;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(Apply(Tag(), hn::LoadU(d, values + i), hn::LoadU(d, values + count + i)), d,
                 values + i);
    }
    for (; i < count; ++i) values[i] = Tag::Run(values[i], values[count + i]);
  }
  return values[0];
}

template <typename T, typename Tag>
T FloatBlock(const T* x, size_t n) {
  const hn::ScalableTag<T> d;
  constexpr size_t kCount = kPartials<T>;
  constexpr size_t kVectors = kCount / HWY_LANES(T);
  const size_t lanes = hn::Lanes(d);
  const auto empty = hn::Set(d, static_cast<T>(Tag::kEmpty));
  hn::Vec<decltype(d)> p[kVectors];
#pragma GCC unroll 64
  for (size_t v = 0; v < kVectors; ++v) p[v] = empty;
  size_t i = 0;
  for (; i + kCount <= n; i += kCount) {
#pragma GCC unroll 64
    for (size_t v = 0; v < kVectors; ++v) {
      p[v] = Apply(Tag(), p[v], hn::LoadU(d, x + i + v * lanes));
    }
  }
  HWY_ALIGN T values[kCount];
#pragma GCC unroll 64
  for (size_t v = 0; v < kVectors; ++v) hn::Store(p[v], d, values + v * lanes);
  // Partial results past the end of the block hold no elements and are left out.
  const size_t used = i != 0 ? kCount : std::bit_ceil(std::max<size_t>(n, 1));
  size_t j = 0;
  for (; i + lanes <= n; i += lanes, j += lanes) {
    hn::StoreU(Apply(Tag(), hn::LoadU(d, values + j), hn::LoadU(d, x + i)), d, values + j);
  }
  for (; i < n; ++i, ++j) values[j] = Tag::Run(values[j], x[i]);
  return CombinePartials<T, Tag>(values, used);
}

// In blocks, so that no partial result has more than a few hundred roundings.
template <typename T, typename Tag>
void FloatRow(const void* src, size_t n, void* out) {
  constexpr size_t kBlock = 4096;
  const T* x = static_cast<const T*>(src);
  T total = static_cast<T>(Tag::kEmpty);
  for (size_t first = 0; first < n; first += kBlock) {
    total = Tag::Run(total, FloatBlock<T, Tag>(x + first, std::min(kBlock, n - first)));
  }
  *static_cast<T*>(out) = total;
}

template <typename T, typename Tag>
void ArithmeticInto(const void* src, void* out, size_t n) {
  const T* x = static_cast<const T*>(src);
  T* y = static_cast<T*>(out);
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) y[i] = Tag::Run(y[i], x[i]);
}

template <typename T, typename Tag>
constexpr ReduceKernels Integer() {
  return {&IntegerRow<T, Tag>, &ArithmeticInto<T, Tag>, uint64_t{Tag::kEmpty}};
}

template <typename T, typename Bits, typename Tag>
constexpr ReduceKernels Float() {
  return {&FloatRow<T, Tag>, &ArithmeticInto<T, Tag>,
          std::bit_cast<Bits>(static_cast<T>(Tag::kEmpty))};
}

struct Row {
  ReduceKernels lanes[kReduceLanes];
};

template <typename Tag>
constexpr Row ArithmeticKernels() {
  return {{Integer<uint8_t, Tag>(), Integer<uint16_t, Tag>(), Integer<uint32_t, Tag>(),
           Integer<uint64_t, Tag>(), Integer<uint8_t, Tag>(), Integer<uint16_t, Tag>(),
           Integer<uint32_t, Tag>(), Integer<uint64_t, Tag>(), Float<float, uint32_t, Tag>(),
           Float<double, uint64_t, Tag>(), ReduceKernels{}, ReduceKernels{}}};
}

template <typename Tag>
constexpr Row ExtremeKernels() {
  return {{Extreme<IntegerOrder<uint8_t>, Tag>(), Extreme<IntegerOrder<uint16_t>, Tag>(),
           Extreme<IntegerOrder<uint32_t>, Tag>(), Extreme<IntegerOrder<uint64_t>, Tag>(),
           Extreme<IntegerOrder<int8_t>, Tag>(), Extreme<IntegerOrder<int16_t>, Tag>(),
           Extreme<IntegerOrder<int32_t>, Tag>(), Extreme<IntegerOrder<int64_t>, Tag>(),
           Extreme<F32Order, Tag>(), Extreme<F64Order, Tag>(), Extreme<F16Order, Tag>(),
           Extreme<BF16Order, Tag>()}};
}

constexpr Row kRows[kReductions] = {ArithmeticKernels<SumTag>(), ArithmeticKernels<ProdTag>(),
                                    ExtremeKernels<MinTag>(), ExtremeKernels<MaxTag>()};

// --- positions of extremes ---

template <typename T>
void MarkLoop(const void* src, const void* value, int32_t at, int32_t* index, size_t n) {
  const T* x = static_cast<const T*>(src);
  const T* y = static_cast<const T*>(value);
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) index[i] = x[i] == y[i] ? at : index[i];
}

}  // namespace

ReduceKernels ReduceFor(Reduction reduction, ReduceLane lane) {
  return kRows[static_cast<size_t>(reduction)].lanes[static_cast<size_t>(lane)];
}

MarkKernel MarkFor(int container_bytes) {
  return VisitContainer(
      container_bytes, [](auto container) -> MarkKernel { return &MarkLoop<decltype(container)>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace tarsia::host::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::host::internal {

namespace {
HWY_EXPORT(ReduceFor);
HWY_EXPORT(MarkFor);
}  // namespace

ReduceKernels FindReduce(Reduction reduction, ReduceLane lane) {
  return TARSIA_DISPATCH(ReduceFor)(reduction, lane);
}

MarkKernel FindMark(int container_bytes) { return TARSIA_DISPATCH(MarkFor)(container_bytes); }

}  // namespace tarsia::host::internal
#endif  // HWY_ONCE
