// The integer that a container of so many bytes is, for templates over it.
#ifndef TARSIA_DTYPES_CONTAINER_H_
#define TARSIA_DTYPES_CONTAINER_H_

#include <cstdint>

namespace tarsia {

// What visit(T{}) returns, T the unsigned integer of `bytes`, which ContainerBytes gave.
template <typename Visit>
auto VisitContainer(int bytes, const Visit& visit) {
  if (bytes == 1) return visit(uint8_t{});
  if (bytes == 2) return visit(uint16_t{});
  if (bytes == 4) return visit(uint32_t{});
  return visit(uint64_t{});
}

}  // namespace tarsia

#endif  // TARSIA_DTYPES_CONTAINER_H_
