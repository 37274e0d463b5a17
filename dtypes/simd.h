// The vector code of dtypes/ and vm/: there is one for each of a few instruction sets, and one that
// every processor of the architecture runs. The best that this processor has is used, or the one
// that the environment variable TARSIA_SIMD names. All compute the same, bit for bit.
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
  std::string_view name;  // for TARSIA_SIMD; empty: cannot be asked for
  const char* title = "";
};

// From the least to the best.
std::span<const SimdRow> AllSimd();
// Whether this processor has it, and this build code for it.
bool HasSimd(Simd simd);
const SimdRow& ChosenSimd();
// Whether TARSIA_SIMD was heeded: not where it names none, or one that this processor lacks. Then
// the best is used.
Status CheckSimd();

// For tests: what runs from now on in all threads. One that the processor has.
void UseSimd(Simd simd);

}  // namespace tarsia

#endif  // TARSIA_DTYPES_SIMD_H_
