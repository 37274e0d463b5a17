#include "runtime/importers/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/diagnostics.h"
#include "runtime/importers/gguf_blocks.h"
#include "runtime/importers/tensor_set.h"
#include "support/printable.h"

namespace tarsia {
namespace {

constexpr uint32_t kArray = 9;
constexpr uint32_t kString = 8;
constexpr size_t kMostDepth = 8;  // of arrays in arrays
constexpr uint32_t kMostRank = 4;
constexpr uint64_t kMostName = 1024;
// Bytes of a value of each type; 0: of variable size.
constexpr uint64_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

class GgufReader {
 public:
  explicit GgufReader(std::span<const uint8_t> file) : file_(file) {}

  [[nodiscard]] uint64_t at() const { return at_; }
  [[nodiscard]] uint64_t left() const { return file_.size() - at_; }

  template <typename T>
  bool Read(T* out) {
    if (left() < sizeof(T)) return false;
    std::memcpy(out, file_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }
  bool Skip(uint64_t bytes) {
    if (left() < bytes) return false;
    at_ += bytes;
    return true;
  }
  bool ReadString(std::string* out) {
    uint64_t length = 0;
    if (!Read(&length) || left() < length) return false;
    out->assign(reinterpret_cast<const char*>(file_.data()) + at_, length);
    at_ += length;
    return true;
  }
  bool SkipString() {
    uint64_t length = 0;
    return Read(&length) && Skip(length);
  }
  [[nodiscard]] Diagnostic Truncated() const {
    return MakeDiagnostic(diag::kGgufTruncated, {}, file_.size());
  }
  [[nodiscard]] Diagnostic Bad(std::string_view why) const {
    return MakeDiagnostic(diag::kGgufHeader, {}, at_, why);
  }

 private:
  std::span<const uint8_t> file_;
  uint64_t at_ = 0;
};

// Reads past `count` values that are no arrays.
Status SkipPlain(GgufReader& reader, uint32_t type, uint64_t count) {
  if (type >= std::size(kValueBytes)) {
    return reader.Bad(fmt::format("a value has the type {}, which is unknown", type));
  }
  if (type != kString) {
    const uint64_t bytes = kValueBytes[type];
    if (count > reader.left() / bytes) return reader.Truncated();
    return reader.Skip(count * bytes) ? OkStatus() : Status(reader.Truncated());
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (!reader.SkipString()) return reader.Truncated();
  }
  return OkStatus();
}

Status SkipArray(GgufReader& reader) {
  std::vector<uint64_t> open = {1};  // how many arrays are still to come in each array of arrays
  while (!open.empty()) {
    if (open.back() == 0) {
      open.pop_back();
      continue;
    }
    --open.back();
    uint32_t element = 0;
    uint64_t count = 0;
    if (!reader.Read(&element) || !reader.Read(&count)) return reader.Truncated();
    if (element != kArray) {
      TARSIA_CHECK(SkipPlain(reader, element, count));
    } else if (open.size() == kMostDepth) {
      return reader.Bad(fmt::format("arrays are nested more than {} deep", kMostDepth));
    } else {
      open.push_back(count);
    }
  }
  return OkStatus();
}

// A value of some type of integers.
Status ReadNumber(GgufReader& reader, uint32_t type, std::string_view key, uint64_t* out) {
  constexpr uint32_t kIntegers[] = {0, 1, 2, 3, 4, 5, 10, 11};  // u8 to i32, u64, i64
  if (std::find(std::begin(kIntegers), std::end(kIntegers), type) == std::end(kIntegers)) {
    return reader.Bad(fmt::format("`{}` is no integer", key));
  }
  *out = 0;
  for (uint64_t i = 0; i < kValueBytes[type]; ++i) {
    uint8_t byte = 0;
    if (!reader.Read(&byte)) return reader.Truncated();
    *out |= uint64_t{byte} << (8 * i);
  }
  return OkStatus();
}

Status ReadAlignment(GgufReader& reader, uint32_t type, uint64_t* alignment) {
  uint32_t value = 0;
  if (type != 4) return reader.Bad("`general.alignment` is no u32");
  if (!reader.Read(&value)) return reader.Truncated();
  if (value == 0 || (value & (value - 1)) != 0) {
    return reader.Bad(fmt::format("an alignment of {}", value));
  }
  *alignment = value;
  return OkStatus();
}

// Reads past the pairs, but for those that matter.
Status ReadPairs(GgufReader& reader, uint64_t count, uint64_t* alignment, GgufHeader* out) {
  for (uint64_t i = 0; i < count; ++i) {
    std::string key;
    uint32_t type = 0;
    if (!reader.ReadString(&key) || !reader.Read(&type)) return reader.Truncated();
    if (key == "general.alignment") {
      TARSIA_CHECK(ReadAlignment(reader, type, alignment));
    } else if (key == "split.no" || key == "split.count") {
      TARSIA_CHECK(ReadNumber(reader, type, key, key == "split.no" ? &out->part : &out->parts));
    } else if (type == kArray) {
      TARSIA_CHECK(SkipArray(reader));
    } else {
      TARSIA_CHECK(SkipPlain(reader, type, 1));
    }
  }
  return OkStatus();
}

Result<GgufTensor> ReadTensorHeader(GgufReader& reader) {
  GgufTensor out;
  uint32_t rank = 0;
  if (!reader.ReadString(&out.name) || !reader.Read(&rank)) return reader.Truncated();
  if (out.name.size() > kMostName) return reader.Bad("a name has more than 1024 bytes");
  if (rank < 1 || rank > kMostRank) return reader.Bad(fmt::format("a tensor has rank {}", rank));
  for (uint32_t i = 0; i < rank; ++i) {
    uint64_t extent = 0;
    if (!reader.Read(&extent)) return reader.Truncated();
    if (extent > static_cast<uint64_t>(INT32_MAX)) {
      return reader.Bad(fmt::format("a tensor has an extent of {}", extent));
    }
    out.extents.push_back(static_cast<int64_t>(extent));
  }
  if (!reader.Read(&out.type) || !reader.Read(&out.offset)) return reader.Truncated();
  return out;
}

// The bytes of a tensor of a known type. Errors: rows that are no whole blocks.
Result<uint64_t> BytesOf(const GgufTensor& tensor) {
  const auto size = GgufBlockSize(tensor.type);
  if (!size) return uint64_t{0};
  if (tensor.extents[0] % size->elements != 0) {
    return TensorError(tensor.name, fmt::format("{} elements in a row are no whole blocks of {}",
                                                tensor.extents[0], size->elements));
  }
  uint64_t bytes = static_cast<uint64_t>(tensor.extents[0] / size->elements) *
                   static_cast<uint64_t>(size->bytes);
  for (size_t i = 1; i < tensor.extents.size(); ++i) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(tensor.extents[i]), &bytes)) {
      return TensorError(tensor.name, "it is too large");
    }
  }
  return bytes;
}

