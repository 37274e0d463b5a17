#include "runtime/weights/weight_image.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "runtime/weights/tsw.h"
#include "support/extents.h"

namespace tarsia {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{2} << 20;

}  // namespace

Status MemoryImage::Make(const PartRange& range, const PartPieces& pieces,
                         const Progress& progress) {
  const auto make = [&](int64_t i) { pieces.make(i, image_ + range.offset + pieces.offset(i)); };
  if (ParallelFor(pieces.count, make, progress)) return OkStatus();
  return MakeDiagnostic(diag::kWeightsCancelled, {});
}

// The hash of HashOfData, piece by piece.
class FileImage::Hash {
 public:
  Hash() { XXH3_64bits_reset(&state_); }
  void Add(const uint8_t* data, uint64_t bytes) { XXH3_64bits_update(&state_, data, bytes); }
  [[nodiscard]] uint64_t Value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

FileImage::FileImage(OutputFile* file)
    : file_(file), hash_(std::make_unique<Hash>()), end_(kTswHeaderBytes) {}
FileImage::~FileImage() = default;

// Makes room for bytes of the file, behind the ones before.
void FileImage::Reserve(uint64_t offset, uint64_t bytes) {
  std::swap(made_, full_);
  if (made_.capacity < bytes) {
    made_.capacity = std::max(bytes, kChunkBytes);
    made_.data = std::make_unique_for_overwrite<uint8_t[]>(made_.capacity);
  }
  made_.offset = offset;
  made_.bytes = bytes;
}

Status FileImage::Append(const uint8_t* data, uint64_t bytes) {
  hash_->Add(data, bytes);
  const uint64_t at = std::exchange(end_, end_ + bytes);
  return file_->WriteAt(at, {data, static_cast<size_t>(bytes)});
}

// Appends what is complete, and zeros before it.
Status FileImage::Flush() {
  constexpr uint8_t kZeros[kPartAlignment] = {};
  if (full_.bytes == 0) return OkStatus();
  while (end_ < full_.offset) {
    TARSIA_CHECK(Append(kZeros, std::min<uint64_t>(full_.offset - end_, sizeof kZeros)));
  }
  return Append(full_.data.get(), std::exchange(full_.bytes, 0));
}

// One job of each chunk is to write the chunk before.
Status FileImage::Make(const PartRange& range, const PartPieces& pieces, const Progress& progress) {
  int64_t first = 0;
  while (first < pieces.count) {
    const uint64_t begin = pieces.offset(first);
    int64_t last = first + 1;
    while (last < pieces.count && pieces.offset(last + 1) - begin <= kChunkBytes) ++last;
    Reserve(range.offset + begin, pieces.offset(last) - begin);
    Status flushed = OkStatus();
    const auto job = [&](int64_t i) {
      if (i == 0) {
        flushed = Flush();
      } else {
        const int64_t piece = first + i - 1;
        pieces.make(piece, made_.data.get() + (pieces.offset(piece) - begin));
      }
    };
    Progress whole;
    if (progress) {
      whole = [&](uint64_t done, uint64_t /*jobs*/) {
        return progress(static_cast<uint64_t>(first) + done - std::min<uint64_t>(done, 1),
                        static_cast<uint64_t>(pieces.count));
      };
    }
    if (!ParallelFor(last - first + 1, job, whole)) {
      return MakeDiagnostic(diag::kWeightsCancelled, {});
    }
    TARSIA_CHECK(std::move(flushed));
    first = last;
  }
  return OkStatus();
}

Result<uint64_t> FileImage::Finish(const WeightInfo& info, uint64_t bytes) {
  Reserve(bytes, 0);
  TARSIA_CHECK(Flush());
  // The zeros behind the last part.
  const std::vector<uint8_t> rest(static_cast<size_t>(bytes - end_));
  TARSIA_CHECK(Append(rest.data(), rest.size()));
  const uint64_t hash = hash_->Value();
  uint8_t header[kTswHeaderBytes];
  WriteTswHeader(info, bytes, hash, header);
  TARSIA_CHECK(file_->WriteAt(0, header));
  return hash;
}

}  // namespace tarsia
