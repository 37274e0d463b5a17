// Fuzzes the reader of GGUF files: for any bytes, the tensors lie within them, and weights can be
// packed.
#include "runtime/importers/gguf_file.h"

#include <cstdlib>

#include "runtime/importers/gguf_blocks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = tarsia::ParseGguf({data, size});
  if (!header.ok()) return 0;
  for (const tarsia::GgufTensor& tensor : header->tensors) {
    if (tensor.offset > size || tensor.bytes > size - tensor.offset) std::abort();
    const auto source = tarsia::ReadGguf(tensor, data, 0);
    if (!source.ok()) continue;
    const auto packed = tarsia::PackedWeights::Pack(*source);
    if (packed.ok() && !tarsia::PackedWeights::FromBytes(packed->image()).ok()) std::abort();
  }
  return 0;
}
