#include "runtime/weights/weight_image.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/diagnostics.h"
#include "runtime/weights/tsw.h"

namespace tarsia {
namespace {

constexpr uint64_t kBatchBytes = uint64_t{4} << 20;
constexpr uint64_t kMostBatchBytes = uint64_t{16} << 20;
constexpr int64_t kRowsOfJob = 16;

// Pieces that are made together. A job makes neighbours in a column: what it reads of a matrix that
// lies column by column is near each other.
struct Batch {
  int64_t first = 0, last = 0;
  int64_t across = 1;  // whole rows have so many; 1 where they are not whole

  [[nodiscard]] int64_t rows() const { return (last - first) / across; }
  [[nodiscard]] int64_t jobs() const { return across * ((rows() - 1) / kRowsOfJob + 1); }
  // Calls make(piece) for the pieces of a job.
  template <typename Make>
  void Run(int64_t job, const Make& make) const {
    const int64_t row = job / across * kRowsOfJob;
    for (int64_t i = row; i < std::min(row + kRowsOfJob, rows()); ++i) {
      make(first + i * across + job % across);
    }
  }
};

Batch BatchFrom(int64_t first, const PartPieces& pieces) {
  Batch out{first, first + 1};
  const uint64_t row_bytes = pieces.offset(std::min(pieces.across, pieces.count));
  const uint64_t most = std::clamp(kRowsOfJob * row_bytes, kBatchBytes, kMostBatchBytes);
  const uint64_t begin = pieces.offset(first);
  while (out.last < pieces.count && pieces.offset(out.last + 1) - begin <= most) ++out.last;
  if (first % pieces.across == 0 && out.last - first >= pieces.across) {
    out.across = pieces.across;
    out.last = first + (out.last - first) / pieces.across * pieces.across;
  }
  return out;
}

}  // namespace

// One job of each batch is to store the batch before.
Status WeightImage::Make(const PartRange& range, const PartPieces& pieces,
                         const Progress& progress) {
  Batch batch;
  for (int64_t first = 0; first < pieces.count; first = batch.last) {
    batch = BatchFrom(first, pieces);
    const uint64_t begin = pieces.offset(first);
    uint8_t* const out = Reserve(range.offset + begin, pieces.offset(batch.last) - begin);
    Status flushed = OkStatus();
    const auto job = [&](int64_t i) {
      if (i == 0) {
        flushed = Flush();
        return;
      }
      batch.Run(i - 1,
                [&](int64_t piece) { pieces.make(piece, out + (pieces.offset(piece) - begin)); });
    };
    Progress whole;
    if (progress) {
      whole = [&](uint64_t done, uint64_t jobs) {
        const auto size = static_cast<uint64_t>(batch.last - first);
        return progress(static_cast<uint64_t>(first) + done * size / jobs,
                        static_cast<uint64_t>(pieces.count));
      };
    }
    if (!ParallelFor(batch.jobs() + 1, job, whole)) {
      return MakeDiagnostic(diag::kWeightsCancelled, {});
    }
    TARSIA_CHECK(std::move(flushed));
  }
  return OkStatus();
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

uint8_t* FileImage::Reserve(uint64_t offset, uint64_t bytes) {
  std::swap(made_, full_);
  if (made_.capacity < bytes) {
    made_.capacity = bytes;
    made_.data = std::make_unique_for_overwrite<uint8_t[]>(bytes);
  }
  made_.offset = offset;
  made_.bytes = bytes;
  return made_.data.get();
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
