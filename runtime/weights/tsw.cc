#include "runtime/weights/tsw.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/diagnostics.h"
#include "runtime/weights/packed_order.h"

namespace tarsia {
namespace {

static_assert(std::endian::native == std::endian::little, "parts are copied as they are");

constexpr std::string_view kMagic("\x89TSW\r\n\x1a\n", 8);
constexpr size_t kIdBytes = 48;

enum TswFlag : uint8_t { kFinite = 1, kGathers = 2, kCodebook = 4, kAllFlags = 7 };

// The bytes of the header as they lie in the file.
struct RawHeader {
  char magic[8];
  uint32_t version, header_bytes;
  uint64_t file_bytes, header_hash, data_hash;
  int64_t k, n, group;
  uint8_t type, compute, scale_type, zero_type;
  uint8_t zero, flags, unused[2];
  float tensor_scale;
  uint32_t map_version;
  int64_t whole_k, whole_n, first_k, first_n;
  char id[kIdBytes];
  uint8_t rest[96];
};
static_assert(sizeof(RawHeader) == kTswHeaderBytes && offsetof(RawHeader, id) == 112);

uint64_t HashOfHeader(RawHeader raw) {
  raw.header_hash = 0;
  return XXH3_64bits(&raw, sizeof raw);
}

Diagnostic BadTsw(std::string_view why) { return MakeDiagnostic(diag::kTswHeader, {}, why); }

Result<DType> RawType(uint8_t code) {
  const auto type = DTypeFromCode(code);
  if (!type)
    return BadTsw("it names an element type " + std::to_string(code) + ", which is unknown");
  return *type;
}

// What the header says, not yet held against itself.
Result<WeightInfo> RawInfo(const RawHeader& raw) {
  WeightInfo out;
  TARSIA_TRY(out.type, RawType(raw.type));
  TARSIA_TRY(out.compute, RawType(raw.compute));
  TARSIA_TRY(out.scale_type, RawType(raw.scale_type));
  if (raw.zero > static_cast<uint8_t>(ZeroPoint::kFloat))
    return BadTsw("its zero points are unknown");
  out.zero = static_cast<ZeroPoint>(raw.zero);
  if (raw.zero_type != 0) {
    TARSIA_TRY(out.zero_type, RawType(raw.zero_type));
  }
  out.k = raw.k;
  out.n = raw.n;
  out.group = raw.group;
  out.tensor_scale = raw.tensor_scale;
  out.finite = (raw.flags & kFinite) != 0;
  out.gathers = (raw.flags & kGathers) != 0;
  out.whole_k = raw.whole_k;
  out.whole_n = raw.whole_n;
  out.first_k = raw.first_k;
  out.first_n = raw.first_n;
  return out;
}

Status CheckRaw(const RawHeader& raw, uint64_t file_bytes) {
  if (raw.version != kTswVersion || raw.header_bytes != kTswHeaderBytes) {
    return MakeDiagnostic(diag::kTswVersion, {}, raw.version, kTswVersion);
  }
  if (raw.header_hash != HashOfHeader(raw)) return MakeDiagnostic(diag::kTswHeaderHash, {});
  if (raw.file_bytes != file_bytes) {
    return MakeDiagnostic(diag::kTswSize, {}, raw.file_bytes, file_bytes);
  }
  if ((raw.flags & ~kAllFlags) != 0) return BadTsw("it sets unknown flags");
  return OkStatus();
}

}  // namespace

uint64_t HashOfData(std::span<const uint8_t> image) {
  const auto data = image.subspan(kTswHeaderBytes);
  return XXH3_64bits(data.data(), data.size());
}

void WriteTswHeader(const WeightInfo& info, std::span<uint8_t> image) {
  WriteTswHeader(info, image.size(), HashOfData(image), image.first<kTswHeaderBytes>());
}

void WriteTswHeader(const WeightInfo& info, uint64_t file_bytes, uint64_t data_hash,
                    std::span<uint8_t, kTswHeaderBytes> header) {
  RawHeader raw = {};
  std::memcpy(raw.magic, kMagic.data(), kMagic.size());
  raw.version = kTswVersion;
  raw.header_bytes = kTswHeaderBytes;
  raw.file_bytes = file_bytes;
  raw.data_hash = data_hash;
  raw.k = info.k;
  raw.n = info.n;
  raw.group = info.group;
  raw.type = DTypeCode(info.type);
  raw.compute = DTypeCode(info.compute);
  raw.scale_type = DTypeCode(info.scale_type);
  raw.zero_type = info.zero == ZeroPoint::kNone ? uint8_t{0} : DTypeCode(info.zero_type);
  raw.zero = static_cast<uint8_t>(info.zero);
  raw.flags = static_cast<uint8_t>((info.finite ? kFinite : 0) | (info.gathers ? kGathers : 0) |
                                   (info.codebook.empty() ? 0 : kCodebook));
  raw.tensor_scale = info.tensor_scale;
  raw.map_version = kPackedMapVersion;
  raw.whole_k = info.whole_k;
  raw.whole_n = info.whole_n;
  raw.first_k = info.first_k;
  raw.first_n = info.first_n;
  PackedLayoutId(info.type, info.compute).copy(raw.id, kIdBytes - 1);
  raw.header_hash = HashOfHeader(raw);
  std::memcpy(header.data(), &raw, sizeof raw);
}

Result<TswHeader> ReadTswHeader(std::span<const uint8_t> head, uint64_t file_bytes) {
  if (head.size() < kMagic.size() || std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) {
    return MakeDiagnostic(diag::kTswMagic, {});
  }
  RawHeader raw;
  if (head.size() < sizeof raw) return MakeDiagnostic(diag::kTswTruncated, {}, head.size());
  std::memcpy(&raw, head.data(), sizeof raw);
  TARSIA_CHECK(CheckRaw(raw, file_bytes));
  TswHeader out;
  TARSIA_TRY(out.info, RawInfo(raw));
  const std::string id = PackedLayoutId(out.info.type, out.info.compute);
  const std::string_view written(raw.id, strnlen(raw.id, kIdBytes));
  if (raw.map_version != kPackedMapVersion || written != id) {
    return MakeDiagnostic(diag::kTswLayout, {}, written, id);
  }
  out.has_codebook = (raw.flags & kCodebook) != 0;
  out.file_bytes = file_bytes;
  out.data_hash = raw.data_hash;
  TARSIA_TRY(const WeightPlaces places, PlaceWeights(out.info, out.has_codebook));
  if (places.bytes != file_bytes) {
    return MakeDiagnostic(diag::kTswSize, {}, places.bytes, file_bytes);
  }
  return out;
}

std::optional<TswHeader> HeaderOfImage(std::span<const uint8_t> image) {
  RawHeader raw;
  if (image.size() < sizeof raw) return std::nullopt;
  std::memcpy(&raw, image.data(), sizeof raw);
  auto header = ReadTswHeader(image, raw.file_bytes);
  return header.ok() ? std::optional(*std::move(header)) : std::nullopt;
}

}  // namespace tarsia
