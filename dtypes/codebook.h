// Codebooks: the meaning of codes of a few bits that no formula describes. A code is an index into
// a list of numbers; the codes themselves are plain unsigned integers (`u4` for sixteen values) and
// are packed, loaded and moved as such.
#ifndef TARSIA_DTYPES_CODEBOOK_H_
#define TARSIA_DTYPES_CODEBOOK_H_

#include <optional>
#include <span>
#include <string_view>

#include "dtypes/dtype.h"

namespace tarsia {

struct Codebook {
  std::string_view name;
  std::string_view doc;           // one line
  std::span<const float> values;  // of code 0, 1, ..; in any order, 2^bits of them
};

// The named ones: nf4, iq4_nl, fp4.
std::span<const Codebook> AllCodebooks();
// The codebook of a name; null if there is none.
const Codebook* FindCodebook(std::string_view name);

// The type of a codebook's codes: u1 to u8 for 2 to 256 values. Empty if the number of values is
// not such a power of two, or if a value is not finite.
std::optional<DType> CodeTypeOf(const Codebook& book);

}  // namespace tarsia

#endif  // TARSIA_DTYPES_CODEBOOK_H_
