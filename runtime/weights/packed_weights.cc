#include "runtime/weights/packed_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "dtypes/bulk.h"
#include "dtypes/convert.h"
#include "runtime/diagnostics.h"
#include "runtime/weights/scale_rows.h"
#include "runtime/weights/tsw.h"
#include "runtime/weights/weight_image.h"
#include "runtime/weights/weight_range.h"
#include "support/extents.h"

namespace tarsia {
namespace {

// Codes that are a NaN or an infinity.
std::vector<uint8_t> NotFinite(DType type) {
  std::vector<uint8_t> out;
  for (uint64_t code = 0; code <= CodeMask(type); ++code) {
    if (!std::isfinite(DecodeToDouble(type, code))) out.push_back(static_cast<uint8_t>(code));
  }
  return out;
}

// What packing learns of the codes.
struct Seen {
  std::atomic<uint8_t> bits{0};  // of all codes, or-ed
  std::atomic<bool> special{false};
};

// As source.codes, and looks at each code.
TileMap::Fill Watch(const CodeSource& source, const std::vector<uint8_t>& specials, Seen* seen) {
  return [&source, &specials, seen](const Region& region, uint8_t* out, int64_t stride) {
    source.codes(region, out, stride);
    uint8_t bits = 0;
    uint8_t special = 0;
    for (int64_t row = 0; row < region.rows; ++row) {
      const uint8_t* const codes = out + row * stride;
      for (int64_t i = 0; i < region.columns; ++i) bits = static_cast<uint8_t>(bits | codes[i]);
      for (const uint8_t one : specials) {
        for (int64_t i = 0; i < region.columns; ++i) special |= codes[i] == one ? 1 : 0;
      }
    }
    seen->bits.fetch_or(bits, std::memory_order_relaxed);
    if (special != 0) seen->special.store(true, std::memory_order_relaxed);
  };
}

Status CheckCount(std::string_view what, size_t given, size_t wanted) {
  if (given == wanted) return OkStatus();
  return MakeDiagnostic(diag::kWeightsCount, {}, given, what, wanted);
}

Status CheckGather(std::span<const int32_t> gather, int64_t k) {
  std::vector<bool> seen(Size(k));
  for (size_t i = 0; i < gather.size(); ++i) {
    const int32_t to = gather[i];
    if (to < 0 || to >= k || seen[Size(to)]) {
      return MakeDiagnostic(diag::kWeightsGather, {}, i, to, k - 1);
    }
    seen[Size(to)] = true;
  }
  return OkStatus();
}

Status CheckCodebook(std::span<const float> codebook) {
  for (size_t i = 0; i < codebook.size(); ++i) {
    if (!std::isfinite(codebook[i])) {
      return MakeDiagnostic(diag::kWeightsCodebookValue, {}, i, codebook[i]);
    }
  }
  return OkStatus();
}

Status CheckLists(const CodeSource& source) {
  const WeightInfo& info = source.info;
  const size_t scales = Size(info.groups() * info.n);
  TARSIA_CHECK(CheckCount("scales", source.scales.size(), scales));
  const bool zeros = info.zero != ZeroPoint::kNone;
  TARSIA_CHECK(CheckCount("zero points", source.zeros.size(), zeros ? scales : 0));
  TARSIA_CHECK(ScaleRows(info, WeightPart::kScales).CheckFinite(source.scales));
  if (zeros) TARSIA_CHECK(ScaleRows(info, WeightPart::kZeros).CheckFinite(source.zeros));
  if (!source.gather.empty()) {
    TARSIA_CHECK(CheckCount("entries of the gather list", source.gather.size(), Size(info.k)));
    TARSIA_CHECK(CheckGather(source.gather, info.k));
  }
  if (!info.codebook.empty()) {
    TARSIA_CHECK(
        CheckCount("values of the codebook", info.codebook.size(), size_t{1} << info.type.bits));
    TARSIA_CHECK(CheckCodebook(info.codebook));
  }
  return OkStatus();
}

// A list as a part that is one piece.
template <typename T>
Status WriteList(std::span<const T> list, const PartRange& range, WeightImage* image) {
  PartPieces pieces;
  pieces.count = range.bytes != 0 ? 1 : 0;
  pieces.offset = [&](int64_t piece) { return piece != 0 ? range.bytes : 0; };
  pieces.make = [&](int64_t /*piece*/, uint8_t* out) {
    std::memcpy(out, list.data(), list.size_bytes());
  };
  return image->Make(range, pieces, {});
}

// The first code, in row-major order, that has more bits than its type.
Diagnostic BadCode(const CodeSource& source) {
  const WeightInfo& info = source.info;
  std::vector<uint8_t> row(Size(info.n));
  for (int64_t k = 0; k < info.k; ++k) {
    source.codes({k, 0, 1, info.n}, row.data(), info.n);
    for (int64_t n = 0; n < info.n; ++n) {
      if ((row[Size(n)] & ~CodeMask(info.type)) == 0) continue;
      return MakeDiagnostic(diag::kWeightsCode, {}, k, n, row[Size(n)], info.type.bits,
                            DTypeName(info.type));
    }
  }
  return MakeDiagnostic(diag::kWeightsCode, {}, 0, 0, 0, info.type.bits, DTypeName(info.type));
}

// Writes codes, scales and zero points.
Status WriteParts(const CodeSource& source, const WeightPlaces& places, const Progress& progress,
                  WeightImage* image, bool* finite) {
  const WeightInfo& info = source.info;
  const std::vector<uint8_t> specials =
      info.codebook.empty() ? NotFinite(info.type) : std::vector<uint8_t>();
  Seen seen;
  const TileMap map(places.codes);
  const TileMap::Fill fill = Watch(source, specials, &seen);
  TARSIA_CHECK(image->Make(places[WeightPart::kCodes], map.Pieces(fill), progress));
  if ((seen.bits.load() & ~CodeMask(info.type)) != 0) return BadCode(source);
  *finite = !seen.special.load();
  TARSIA_CHECK(
      ScaleRows(info, WeightPart::kScales).Pack(source.scales, places[WeightPart::kScales], image));
  if (info.zero != ZeroPoint::kNone) {
    TARSIA_CHECK(
        ScaleRows(info, WeightPart::kZeros).Pack(source.zeros, places[WeightPart::kZeros], image));
  }
  return OkStatus();
}

// The description of what is packed, checked.
Result<WeightInfo> InfoOf(const CodeSource& source) {
  WeightInfo info = source.info;
  info.gathers = !source.gather.empty();
  TARSIA_CHECK(PlaceWeights(info));
  TARSIA_CHECK(CheckLists(source));
  return info;
}

}  // namespace

Result<PackedWeights> PackedWeights::Assemble(
    const WeightInfo& info, std::span<const int32_t> gather,
    const std::function<Status(const WeightPlaces& places, uint8_t* image, bool* finite)>& write) {
  PackedWeights out;
  out.info_ = info;
  TARSIA_TRY(out.places_, PlaceWeights(info));
  TARSIA_TRY(HostBuffer buffer, HostBuffer::Allocate(out.places_.bytes));
  auto owner = std::make_shared<HostBuffer>(std::move(buffer));
  uint8_t* const image = owner->data();
  TARSIA_CHECK(write(out.places_, image, &out.info_.finite));
  std::copy(gather.begin(), gather.end(),
            reinterpret_cast<int32_t*>(image + out.places_[WeightPart::kGather].offset));
  std::copy(info.codebook.begin(), info.codebook.end(),
            reinterpret_cast<float*>(image + out.places_[WeightPart::kCodebook].offset));
  WriteTswHeader(out.info_, owner->bytes());
  out.image_ = owner->bytes();
  out.owner_ = std::move(owner);
  return out;
}

Result<PackedWeights> PackedWeights::Pack(const CodeSource& source, const Progress& progress) {
  TARSIA_TRY(const WeightInfo info, InfoOf(source));
  const auto write = [&](const WeightPlaces& places, uint8_t* image, bool* finite) -> Status {
    MemoryImage memory(image);
    TARSIA_CHECK(WriteParts(source, places, progress, &memory, finite));
    return WeightRange(info, source.scales, source.zeros)
        .Check(TileMap(places.codes), image + places[WeightPart::kCodes].offset);
  };
  return Assemble(info, source.gather, write);
}

Result<TswSummary> PackedWeights::PackTo(const CodeSource& source, OutputFile* file,
                                         const Progress& progress) {
  TARSIA_TRY(WeightInfo info, InfoOf(source));
  // The header of a stream comes first, and some weights must be looked at again.
  if (file->is_stream() || WeightRange(info, source.scales, source.zeros).MayExceed()) {
    TARSIA_TRY(const PackedWeights packed, Pack(source, progress));
    TARSIA_CHECK(file->Write(packed.image()));
    return packed.Summary();
  }
  TARSIA_TRY(const WeightPlaces places, PlaceWeights(info));
  FileImage image(file);
  TARSIA_CHECK(WriteParts(source, places, progress, &image, &info.finite));
  TARSIA_CHECK(WriteList<int32_t>(source.gather, places[WeightPart::kGather], &image));
  TARSIA_CHECK(WriteList<float>(info.codebook, places[WeightPart::kCodebook], &image));
  TARSIA_TRY(const uint64_t hash, image.Finish(info, places.bytes));
  return TswSummary{std::move(info), places.bytes, hash};
}

TswSummary PackedWeights::Summary() const { return {info_, image_.size(), HashOfData(image_)}; }

Result<PackedWeights> PackedWeights::FromImage(std::span<const uint8_t> image,
                                               std::shared_ptr<const void> owner) {
  TARSIA_TRY(TswHeader header, ReadTswHeader(image, image.size()));
  if (HashOfData(image) != header.data_hash) return MakeDiagnostic(diag::kTswDataHash, {});
  PackedWeights out;
  TARSIA_TRY(out.places_, PlaceWeights(header.info, header.has_codebook));
  out.info_ = std::move(header.info);
  out.image_ = image;
  out.owner_ = std::move(owner);
  if (header.has_codebook) {
    const auto values = out.part(WeightPart::kCodebook);
    out.info_.codebook.resize(values.size() / sizeof(float));
    std::memcpy(out.info_.codebook.data(), values.data(), values.size());
  }
  TARSIA_CHECK(out.Verify());
  return out;
}

Result<PackedWeights> PackedWeights::Load(const std::string& path) {
  TARSIA_TRY(MappedFile file, MappedFile::Open(path));
  auto owner = std::make_shared<MappedFile>(std::move(file));
  const auto image = owner->bytes();
  return FromImage(image, std::move(owner));
}

Result<PackedWeights> PackedWeights::FromBytes(std::span<const uint8_t> bytes) {
  TARSIA_TRY(HostBuffer buffer, HostBuffer::Allocate(bytes.size()));
  auto owner = std::make_shared<HostBuffer>(std::move(buffer));
  std::copy(bytes.begin(), bytes.end(), owner->data());
  const auto image = owner->bytes();
  return FromImage(image, std::move(owner));
}

Status PackedWeights::Verify() const {
  if (places_.codes.IsPacked() &&
      !TileMap(places_.codes).PaddingIsZero(part(WeightPart::kCodes).data())) {
    return MakeDiagnostic(diag::kTswPadding, {}, NameOf(WeightPart::kCodes));
  }
  for (const WeightPart which : {WeightPart::kScales, WeightPart::kZeros}) {
    if (part(which).empty() || ScaleRows(info_, which).PaddingIsZero(part(which).data())) continue;
    return MakeDiagnostic(diag::kTswPadding, {}, NameOf(which));
  }
  for (size_t i = 0; i < kWeightParts; ++i) {
    const PartRange& range = places_.parts[i];
    const uint64_t next = i + 1 < kWeightParts ? places_.parts[i + 1].offset : places_.bytes;
    const auto rest = image_.subspan(range.offset + range.bytes, next - range.offset - range.bytes);
    if (std::all_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte == 0; })) continue;
    return MakeDiagnostic(diag::kTswPadding, {}, NameOf(static_cast<WeightPart>(i)));
  }
  const std::vector<float> scales = Values(WeightPart::kScales);
  TARSIA_CHECK(ScaleRows(info_, WeightPart::kScales).CheckFinite(scales));
  const std::vector<float> zeros = Values(WeightPart::kZeros);
  if (!zeros.empty()) TARSIA_CHECK(ScaleRows(info_, WeightPart::kZeros).CheckFinite(zeros));
  TARSIA_CHECK(CheckCodebook(info_.codebook));
  TARSIA_CHECK(CheckGather(gather(), info_.k));
  if (!places_.codes.IsPacked()) return OkStatus();
  return WeightRange(info_, scales, zeros)
      .Check(TileMap(places_.codes), part(WeightPart::kCodes).data());
}

