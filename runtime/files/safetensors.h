// The .safetensors format, read only.
//
//   file   = length:u64 header data               (little-endian)
//   header = a JSON object of `length` bytes: { "name": { "dtype": "F16", "shape": [384, 1536],
//            "data_offsets": [begin, end] }, .., "__metadata__": { "key": "text", .. } }
//
// Offsets count from the start of the data. The tensors must cover the data without gaps or
// overlaps, as the format requires. Element types: F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64
// BOOL F8_E4M3 (f8e4m3fn) F8_E5M2 (f8e5m2) F8_E8M0 (e8m0) C64.
#ifndef TARSIA_RUNTIME_FILES_SAFETENSORS_H_
#define TARSIA_RUNTIME_FILES_SAFETENSORS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/file.h"
#include "runtime/files/tensor_file.h"
#include "support/result.h"

namespace tarsia {

inline constexpr uint64_t kSafetensorsMaxHeader = 100'000'000;  // the limit of the format

struct NamedTensor {
  std::string name;
  TensorInfo tensor;
};

// Reads the header of a file of `file_bytes` bytes; `header` is the JSON text, which begins at byte
// 8. Treats it as hostile: memory is bounded by the size of the text, time is linear (but for a
// sort). The tensors are sorted by name. One of a type that is not in the list above has no `type`,
// and its bytes are those of its offsets, whatever its shape.
Result<std::vector<NamedTensor>> ParseSafetensorsHeader(std::string_view header,
                                                        uint64_t file_bytes);
// The length of the header from the first 8 bytes. Errors: it exceeds the file.
Result<uint64_t> SafetensorsHeaderLength(std::span<const uint8_t> head, uint64_t file_bytes);
Result<std::vector<NamedTensor>> ReadSafetensorsHeader(const InputFile& file);
// The tensor with a name. Errors: suggests the nearest name; its type is unknown.
Result<TensorInfo> FindTensor(const std::vector<NamedTensor>& tensors, std::string_view name);

// The format's name of a type; empty if it has none.
std::string_view SafetensorsTypeName(DType type);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_FILES_SAFETENSORS_H_
