// An access of a thread to memory, and the bytes that it finds there.
#ifndef TARSIA_PTX_MEMORY_PLACE_H_
#define TARSIA_PTX_MEMORY_PLACE_H_

#include <cstdint>

namespace tarsia::ptx {

enum class Access : uint8_t { kRead, kWrite, kAtomic };

// Bytes in some memory, and which of their bits are defined.
struct Place {
  uint8_t* data = nullptr;
  uint8_t* defined = nullptr;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_PLACE_H_
