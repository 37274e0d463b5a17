// Codes and numbers by plain formulas, for expectations: nothing here uses the library's own
// conversions. All functions are pure.
#ifndef TARSIA_TESTS_HARNESS_CODEC_H_
#define TARSIA_TESTS_HARNESS_CODEC_H_

#include <cstdint>
#include <optional>
#include <string>

#include "dtypes/dtype.h"

namespace tarsia::harness {

// The number that a code means; of a complex type the real part. u64 and i64 beyond 2^53 round.
double Decode(DType type, uint64_t code);
// The imaginary part of a complex code; 0 for all other types.
double DecodeImaginary(DType type, uint64_t code);

// The code of a number that the type holds exactly (bit for bit: -0 is not 0); empty otherwise. For
// NaN, the positive quiet NaN. Complex types: the imaginary part is 0.
std::optional<uint64_t> EncodeExact(DType type, double value);

// The code of an integer, given as sign and magnitude; empty if the integer type cannot hold it.
std::optional<uint64_t> EncodeInteger(DType type, bool negative, uint64_t magnitude);

// The integer value of a code, for every integer type and bool.
int64_t DecodeInteger(DType type, uint64_t code);

bool IsNan(DType type, uint64_t code);

// The distance of neighbouring values of a float type around `value`; 1 for integers.
double UlpAt(DType type, double value);
// The largest finite value.
double LargestFinite(DType type);

// "1.5 (0x3E00)", for messages.
std::string Show(DType type, uint64_t code);
std::string Show(double value);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_CODEC_H_
