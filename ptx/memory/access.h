// Reads and writes of emulated memory. Blocks of a launch run on several host threads and may touch
// the same bytes, so that all of them are relaxed atomic accesses (which cost nothing).
#ifndef TARSIA_PTX_MEMORY_ACCESS_H_
#define TARSIA_PTX_MEMORY_ACCESS_H_

#include <atomic>
#include <cstdint>

namespace tarsia::ptx {

template <typename T>
inline T ReadAtomic(uint8_t* at) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(at)).load(std::memory_order_relaxed);
}

template <typename T>
inline void WriteAtomic(uint8_t* at, T value) {
  std::atomic_ref<T>(*reinterpret_cast<T*>(at)).store(value, std::memory_order_relaxed);
}

// 1, 2, 4 or 8 bytes at an address that is a multiple of as many.
inline uint64_t ReadBytes(uint8_t* at, int bytes) {
  switch (bytes) {
    case 1:
      return ReadAtomic<uint8_t>(at);
    case 2:
      return ReadAtomic<uint16_t>(at);
    case 4:
      return ReadAtomic<uint32_t>(at);
    default:
      return ReadAtomic<uint64_t>(at);
  }
}

inline void WriteBytes(uint8_t* at, int bytes, uint64_t bits) {
  switch (bytes) {
    case 1:
      return WriteAtomic(at, static_cast<uint8_t>(bits));
    case 2:
      return WriteAtomic(at, static_cast<uint16_t>(bits));
    case 4:
      return WriteAtomic(at, static_cast<uint32_t>(bits));
    default:
      return WriteAtomic(at, bits);
  }
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_ACCESS_H_
