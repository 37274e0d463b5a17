// Fuzzes the reader of .safetensors headers: for any bytes, the tensors lie within the file.
#include "runtime/files/safetensors.h"

#include <algorithm>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> head(data, std::min<size_t>(size, 8));
  const auto length = tarsia::SafetensorsHeaderLength(head, size);
  if (!length.ok()) return 0;
  if (*length > size - 8) std::abort();
  const std::string_view header(reinterpret_cast<const char*>(data) + 8,
                                static_cast<size_t>(*length));
  const auto tensors = tarsia::ParseSafetensorsHeader(header, size);
  if (!tensors.ok()) return 0;
  for (const auto& [name, tensor] : *tensors) {
    if (tensor.offset < 8 + *length || tensor.offset > size) std::abort();
    if (tensor.bytes > size - tensor.offset) std::abort();
    if (tarsia::FindTensor(*tensors, name).ok() != tensor.type.has_value()) std::abort();
  }
  return 0;
}
