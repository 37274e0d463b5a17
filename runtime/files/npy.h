// The .npy format of NumPy, versions 1.0 to 3.0: little-endian, C order.
//
//   file    = "\x93NUMPY" major:u8 minor:u8 length:(u16 in 1.0, else u32) header data
//   header  = a Python literal { 'descr': '<f2', 'fortran_order': False, 'shape': (16, 128), },
//             then blanks and a newline
//
// Types: f2, f4, f8, i1 to i8, u1 to u8, b1, c8, and V1 to V16 as untyped bytes. Anything else,
// big-endian data and Fortran order of more than one dimension are refused.
#ifndef TARSIA_RUNTIME_FILES_NPY_H_
#define TARSIA_RUNTIME_FILES_NPY_H_

#include <span>
#include <string>

#include "dtypes/dtype.h"
#include "runtime/files/file.h"
#include "runtime/files/tensor_file.h"
#include "support/result.h"

namespace tarsia {

// Reads the header of a file that has `file_bytes` bytes, of which `head` are the first (all of it,
// or at least kNpyMaxHeader). Treats it as hostile; checks that the file has exactly the bytes of
// the data.
inline constexpr size_t kNpyMaxHeader = 1 << 16;
Result<TensorInfo> ParseNpyHeader(std::span<const uint8_t> head, uint64_t file_bytes);
Result<TensorInfo> ReadNpyHeader(const InputFile& file);

// NumPy's name of a type; empty if it has none.
std::string NpyTypeName(DType type);
// The header of an array, padded so that the data begins at a multiple of 64 bytes.
std::string NpyHeader(const std::string& type_name, std::span<const int64_t> shape);
// Writes an array atomically.
Status WriteNpy(const std::string& path, const std::string& type_name,
                std::span<const int64_t> shape, std::span<const uint8_t> data);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_FILES_NPY_H_
