// The quantised matmul as a caller describes it:
//
//   y[m, n] = epilogue(tensor_scale * r[m] * x[m, k] * ((value(code) - zero) * scale)[k, n])
//
// where x has a scale r for each row if its elements have 8 bits, and
// the epilogue is, in this order: bias, activation, the product with the second half of a gated
// pair, residual.
#ifndef TARSIA_RUNTIME_MATMUL_PROBLEM_H_
#define TARSIA_RUNTIME_MATMUL_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/weights/weight_info.h"
#include "support/result.h"

namespace tarsia::runtime {

// The numbers are those of the constant ACT of kernels/quantised_matmul.tsa.
enum class Activation : uint8_t { kNone, kGelu, kGeluTanh, kSilu, kRelu };
inline constexpr int kActivations = 5;

struct MatmulProblem {
  int64_t m_min = 0, m_max = 0;  // rows of x
  // k and n of the weights; a gated pair has the columns of both halves, so y has n / 2.
  // `info.codebook` stays empty: `codebook` says whether there is one.
  WeightInfo weights;
  bool codebook = false;
  DType output = kF16;        // of y and of the residual: f16, bf16 or f32
  std::optional<DType> bias;  // f16, bf16 or f32
  Activation activation = Activation::kNone;
  bool gated = false;
  bool residual = false;

  [[nodiscard]] int64_t columns() const { return gated ? weights.n / 2 : weights.n; }
  [[nodiscard]] DType activations() const { return weights.compute; }
  // f32 scales of the rows of x.
  [[nodiscard]] bool HasRowScales() const { return activations().bits == 8; }
};

// The type of y where the caller names none: that of x, or f16 where x has 8 bits.
inline DType UsualOutput(DType activations) { return activations.bits == 8 ? kF16 : activations; }

// Checks the description, and says where the parts of its weights lie. Errors: those of
// PlaceWeights; rows that are negative, in no order, or more than 2^31 - 1; types that kernels do
// not have, with the nearest that they have; groups so large that a sum of products of i8 might
// exceed i32.
Result<WeightPlaces> CheckMatmul(const MatmulProblem& problem);

// Whether the header of an image of weights, if there is one, describes the weights of the problem.
// An image that was packed on a device has none.
Status CheckImage(const MatmulProblem& problem, std::span<const uint8_t> image);

// What crosses memory at least once, in bytes, and the operations (a multiplication and an addition
// are two), for m rows: the floor of any kernel.
struct MatmulFloor {
  double bytes = 0;
  double operations = 0;
};
MatmulFloor FloorOf(const MatmulProblem& problem, const WeightPlaces& places, int64_t m);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_MATMUL_PROBLEM_H_
