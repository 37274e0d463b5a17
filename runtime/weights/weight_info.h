// What there is to know of a packed weight matrix w[K, N] besides its numbers, and where its parts
// lie. A weight is
//
//   (value(code) - zero) * scale * tensor_scale
//
// where `group` consecutive rows of a column share a scale and perhaps a zero point.
//
// The parts lie in one image, which is also the contents of a .tsw file (weights/tsw.h): the
// header, the codes, the scales, the zero points, the gather list, the codebook; each at a multiple
// of 256 bytes.
#ifndef TARSIA_RUNTIME_WEIGHTS_WEIGHT_INFO_H_
#define TARSIA_RUNTIME_WEIGHTS_WEIGHT_INFO_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dtypes/dtype.h"
#include "dtypes/quantize.h"
#include "layout/mem_layout.h"
#include "support/result.h"

namespace tarsia {

struct WeightInfo {
  DType type;            // of the codes: an integer or float of at most 8 bits
  DType compute = kF16;  // of the operands that the order is made for
  int64_t k = 0;
  int64_t n = 0;
  int64_t group = 0;        // rows that share a scale; divides k
  DType scale_type = kF16;  // f32, f16, bf16, f8e4m3fn or e8m0
  ZeroPoint zero = ZeroPoint::kNone;
  DType zero_type;  // kInteger: u8 or i8; kFloat: f32, f16 or bf16
  float tensor_scale = 1;
  bool finite = true;           // no code is a NaN or an infinity
  bool gathers = false;         // row i belongs to column gather[i] of x
  std::vector<float> codebook;  // the values of the codes, 2^bits of them, or empty
  // The matrix of which this is a part; a whole one begins at 0 and has whole_k = k, whole_n = n.
  int64_t whole_k = 0, whole_n = 0;
  int64_t first_k = 0, first_n = 0;

  [[nodiscard]] int64_t groups() const { return group > 0 ? k / group : 0; }
};

enum class WeightPart : uint8_t { kCodes, kScales, kZeros, kGather, kCodebook };
inline constexpr size_t kWeightParts = 5;
inline constexpr uint64_t kPartAlignment = 256;

struct PartRange {
  uint64_t offset = 0;  // in the image
  uint64_t bytes = 0;
};

// What messages call an element of it: "scale", ..
std::string_view NameOf(WeightPart part);

// The places of the parts, and the layouts of those that are matrices.
struct WeightPlaces {
  std::array<PartRange, kWeightParts> parts;
  uint64_t bytes = 0;  // of the whole image
  MemLayout codes;
  MemLayout scales;
  MemLayout zeros;  // rank 0 if there are none

  [[nodiscard]] const PartRange& operator[](WeightPart part) const {
    return parts[static_cast<size_t>(part)];
  }
};

// Checks the description and places the parts. `has_codebook` stands for info.codebook, whose
// values need not be known yet. Errors: types that do not go together, a group that does not divide
// k, sizes beyond the limits of layouts.
Result<WeightPlaces> PlaceWeights(const WeightInfo& info, bool has_codebook);
inline Result<WeightPlaces> PlaceWeights(const WeightInfo& info) {
  return PlaceWeights(info, !info.codebook.empty());
}

// The type of the zero points, or "none".
std::string_view ZeroTypeName(const WeightInfo& info);

// The value of each code, 2^bits of them.
std::vector<float> CodeValues(const WeightInfo& info);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_WEIGHT_INFO_H_
