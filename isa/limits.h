// The limits of programs in the language, in launches and on every device.
#ifndef TARSIA_ISA_LIMITS_H_
#define TARSIA_ISA_LIMITS_H_

#include <cstdint>

#include "layout/reg_layout.h"

namespace tarsia {

// ---- of tiles
inline constexpr int kMaxRank = kMaxLayoutRank;
inline constexpr int64_t kMaxExtent = int64_t{1} << 40;
inline constexpr int64_t kMaxTileElements = int64_t{1} << 26;  // of register and shared tiles
// Of the first byte of a shared tile, whatever the period of its swizzles: they move bytes within
// the tile, wherever that begins.
inline constexpr int64_t kMostSharedAlignment = 1024;

// ---- of text and bytecode
inline constexpr int kMaxBlockDepth = 64;  // blocks inside of a kernel's body

// ---- of launches
inline constexpr int64_t kLeastRegisterBound = 24;     // ptxas raises a lower .maxnreg to it
inline constexpr int64_t kMostRegisterBound = 255;     // of a thread, on any device
inline constexpr int kMaxWarps = 32;                   // of a block, on any device
inline constexpr int kDefaultWarps = 4;                // where a kernel does not say
inline constexpr int64_t kPointerAlignment = 16;       // bytes, where `assume` does not say
inline constexpr int64_t kMaxAssumedAlignment = 4096;  // bytes
inline constexpr int64_t kMaxGridExtent = INT32_MAX;
inline constexpr int64_t kMaxBlocks = int64_t{1} << 62;

}  // namespace tarsia

#endif  // TARSIA_ISA_LIMITS_H_
