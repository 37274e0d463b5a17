// The native types of arithmetic types, for loops over arrays of elements. Internal to vm/host/.
#ifndef TARSIA_VM_HOST_NATIVE_H_
#define TARSIA_VM_HOST_NATIVE_H_

#include <cstdint>
#include <limits>

#include "dtypes/arith.h"
#include "dtypes/dtype.h"

namespace tarsia::host {

// The greatest (or least) value there can be: an infinity of a float.
template <typename T>
T Extreme(bool greatest) {
  if constexpr (arith::Float<T>) {
    const double infinity = std::numeric_limits<double>::infinity();
    return arith::RoundTo<T>(greatest ? infinity : -infinity);
  } else {
    return greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  }
}

// Calls visit(T{}) for the native type of an arithmetic type.
template <typename Visit>
void VisitNative(DType type, const Visit& visit) {
  if (type == kF16) return visit(arith::F16{});
  if (type == kBF16) return visit(arith::BF16{});
  if (type == kF32) return visit(float{});
  if (type == kF64) return visit(double{});
  if (type == kI8) return visit(int8_t{});
  if (type == kU8) return visit(uint8_t{});
  if (type == kI16) return visit(int16_t{});
  if (type == kU16) return visit(uint16_t{});
  if (type == kI32) return visit(int32_t{});
  if (type == kU32) return visit(uint32_t{});
  if (type == kI64) return visit(int64_t{});
  if (type == kU64) return visit(uint64_t{});
}

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_NATIVE_H_
