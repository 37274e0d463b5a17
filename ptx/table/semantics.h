// The memory semantics of accesses: scope and strength, atomicity, proxy (PTX ISA, "Memory
// Consistency Model").
#ifndef TARSIA_PTX_TABLE_SEMANTICS_H_
#define TARSIA_PTX_TABLE_SEMANTICS_H_

#include <cstdint>

#include "ptx/table/code.h"

namespace tarsia::ptx {

// The scope of a strong access. A set of semantics is a Strength and any of the bits below.
enum class Strength : uint8_t { kWeak, kCta, kCluster, kGpu, kSys };
inline constexpr uint8_t kStrengthBits = 7;
inline constexpr uint8_t kAtomicBit = 8;        // an atomic read-modify-write
inline constexpr uint8_t kAsyncBit = 16;        // by an agent
inline constexpr uint8_t kAsyncProxyBit = 32;   // within the asynchronous proxy
inline constexpr uint8_t kNonCoherentBit = 64;  // ld.global.nc
inline constexpr uint8_t kStaleBit = 128;       // what it wrote has been overwritten

// The scope that an instruction names, or has by itself.
Strength ScopeOf(const Inst& inst);
// The semantics with which an instruction accesses memory.
uint8_t SemanticsOf(const Inst& inst);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_SEMANTICS_H_