Status PlaceTensors(std::vector<GgufTensor>& tensors, uint64_t data, uint64_t alignment,
                    uint64_t file_bytes) {
  std::vector<std::pair<uint64_t, const GgufTensor*>> order;
  for (GgufTensor& tensor : tensors) {
    TARSIA_TRY(tensor.bytes, BytesOf(tensor));
    if (tensor.offset % alignment != 0) {
      return TensorError(
          tensor.name, fmt::format("its offset {} is no multiple of {}", tensor.offset, alignment));
    }
    const uint64_t room = file_bytes - std::min(file_bytes, data);
    if (tensor.offset > room || tensor.bytes > room - tensor.offset) {
      return TensorError(tensor.name, "its data lies beyond the end of the file");
    }
    // The padding before the data may be left out where there is none.
    tensor.offset = std::min(tensor.offset + data, file_bytes);
    if (tensor.bytes != 0) order.emplace_back(tensor.offset, &tensor);
  }
  std::sort(order.begin(), order.end());
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1].first + order[i - 1].second->bytes <= order[i].first) continue;
    return TensorError(order[i].second->name,
                       fmt::format("its data overlaps that of `{}`",
                                   PrintableStart(order[i - 1].second->name, 200)));
  }
  return OkStatus();
}

}  // namespace

Result<GgufHeader> ParseGguf(std::span<const uint8_t> file) {
  GgufReader reader(file);
  uint32_t magic = 0, version = 0;
  uint64_t count = 0, pairs = 0, alignment = 32;
  if (!reader.Read(&magic) || magic != 0x46554747) return MakeDiagnostic(diag::kGgufMagic, {});
  if (!reader.Read(&version)) return reader.Truncated();
  if ((version & 0xFFFF) == 0 && version != 0) return MakeDiagnostic(diag::kGgufBigEndian, {});
  if (version < 2 || version > 3) return MakeDiagnostic(diag::kGgufVersion, {}, version);
  if (!reader.Read(&count) || !reader.Read(&pairs)) return reader.Truncated();
  GgufHeader header;
  TARSIA_CHECK(ReadPairs(reader, pairs, &alignment, &header));
  std::vector<GgufTensor>& out = header.tensors;
  for (uint64_t i = 0; i < count; ++i) {
    TARSIA_TRY(GgufTensor tensor, ReadTensorHeader(reader));
    out.push_back(std::move(tensor));
  }
  const uint64_t data = (reader.at() + alignment - 1) / alignment * alignment;
  TARSIA_CHECK(PlaceTensors(out, data, alignment, file.size()));
  std::sort(out.begin(), out.end(),
            [](const GgufTensor& a, const GgufTensor& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(out.begin(), out.end(),
                         [](const GgufTensor& a, const GgufTensor& b) { return a.name == b.name; });
  if (twice != out.end()) return TensorError(twice->name, "it stands twice");
  return header;
}

}  // namespace tarsia
