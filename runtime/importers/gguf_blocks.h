// The quantised types of ggml: blocks of 32 or 256 weights (ggml-quants of
// github.com/ggml-org/ggml).
#ifndef TARSIA_RUNTIME_IMPORTERS_GGUF_BLOCKS_H_
#define TARSIA_RUNTIME_IMPORTERS_GGUF_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/importers/gguf_file.h"
#include "runtime/weights/packed_weights.h"
#include "support/result.h"

namespace tarsia {

struct GgufBlock {
  std::string_view name;  // "Q4_K", "F16"
  int64_t elements = 1;
  int64_t bytes = 1;
  bool weights = false;  // one of the types that ReadGguf reads
};
// By the number of a type; none if it is unknown.
std::optional<GgufBlock> GgufBlockSize(uint32_t type);
// "Q4_K"; the number of a type that ggml did not have when this was written.
std::string GgufTypeName(uint32_t type);

// Codes, scales and zero points of matrix number `index` (of the extents from the third on) of a
// tensor in the file with these bytes, which must outlive the result.
// Errors: a type that is not one of weights, fewer than two extents, an index beyond them.
Result<CodeSource> ReadGguf(const GgufTensor& tensor, const uint8_t* file, int64_t index);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_GGUF_BLOCKS_H_
