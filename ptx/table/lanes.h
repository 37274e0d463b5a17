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
