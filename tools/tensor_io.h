// Input and output tensors of `tarsia run`: .npy, .safetensors.
#ifndef TARSIA_TOOLS_TENSOR_IO_H_
#define TARSIA_TOOLS_TENSOR_IO_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dtypes/dtype.h"
#include "runtime/files/file.h"
#include "runtime/files/tensor_file.h"

namespace tarsia::tools {

struct InputTensor {
  std::string source;  // for messages: "x.npy", "m.safetensors:layer.0"
  TensorInfo info;
  HostBuffer data;
  bool npy = true;
  bool packed = false;  // a part of a .tsw file: raw memory for any type
  // Whether the file's format can name a type. If so, another type is an error; raw bytes are
  // accepted only for the other types.
  [[nodiscard]] bool CanName(DType type) const;
};

// A tensor of an open file, none of whose elements is read yet.
struct InputTensorFile {
  std::string source;
  TensorInfo info;
  std::optional<InputFile> file;  // open after OpenInput
  bool npy = true;
  bool packed = false;                           // as of InputTensor
  [[nodiscard]] bool CanName(DType type) const;  // as of InputTensor
};

// The file of what OpenInput takes.
std::string FileOfInput(const std::string& spec);
// Opens `a.npy`, `m.safetensors:TENSOR`, `w.tsw:codes` (or :scales, :zeros), or `-`, and reads the
// header. As ReadInput.
int OpenInput(const std::string& spec, InputTensorFile* out);

// Reads `a.npy`, `m.safetensors:TENSOR`, `w.tsw:codes`, or `-` (a .npy on standard input). Returns
// an exit code; errors are printed.
int ReadInput(const std::string& spec, InputTensor* out);

// `y.npy` or `y.npy:f16[16, 128]`; the part after the last colon is the type and the shape.
struct OutputSpec {
  std::string path;
  std::optional<DType> type;
  std::vector<int64_t> shape;
};
// Prints errors; returns an exit code.
int ParseOutputSpec(const std::string& text, OutputSpec* out);

// Bytes of a dense tensor; empty above 2^62.
std::optional<uint64_t> DenseBytes(DType type, std::span<const int64_t> shape);

// A .npy file that appears when it is complete, written part by part. Types as in WriteOutput.
class OutputTensorFile {
 public:
  static Result<OutputTensorFile> Create(const std::string& path, DType type,
                                         std::span<const int64_t> shape, uint64_t bytes);
  // `offset` is that of the tensor's bytes.
  [[nodiscard]] Status WriteAt(uint64_t offset, std::span<const uint8_t> bytes) {
    return file_.WriteAt(header_ + offset, bytes);
  }
  [[nodiscard]] Status Commit() { return file_.Commit(); }

 private:
  OutputTensorFile(OutputFile file, uint64_t header) : file_(std::move(file)), header_(header) {}
  OutputFile file_;
  uint64_t header_;
};

// Writes a tensor as .npy. A type of at least 8 bits that NumPy cannot name becomes raw elements
// (`|V2`) of the same shape; a narrower type, or a layout that is not row-major (`shape` empty,
// `dense` false), becomes a stream of bytes (`|u1`).
Status WriteOutput(const std::string& path, DType type, std::span<const int64_t> shape, bool dense,
                   std::span<const uint8_t> data);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_TENSOR_IO_H_
