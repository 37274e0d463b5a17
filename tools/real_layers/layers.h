// The data of the main job: weights of a real model, activations, and failure of the job.
#ifndef TARSIA_TOOLS_REAL_LAYERS_LAYERS_H_
#define TARSIA_TOOLS_REAL_LAYERS_LAYERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dtypes/quantize.h"
#include "runtime/files/file.h"
#include "runtime/files/safetensors.h"

namespace tarsia::real_layers {

// Ends the program.
[[noreturn]] void Fail(int status, const std::string& message);

struct Matrix {
  int64_t k = 0, n = 0;
  std::vector<float> w;  // [K, N]
};

// Reads [outputs, inputs] and turns it into w[K, N].
Matrix ReadLayer(const InputFile& file, const std::vector<NamedTensor>& tensors,
                 std::string_view name);
// The first rows and columns of a matrix.
Matrix Corner(const Matrix& matrix, int64_t k, int64_t n);

// Activations in [-2, 2] with three decimals, from a fixed linear congruential generator.
std::vector<float> Activations(int64_t count);
std::vector<uint16_t> ToF16(const std::vector<float>& values);

// One matmul: x[m, K] in f16 times a quantised matrix.
struct Job {
  const Matrix& matrix;
  const Quantised& q;
  std::string type_name;
  int64_t m;
  const std::vector<uint16_t>& x;
};

}  // namespace tarsia::real_layers

#endif  // TARSIA_TOOLS_REAL_LAYERS_LAYERS_H_
