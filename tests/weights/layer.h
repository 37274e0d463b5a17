// A layer of a model in some format, with its weights by the format's definition, and what is to be
// shown of it: that the importer finds these weights, and that a product with them on the packed
// form is right, both within the bound of the arithmetic and, on exact data, bit for bit.
#ifndef TARSIA_TESTS_WEIGHTS_LAYER_H_
#define TARSIA_TESTS_WEIGHTS_LAYER_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/importers/model.h"
#include "runtime/weights/packed_weights.h"

namespace tarsia::weights {

// By the definition of a format, for the weight in row k and column n of w[K, N].
struct Weight {
  double value = 0;
  double parts = 0;     // |value(code)| + |zero|, times |scale|: what cancels when they differ
  double rounding = 0;  // of the weight in the product: entries of a codebook become f16
};

struct Layer {
  std::string file_name;  // "model.safetensors", "model.gguf"
  std::string file;       // its bytes
  std::string config;     // of quantize_config.json; empty: none
  ModelOptions options;
  std::string name;
  std::string format;  // that the importer should find
  int64_t k = 0, n = 0;
  std::vector<Weight> weights;  // [k, n]
  // How far an imported weight may be from its value, as a share of `parts`; 0: equal as f32.
  double tolerance = 0;
  bool exact = false;  // small integers times a power of two

  [[nodiscard]] Weight& at(int64_t row, int64_t column) {
    return weights[static_cast<size_t>(row * n + column)];
  }
  [[nodiscard]] const Weight& at(int64_t row, int64_t column) const {
    return weights[static_cast<size_t>(row * n + column)];
  }
};

// Imports the only weights of the file. A failure is reported.
std::vector<PackedWeights> ImportLayer(const Layer& layer);

// The importer finds the layer's weights; a .tsw file of them is read back the same.
void CheckWeights(const Layer& layer, const PackedWeights& packed);

// The product of examples/matmul_packed.tsa.
void CheckProduct(const Layer& layer, const PackedWeights& packed);

// All of it.
void CheckLayer(const Layer& layer);

}  // namespace tarsia::weights

#endif  // TARSIA_TESTS_WEIGHTS_LAYER_H_
