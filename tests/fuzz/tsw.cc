// Fuzzes the reader of .tsw files: for any bytes, what is read lies within them and can be
// unpacked. Hashes would stop every change, so they are computed again first.
#include "runtime/weights/tsw.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/weights/packed_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> image(data, data + size);
  if (size >= tarsia::kTswHeaderBytes) {
    const auto put = [&](size_t at, uint64_t value) { std::memcpy(&image[at], &value, 8); };
    put(16, size);
    put(24, 0);
    put(32, tarsia::HashOfData(image));
    put(24, XXH3_64bits(image.data(), tarsia::kTswHeaderBytes));
  }
  const auto packed = tarsia::PackedWeights::FromBytes(image);
  if (!packed.ok()) return 0;
  const tarsia::WeightInfo& info = packed->info();
  const tarsia::UnpackedWeights parts = packed->Unpack();
  if (parts.codes.size() != static_cast<size_t>(info.k * info.n)) std::abort();
  // What was read is written as the same file, except for parts of the header that mean nothing.
  tarsia::CodeSource source;
  source.info = info;
  source.scales = parts.scales;
  source.zeros = parts.zeros;
  source.gather = packed->gather();
  source.codes = [&](const tarsia::Region& region, uint8_t* out, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      const uint8_t* const from = parts.codes.data() + (region.row + i) * info.n + region.column;
      std::memcpy(out + i * stride, from, static_cast<size_t>(region.columns));
    }
  };
  const auto again = tarsia::PackedWeights::Pack(source);
  if (!again.ok() || again->image().size() != size) std::abort();
  const auto same = [&](tarsia::WeightPart part) {
    const auto a = packed->part(part), b = again->part(part);
    return std::memcmp(a.data(), b.data(), a.size()) == 0;
  };
  if (!same(tarsia::WeightPart::kCodes)) std::abort();
  return 0;
}
