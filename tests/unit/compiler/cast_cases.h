// The codes of a type for tests of casts.
#ifndef TARSIA_TESTS_UNIT_COMPILER_CAST_CASES_H_
#define TARSIA_TESTS_UNIT_COMPILER_CAST_CASES_H_

#include <cstdint>
#include <vector>

#include "dtypes/dtype.h"

namespace tarsia::compiler {

// All codes of a type of at most 16 bits. Of wider ones: the values of every type of at most 8 bits
// (16 in long tests), half way between neighbours of them, each with its own neighbours, special
// values, and random codes.
std::vector<uint64_t> InterestingCodes(DType type);

}  // namespace tarsia::compiler

#endif  // TARSIA_TESTS_UNIT_COMPILER_CAST_CASES_H_
