// Shared by .npy and .safetensors: a tensor in a file, with its type if the format can name it.
#ifndef TARSIA_RUNTIME_FILES_TENSOR_FILE_H_
#define TARSIA_RUNTIME_FILES_TENSOR_FILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "runtime/files/file.h"
#include "support/result.h"

namespace tarsia {

inline constexpr size_t kMaxTensorRank = 64;

// Where a tensor lies in a file, in row-major order.
struct TensorInfo {
  std::string type_name;      // as in the file: "<f2", "BF16"
  std::optional<DType> type;  // empty for raw bytes (`|V1`)
  uint64_t item_bytes = 1;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // of its first byte in the file
  uint64_t bytes = 0;   // product of the shape, times item_bytes
};

// Sets `bytes` from shape and item_bytes. Errors: a product above 2^62.
Status CountBytes(TensorInfo* tensor);
// Reads the bytes of a tensor.
Result<HostBuffer> ReadTensor(const InputFile& file, const TensorInfo& tensor);
// "[16, 128]".
std::string ShapeText(std::span<const int64_t> shape);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_FILES_TENSOR_FILE_H_
