// Memory limits as text: a number and a unit.
//
//   limit = number [ prefix ] [ "B" ]
//   prefix = ( "k" | "M" | "G" | "T" ) [ "i" ]
//
// k, M, G, T are powers of 1000; with `i`, powers of 1024: 2G is 2 * 10^9, 2GiB is 2^31. Behind
// a unit, a fraction of a byte is dropped.
#ifndef TARSIA_PLANNER_LIMIT_H_
#define TARSIA_PLANNER_LIMIT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tarsia {

// Bytes. Errors: no such text, zero, more than 2^62 bytes.
Result<uint64_t> ParseLimit(std::string_view text);
// "1 byte", "4096 bytes".
std::string CountText(uint64_t bytes);
// "1.50 GiB", for people.
std::string BytesText(uint64_t bytes);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_LIMIT_H_
