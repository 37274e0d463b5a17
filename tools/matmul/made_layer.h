// A layer of made numbers, and what its product is by the plain formula.
#ifndef TARSIA_TOOLS_MATMUL_MADE_LAYER_H_
#define TARSIA_TOOLS_MATMUL_MADE_LAYER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dtypes/codebook.h"
#include "runtime/matmul/problem.h"
#include "runtime/weights/packed_weights.h"
#include "support/result.h"

namespace tarsia::tools {

// What a layer is to be like. `weights` needs type, compute, k, n, group, scale_type, zero and
// zero_type; columns are those of both halves of a gated pair.
struct LayerSpec {
  int64_t m = 1;
  WeightInfo weights;
  const Codebook* codebook = nullptr;
  runtime::Activation activation = runtime::Activation::kNone;
  bool gated = false, bias = false, residual = false;
  DType output = kF16;
};

// The matmul of a layer. `weights` are those of the spec, or what is known of them once packed.
runtime::MatmulProblem ProblemOf(const LayerSpec& spec, const WeightInfo& weights);

// How far results are from the formula.
struct LayerErrors {
  int64_t compared = 0;
  int64_t wrong = 0;
  double largest = 0;  // of an error, as a share of its bound
  std::string first;   // the first that is wrong: "y[0, 3] is 1.5, and not 1.25 (+- 0.01)"
};

// Numbers of x are multiples of 1/8 up to 1, those of bias and residual up to 2; x of i8 has all
// integers up to 127, and scales that make rows as large. All finite codes of at most 512 occur.
// Sums are about 1.
class MadeLayer {
 public:
  explicit MadeLayer(const LayerSpec& spec);

  [[nodiscard]] const LayerSpec& spec() const { return spec_; }
  // Errors: those of PackedWeights::Pack.
  [[nodiscard]] Result<PackedWeights> Pack(const Progress& progress) const;
  [[nodiscard]] const std::vector<uint8_t>& x() const { return x_; }
  [[nodiscard]] const std::vector<uint8_t>& row_scales() const { return row_scales_; }  // of f32
  [[nodiscard]] const std::vector<uint8_t>& bias() const { return bias_; }              // of f32
  [[nodiscard]] const std::vector<uint8_t>& residual() const { return residual_; }      // as y

  // Compares y with the formula, in f64, by the bound of the roundings of a sum in f32: all columns
  // if their products are at most `most_products`, else columns that are spread over all.
  // `rounds_weights`: weights are rounded to the type of x once. Values of codebooks always are.
  [[nodiscard]] LayerErrors Compare(const std::vector<uint8_t>& y, bool rounds_weights,
                                    double most_products) const;

 private:
  struct Sum {
    double value = 0;
    double bound = 0;
  };
  void MakeX();
  [[nodiscard]] uint8_t Code(int64_t row, int64_t column) const;
  [[nodiscard]] float Scale(int64_t group, int64_t column) const;
  [[nodiscard]] float Zero(int64_t group, int64_t column) const;
  [[nodiscard]] std::vector<Sum> SumsOf(int64_t column, bool rounds_weights) const;
  void CompareColumn(int64_t column, const std::vector<uint8_t>& y, bool rounds_weights,
                     LayerErrors* errors) const;

  LayerSpec spec_;
  std::vector<double> values_;   // by code
  std::vector<uint8_t> usable_;  // codes
  float scale_ = 1;              // the largest power of two that is a scale
  std::vector<uint8_t> x_, row_scales_, bias_, residual_;
  std::vector<double> x_values_, bias_values_, residual_values_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_MATMUL_MADE_LAYER_H_
