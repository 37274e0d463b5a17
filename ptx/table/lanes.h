// The lanes of a warp: masks of them, and their values side by side in a register.
#ifndef TARSIA_PTX_TABLE_LANES_H_
#define TARSIA_PTX_TABLE_LANES_H_

#include <bit>
#include <cstdint>
#include <cstring>

#include "ptx/table/code.h"

namespace tarsia::ptx {

template <typename T>
inline T LoadLane(const uint8_t* lanes, int lane) {
  T value;
  std::memcpy(&value, lanes + static_cast<size_t>(lane) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
inline void StoreLane(uint8_t* lanes, int lane, T value) {
  std::memcpy(lanes + static_cast<size_t>(lane) * sizeof(T), &value, sizeof(T));
}

// All bits of a register of `bytes` bytes (1 for a predicate).
inline uint64_t AllBits(int bytes) {
  return bytes == 0 ? 1 : bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (bytes * 8)) - 1;
}

// A lane of a register of `bytes` bytes, 0 for a predicate; the low 64 bits of a wider one.
inline uint64_t LoadLaneBits(const uint8_t* lanes, int bytes, int lane) {
  switch (bytes) {
    case 0:
      return LoadLane<uint32_t>(lanes, 0) >> lane & 1;
    case 1:
      return LoadLane<uint8_t>(lanes, lane);
    case 2:
      return LoadLane<uint16_t>(lanes, lane);
    case 4:
      return LoadLane<uint32_t>(lanes, lane);
    case 8:
      return LoadLane<uint64_t>(lanes, lane);
    default:
      return LoadLane<uint64_t>(lanes, lane * 2);
  }
}

// Stores the low bits of a value in a lane of such a register; zeros in what is above 64 bits.
inline void StoreLaneBits(uint8_t* lanes, int bytes, int lane, uint64_t bits) {
  switch (bytes) {
    case 0: {
      const uint32_t others = LoadLane<uint32_t>(lanes, 0) & ~(uint32_t{1} << lane);
      return StoreLane(lanes, 0, others | (static_cast<uint32_t>(bits & 1) << lane));
    }
    case 1:
      return StoreLane(lanes, lane, static_cast<uint8_t>(bits));
    case 2:
      return StoreLane(lanes, lane, static_cast<uint16_t>(bits));
    case 4:
      return StoreLane(lanes, lane, static_cast<uint32_t>(bits));
    case 8:
      return StoreLane(lanes, lane, bits);
    default:
      StoreLane(lanes, lane * 2, bits);
      return StoreLane(lanes, lane * 2 + 1, uint64_t{0});
  }
}

template <typename F>
inline void ForLanes(uint32_t mask, const F& f) {
  if (mask == kAllLanes) {
    for (int lane = 0; lane < kLanes; ++lane) f(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
  }
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_LANES_H_
