#include "tools/real_layers/layers.h"

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>

#include "dtypes/bulk.h"

namespace tarsia::real_layers {

void Fail(int status, const std::string& message) {
  fmt::print(stderr, "real_layers: {}\n", message);
  std::exit(status);
}

Matrix ReadLayer(const InputFile& file, const std::vector<NamedTensor>& tensors,
                 std::string_view name) {
  auto info = FindTensor(tensors, name);
  if (!info.ok()) Fail(3, info.error().message);
  if (info->shape.size() != 2 || info->type != kF32) {
    Fail(3, fmt::format("{} is not a matrix of f32", name));
  }
  auto data = ReadTensor(file, *info);
  if (!data.ok()) Fail(3, data.error().message);
  Matrix out{info->shape[1], info->shape[0], {}};
  std::vector<float> stored(static_cast<size_t>(out.k * out.n));
  std::memcpy(stored.data(), data->data(), stored.size() * sizeof(float));
  out.w.resize(stored.size());
  for (int64_t k = 0; k < out.k; ++k) {
    for (int64_t n = 0; n < out.n; ++n) {
      out.w[static_cast<size_t>(k * out.n + n)] = stored[static_cast<size_t>(n * out.k + k)];
    }
  }
  return out;
}

Matrix Corner(const Matrix& matrix, int64_t k, int64_t n) {
  Matrix out{k, n, {}};
  for (int64_t row = 0; row < k; ++row) {
    const auto begin = matrix.w.begin() + row * matrix.n;
    out.w.insert(out.w.end(), begin, begin + n);
  }
  return out;
}

std::vector<float> Activations(int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  uint64_t state = 20250101;
  for (float& value : x) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int64_t>(state >> 33) % 2001) / 1000.0f;
    if ((state & 1u << 20) != 0) value = -value;
  }
  return x;
}

std::vector<uint16_t> ToF16(const std::vector<float>& values) {
  std::vector<uint16_t> out(values.size());
  CastBulk(kF32, values.data(), kF16, out.data(), values.size());
  return out;
}

}  // namespace tarsia::real_layers
