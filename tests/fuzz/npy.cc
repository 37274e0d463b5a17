// Fuzzes the reader of .npy headers: for any bytes the result lies within them.
#include "runtime/files/npy.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = tarsia::ParseNpyHeader({data, size}, size);
  if (!parsed.ok()) return 0;
  if (parsed->offset > size || parsed->bytes != size - parsed->offset) std::abort();
  // A header that was read is written so that it reads back as the same.
  if (parsed->type_name[0] == '>') return 0;
  std::string again = tarsia::NpyHeader(parsed->type_name, parsed->shape);
  const auto* bytes = reinterpret_cast<const uint8_t*>(again.data());
  const auto second = tarsia::ParseNpyHeader({bytes, again.size()}, again.size() + parsed->bytes);
  if (!second.ok() || second->shape != parsed->shape || second->type != parsed->type) std::abort();
  return 0;
}
