// A packed weight matrix in memory: made by packing, or loaded from a .tsw file.
#ifndef TARSIA_RUNTIME_WEIGHTS_PACKED_WEIGHTS_H_
#define TARSIA_RUNTIME_WEIGHTS_PACKED_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/files/file.h"
#include "runtime/weights/parallel.h"
#include "runtime/weights/tile_map.h"
#include "runtime/weights/weight_info.h"
#include "support/result.h"

namespace tarsia {

// A quantised matrix that is not packed yet: what quantisers and importers make.
struct CodeSource {
  WeightInfo info;  // `finite` and `gathers` follow from the rest
  // Writes the codes of a region, one per byte. Called from several threads.
  TileMap::Fill codes;
  std::vector<float> scales;    // [k / group, n]
  std::vector<float> zeros;     // as scales, or empty
  std::vector<int32_t> gather;  // k entries, or empty
};

// What a .tsw file has become.
struct TswSummary {
  WeightInfo info;
  uint64_t bytes = 0;
  uint64_t hash = 0;  // of the data
};

// The same as a CodeSource, unpacked again.
struct UnpackedWeights {
  std::vector<uint8_t> codes;  // [k, n]
  std::vector<float> scales;
  std::vector<float> zeros;
};

// Movable, immutable; safe from any thread.
class PackedWeights {
 public:
  // Packs on all cores. Errors: those of PlaceWeights; a code, scale or zero point that its type
  // cannot hold; a weight (before tensor_scale) that f16 cannot, for operands of f16; lists of the
  // wrong size; no memory; cancelled.
  static Result<PackedWeights> Pack(const CodeSource& source, const Progress& progress = {});
  // The same into a file, which is to be committed then, with some megabytes of memory. Errors:
  // the file cannot be written.
  static Result<TswSummary> PackTo(const CodeSource& source, OutputFile* file,
                                   const Progress& progress = {});
  // Makes an image whose codes, scales and zero points `write` puts into their places; it may also
  // change whether all codes are finite.
  static Result<PackedWeights> Assemble(
      const WeightInfo& info, std::span<const int32_t> gather,
      const std::function<Status(const WeightPlaces& places, uint8_t* image, bool* finite)>& write);
  // Maps a .tsw file ("-": reads standard input) and verifies it: header, hash, padding, scales.
  static Result<PackedWeights> Load(const std::string& path);
  // From the bytes of a file, which are copied.
  static Result<PackedWeights> FromBytes(std::span<const uint8_t> bytes);

  [[nodiscard]] const WeightInfo& info() const { return info_; }
  [[nodiscard]] const WeightPlaces& places() const { return places_; }
  // The contents of the .tsw file.
  [[nodiscard]] std::span<const uint8_t> image() const { return image_; }
  [[nodiscard]] TswSummary Summary() const;
  [[nodiscard]] std::span<const uint8_t> part(WeightPart part) const {
    const PartRange& range = places_[part];
    return image_.subspan(range.offset, range.bytes);
  }
  [[nodiscard]] std::vector<int32_t> gather() const;  // empty: none

  [[nodiscard]] UnpackedWeights Unpack() const;
  // The weights [k, n], in the order of x's columns: row gather[i] is row i of the codes.
  void Dequantise(std::span<float> out) const;

 private:
  PackedWeights() = default;
  // Scales or zero points; empty: none.
  [[nodiscard]] std::vector<float> Values(WeightPart which) const;
  static Result<PackedWeights> FromImage(std::span<const uint8_t> image,
                                         std::shared_ptr<const void> owner);
  [[nodiscard]] Status Verify() const;

  WeightInfo info_;
  WeightPlaces places_;
  std::span<const uint8_t> image_;
  std::shared_ptr<const void> owner_;  // of the memory of image_
};

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_PACKED_WEIGHTS_H_
