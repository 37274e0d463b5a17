// The choice of vector code in dtypes/ and vm/: there is code for several instruction sets,
// including one that every processor of the architecture has. The best one of this processor is
// used, or the one that the environment variable TARSIA_SIMD names. All compute the same results,
// bit for bit.
#ifndef TARSIA_DTYPES_SIMD_H_
#define TARSIA_DTYPES_SIMD_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "support/result.h"

namespace tarsia {

inline constexpr char kSimdVariable[] = "TARSIA_SIMD";

enum class Simd : uint8_t { kBaseline, kSse4, kAvx2, kAvx512 };

struct SimdRow {
  Simd simd = Simd::kBaseline;
  std::string_view name;  // for TARSIA_SIMD; empty: cannot be requested
  const char* title = "";
};

// From the least to the best.
std::span<const SimdRow> AllSimd();
// Whether this processor has it and this build has code for it.
bool HasSimd(Simd simd);
const SimdRow& ChosenSimd();
// An error if TARSIA_SIMD names an unknown instruction set, or one that this processor lacks. Then
// the best one is used.
Status CheckSimd();

// For tests: sets the instruction set of all threads, one that the processor has.
void UseSimd(Simd simd);

}  // namespace tarsia

#endif  // TARSIA_DTYPES_SIMD_H_
