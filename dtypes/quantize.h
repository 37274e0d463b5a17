// Reference quantisers and dequantisers of weight matrices, with absmax and with least-squares
// scales. Clear and exact rather than fast: packed formats, importers and kernels are tested
// against them.
//
// A weight is (value(code) - zero) * scale * tensor_scale, where blocks of `group` consecutive rows
// of one column (or of several, side by side) share a scale and a zero point.
#ifndef TARSIA_DTYPES_QUANTIZE_H_
#define TARSIA_DTYPES_QUANTIZE_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "dtypes/codebook.h"
#include "dtypes/dtype.h"
#include "support/result.h"

namespace tarsia {

enum class ZeroPoint : uint8_t {
  kNone,     // zero = 0
  kInteger,  // a code of the weight type
  kFloat,    // any number, rounded to the scale type
};

// How scales (and zero points) are chosen; see QuantiseGroups.
enum class ScaleRule : uint8_t { kAbsmax, kLeastSquares };

struct QuantiseSpec {
  DType type;                         // an integer or float of at most 8 bits
  int64_t group = 0;                  // rows per scale; divides K; K itself means per channel
  ZeroPoint zero = ZeroPoint::kNone;  // floats, codebooks and e8m0 scales take kNone only
  DType scale_type = kF32;            // f32, f16, bf16, f8e4m3fn or e8m0
  int64_t columns = 1;                // columns per scale; the last block may be narrower
  ScaleRule rule = ScaleRule::kAbsmax;
  const Codebook* codebook = nullptr;  // what the codes mean if set; `type` is CodeTypeOf it
  // Codes of larger values are not used: those that the type of the activations cannot hold.
  double limit = std::numeric_limits<double>::infinity();
};

// A quantised matrix w[K, N]. Row-major.
struct Quantised {
  QuantiseSpec spec;
  int64_t k = 0;
  int64_t n = 0;
  std::vector<uint8_t> codes;  // [K, N], one container per code
  std::vector<float> scales;   // [K / group, N / columns rounded up], values of spec.scale_type
  std::vector<float> zeros;    // as `scales`, or empty for kNone
  float tensor_scale = 1;      // one factor for all (NVFP4)
};

// Quantises w[k, n], row-major. Scales by kAbsmax:
// - Without zero points the scale is the least that saturates nothing: the larger of
//   max / largest value and -min / -least value. Floats: absmax / largest finite value. With an
//   e8m0 scale, 2^(floor(log2(absmax)) - floor(log2(largest value))), the rule of the MX formats.
// - With zero points the range of the codes covers [min, max] (extended to hold 0 for kInteger).
// By kLeastSquares:
// - Without zero points the scale whose sum of squared errors is least among all values of the
//   scale type.
// - With zero points a pair whose error is no larger than that of kAbsmax, found by descent.
// The scale is rounded to its type first; codes are then rounded from w / scale (+ zero) to nearest
// even (codebooks: the lower code), saturating. A scale that underflows to 0 makes all weights of
// the block zero (codebooks: the result of a scale of 0). Errors: an unsupported type, codebook,
// scale type or zero point; group not dividing k; columns below 1; sizes that do not match; a
// weight that is not finite; a negative weight where no code is negative and there are no zero
// points.
Result<Quantised> QuantiseGroups(std::span<const float> w, int64_t k, int64_t n,
                                 const QuantiseSpec& spec);

// MXFP8, MXFP6, MXFP4: one e8m0 scale per 32 elements. `type` is a float of at most 8 bits.
Result<Quantised> QuantiseMx(std::span<const float> w, int64_t k, int64_t n, DType type,
                             ScaleRule rule = ScaleRule::kAbsmax);

// NVFP4: f4e2m1, one f8e4m3fn scale per 16 elements, one f32 for the tensor: absmax / (448 * 6).
Result<Quantised> QuantiseNvfp4(std::span<const float> w, int64_t k, int64_t n,
                                ScaleRule rule = ScaleRule::kAbsmax);

// FP8 with block scales: one f32 scale per 128 rows by 128 columns. `type` is a float of 8 bits.
Result<Quantised> QuantiseFp8Blocks(std::span<const float> w, int64_t k, int64_t n,
                                    DType type = kF8E4M3FN, ScaleRule rule = ScaleRule::kAbsmax);

// A codebook (NF4: *FindCodebook("nf4"), groups of 64). `book` must outlive the result.
Result<Quantised> QuantiseCodebook(std::span<const float> w, int64_t k, int64_t n,
                                   const Codebook& book, int64_t group, DType scale_type = kF32,
                                   ScaleRule rule = ScaleRule::kAbsmax);

// The weights [K, N]: each product in double, rounded once to f32.
// Errors: arrays whose sizes do not match k, n, group and columns.
Result<std::vector<float>> Dequantise(const Quantised& q);

struct QuantiseError {
  double max_abs = 0;  // largest |approximation - original|
  double rms = 0;      // root of the mean square difference
  double snr_db = 0;   // 10 log10(sum original^2 / sum difference^2); infinite if they are equal
};

// An error if the sizes differ.
Result<QuantiseError> MeasureError(std::span<const float> original,
                                   std::span<const float> approximation);

}  // namespace tarsia

#endif  // TARSIA_DTYPES_QUANTIZE_H_
