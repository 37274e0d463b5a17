// The GGUF format of ggml (docs/gguf.md of github.com/ggml-org/ggml), versions 2 and 3,
// little-endian; read only.
//
//   file   = "GGUF" version:u32 tensors:u64 pairs:u64 pair* tensor* padding data
//   pair   = key:string type:u32 value           string = length:u64 bytes
//   tensor = name:string rank:u32 extent:u64* type:u32 offset:u64
//
// Values have the types u8 i8 u16 i16 u32 i32 f32 bool string array u64 i64 f64 (0 to 12); an array
// is type:u32 count:u64 value*, where values may be arrays again. Models may be split into several
// files: `split.no` (from 0) and `split.count` say which one this is. The data begins at a multiple
// of the alignment (the value of `general.alignment`, else 32), as does each tensor in it; the
// first extent is that of adjacent elements.
#ifndef TARSIA_RUNTIME_IMPORTERS_GGUF_FILE_H_
#define TARSIA_RUNTIME_IMPORTERS_GGUF_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace tarsia {

struct GgufTensor {
  std::string name;
  uint32_t type = 0;
  std::vector<int64_t> extents;  // the first is that of adjacent elements; 1 to 4
  uint64_t offset = 0;           // in the file
  uint64_t bytes = 0;            // 0: the type is unknown
};

struct GgufHeader {
  std::vector<GgufTensor> tensors;  // by name
  uint64_t part = 0, parts = 1;     // of a model in several files
};

// Reads the header of a whole file. Treats it as hostile: memory is bounded by the size of the
// header. Tensors of known types lie within the file and do not overlap.
Result<GgufHeader> ParseGguf(std::span<const uint8_t> file);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_GGUF_FILE_H_
