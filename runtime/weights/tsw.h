// The .tsw format: a packed weight matrix. Numbers are little-endian.
//
//   file   = header (256 bytes) codes scales zeros gather codebook, each part padded with zeros to
//   a
//            multiple of 256 bytes; parts that the matrix lacks are empty
//   header = magic "\x89TSW\r\n\x1a\n"
//            8   version:u32 (1)          12  header_bytes:u32 (256)
//            16  file_bytes:u64           24  header_hash:u64, XXH3 of the header with 0 here
//            32  data_hash:u64, XXH3 of everything behind the header
//            40  k:i64  48 n:i64  56 group:i64
//            64  type:u8 compute:u8 scale_type:u8 zero_type:u8 (bytecode numbers of types; 0: none)
//            68  zero:u8 (0 none, 1 integer, 2 float) 69 flags:u8 (1 finite, 2 gathers, 4 codebook)
//            72  tensor_scale:f32         76  map_version:u32
//            80  whole_k:i64  88 whole_n:i64  96 first_k:i64  104 first_n:i64
//            112 layout id: 48 bytes of text, padded with zeros
//            160 zeros
//   gather = i32[k], codebook = f32[2^bits]
//
// The order of codes, scales and zero points is that of weights/packed_order.h.
#ifndef TARSIA_RUNTIME_WEIGHTS_TSW_H_
#define TARSIA_RUNTIME_WEIGHTS_TSW_H_

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/weights/weight_info.h"
#include "support/result.h"

namespace tarsia {

inline constexpr uint64_t kTswHeaderBytes = 256;
inline constexpr uint32_t kTswVersion = 1;

struct TswHeader {
  WeightInfo info;  // without the values of the codebook
  bool has_codebook = false;
  uint64_t file_bytes = 0;
  uint64_t data_hash = 0;
};

// Writes the header of an image, whose other parts are complete, into its first bytes.
void WriteTswHeader(const WeightInfo& info, std::span<uint8_t> image);
// The same for a file of so many bytes, whose data have this hash.
void WriteTswHeader(const WeightInfo& info, uint64_t file_bytes, uint64_t data_hash,
                    std::span<uint8_t, kTswHeaderBytes> header);

// Reads the header of a file of `file_bytes` bytes, of which `head` are the first. Treats it as
// hostile. Errors: no .tsw, an unknown version or map, a damaged or contradictory header, a file of
// another size than its header says.
Result<TswHeader> ReadTswHeader(std::span<const uint8_t> head, uint64_t file_bytes);

// The same of an image in memory, or nothing if it has no valid header, as one that a device
// packed.
std::optional<TswHeader> HeaderOfImage(std::span<const uint8_t> image);

// The hash of everything behind the header.
uint64_t HashOfData(std::span<const uint8_t> image);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_TSW_H_