std::vector<int32_t> PackedWeights::gather() const {
  const auto bytes = part(WeightPart::kGather);
  std::vector<int32_t> out(bytes.size() / sizeof(int32_t));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

std::vector<float> PackedWeights::Values(WeightPart which) const {
  if (which == WeightPart::kZeros && info_.zero == ZeroPoint::kNone) return {};
  return ScaleRows(info_, which).Unpack(part(which).data());
}

UnpackedWeights PackedWeights::Unpack() const {
  UnpackedWeights out;
  out.codes.resize(Size(info_.k * info_.n));
  const auto take = [&](const Region& region, const uint8_t* in, int64_t stride) {
    for (int64_t row = 0; row < region.rows; ++row) {
      std::memcpy(out.codes.data() + (region.row + row) * info_.n + region.column,
                  in + row * stride, Size(region.columns));
    }
  };
  TileMap(places_.codes).Unpack(part(WeightPart::kCodes).data(), take);
  out.scales = Values(WeightPart::kScales);
  out.zeros = Values(WeightPart::kZeros);
  return out;
}

void PackedWeights::Dequantise(std::span<float> out) const {
  const std::vector<float> values = CodeValues(info_);
  const std::vector<float> scales = Values(WeightPart::kScales);
  const std::vector<float> zeros = Values(WeightPart::kZeros);
  const std::vector<int32_t> order = gather();
  const auto tensor_scale = static_cast<double>(info_.tensor_scale);
  const auto take = [&](const Region& region, const uint8_t* in, int64_t stride) {
    for (int64_t row = 0; row < region.rows; ++row) {
      const int64_t at = region.row + row;
      const int64_t to = order.empty() ? at : order[Size(at)];
      const size_t group = Size(at / info_.group * info_.n + region.column);
      float* const weights = out.data() + to * info_.n + region.column;
      for (int64_t i = 0; i < region.columns; ++i) {
        const double zero = zeros.empty() ? 0 : static_cast<double>(zeros[group + Size(i)]);
        const auto value = static_cast<double>(values[in[row * stride + i]]);
        weights[i] = static_cast<float>(
            (value - zero) * static_cast<double>(scales[group + Size(i)]) * tensor_scale);
      }
    }
  };
  TileMap(places_.codes).Unpack(part(WeightPart::kCodes).data(), take);
}

}  // namespace tarsia
