// Where the image of packed weights is made: in memory, or in a file, some megabytes at a time, so
// that weights of any size need no memory of their own.
#ifndef TARSIA_RUNTIME_WEIGHTS_WEIGHT_IMAGE_H_
#define TARSIA_RUNTIME_WEIGHTS_WEIGHT_IMAGE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/files/file.h"
#include "runtime/weights/parallel.h"
#include "runtime/weights/weight_info.h"
#include "support/result.h"

namespace tarsia {

// The bytes of a part, piece by piece, without a gap.
struct PartPieces {
  int64_t count = 0;
  int64_t across = 1;  // of a row of the matrix; a thread makes some in a column
  std::function<uint64_t(int64_t)> offset;  // of a piece in the part; of piece `count`: the end
  // Writes all bytes of a piece. Called in any order, from several threads.
  std::function<void(int64_t piece, uint8_t* out)> make;
};

class WeightImage {
 public:
  WeightImage() = default;
  WeightImage(const WeightImage&) = delete;
  WeightImage& operator=(const WeightImage&) = delete;
  virtual ~WeightImage() = default;

  // Makes a part on all cores. Parts come in the order of their offsets; what lies between them is
  // zero. Errors: cancelled; the file cannot be written.
  Status Make(const PartRange& range, const PartPieces& pieces, const Progress& progress);

 private:
  // Memory for bytes of the image, behind the ones before.
  virtual uint8_t* Reserve(uint64_t offset, uint64_t bytes) = 0;
  // Stores the bytes before those that were reserved last; another thread fills these meanwhile.
  virtual Status Flush() = 0;
};

class MemoryImage final : public WeightImage {
 public:
  // `image` is zero, and must outlive this.
  explicit MemoryImage(uint8_t* image) : image_(image) {}

 private:
  uint8_t* Reserve(uint64_t offset, uint64_t /*bytes*/) override { return image_ + offset; }
  Status Flush() override { return OkStatus(); }

  uint8_t* image_;
};

class FileImage final : public WeightImage {
 public:
  // The file is empty, no stream, and must outlive this.
  explicit FileImage(OutputFile* file);
  ~FileImage() override;
  // Ends the image, of so many bytes, with its header. The hash of its data.
  Result<uint64_t> Finish(const WeightInfo& info, uint64_t bytes);

 private:
  class Hash;
  // Bytes for an offset of the file.
  struct Chunk {
    std::unique_ptr<uint8_t[]> data;
    uint64_t capacity = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  uint8_t* Reserve(uint64_t offset, uint64_t bytes) override;
  Status Flush() override;
  Status Append(const uint8_t* data, uint64_t bytes);

  OutputFile* file_;
  std::unique_ptr<Hash> hash_;
  uint64_t end_;  // of what is in the file
  Chunk made_;    // is being made
  Chunk full_;    // is complete, and is not in the file yet
};

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_WEIGHT_IMAGE_H_
