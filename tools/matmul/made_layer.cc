#include "tools/matmul/made_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>

#include "dtypes/convert.h"
#include "runtime/weights/parallel.h"

namespace tarsia::tools {
namespace {

using runtime::Activation;
using runtime::MatmulProblem;

enum Stream : uint64_t { kCodes = 1, kScales, kZeros, kX, kBias, kResidual, kRowScales };

// A number of 32 random bits for each pair (Steele, Lea and Flood's SplitMix64).
uint32_t Random(Stream stream, int64_t i, int64_t j) {
  uint64_t z = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15 +
               static_cast<uint64_t>(j) * 0xD1B54A32D192ED03 + stream * 0x8CB92BA72F3D8DD7;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
}

// Multiples of 1/8 from -limit to limit, as codes and as numbers.
void MakeNumbers(Stream stream, DType type, int64_t count, int limit, std::vector<uint8_t>* codes,
                 std::vector<double>* values) {
  const auto size = static_cast<size_t>(type.bits / 8);
  codes->resize(static_cast<size_t>(count) * size);
  values->resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t steps = static_cast<uint32_t>(16 * limit) + 1;
    const double value = static_cast<int>(Random(stream, i, 0) % steps) / 8.0 - limit;
    const uint64_t code = EncodeFromDouble(type, value);
    for (size_t b = 0; b < size; ++b) {
      (*codes)[static_cast<size_t>(i) * size + b] = static_cast<uint8_t>(code >> (8 * b));
    }
    (*values)[static_cast<size_t>(i)] = value;
  }
}

// The distance of neighbours of a number in a float type.
double UlpAt(DType type, double value) {
  const int mantissa = type == kF16 ? 10 : type == kBF16 ? 7 : 23;
  const int least = type == kF16 ? -14 : -126;
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1, exponent - mantissa);
}

double Act(Activation activation, double v) {
  switch (activation) {
    case Activation::kNone:
      return v;
    case Activation::kGelu:
      return v * (1 + std::erf(v / std::sqrt(2.0))) / 2;
    case Activation::kGeluTanh:
      return v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))) / 2;
    case Activation::kSilu:
      return v / (1 + std::exp(-v));
    case Activation::kRelu:
      return std::max(v, 0.0);
  }
  return v;
}

}  // namespace

MatmulProblem ProblemOf(const LayerSpec& spec, const WeightInfo& weights) {
  MatmulProblem out;
  out.m_min = out.m_max = spec.m;
  out.weights = weights;
  out.weights.codebook.clear();
  out.codebook = spec.codebook != nullptr;
  out.output = spec.output;
  if (spec.bias) out.bias = kF32;
  out.activation = spec.activation;
  out.gated = spec.gated;
  out.residual = spec.residual;
  return out;
}

MadeLayer::MadeLayer(const LayerSpec& spec) : spec_(spec) {
  const WeightInfo& w = spec_.weights;
  double squares = 0;
  for (uint32_t code = 0; code < (1U << w.type.bits); ++code) {
    const double value = spec_.codebook != nullptr
                             ? static_cast<double>(spec_.codebook->values[code])
                             : DecodeToDouble(w.type, code);
    values_.push_back(value);
    if (!std::isfinite(value) || std::fabs(value) > 512) continue;
    usable_.push_back(static_cast<uint8_t>(code));
    squares += value * value;
  }
  const double typical = std::sqrt(squares / static_cast<double>(usable_.size()) *
                                   static_cast<double>(std::max<int64_t>(w.k, 1)));
  if (w.scale_type != kF8E4M3FN) {
    scale_ = std::ldexp(1.0F, -std::max(0, std::ilogb(std::max(typical, 1.0))));
  }
  const int64_t columns = spec_.gated ? w.n / 2 : w.n;
  MakeX();
  if (spec_.bias) MakeNumbers(kBias, kF32, w.n, 2, &bias_, &bias_values_);
  if (spec_.residual) {
    MakeNumbers(kResidual, spec_.output, spec_.m * columns, 2, &residual_, &residual_values_);
  }
  if (w.scale_type == kF8E4M3FN) {
    spec_.weights.tensor_scale = std::ldexp(1.0F, -std::ilogb(std::max(typical, 1.0)));
  }
}

void MadeLayer::MakeX() {
  const WeightInfo& w = spec_.weights;
  const bool integers = w.compute == kI8;
  if (!integers) MakeNumbers(kX, w.compute, spec_.m * w.k, 1, &x_, &x_values_);
  if (w.compute.bits != 8) return;
  for (int64_t row = 0; row < spec_.m; ++row) {
    const float eighths = 8.0F + static_cast<float>(Random(kRowScales, row, 0) % 8);
    const float scale = std::ldexp(eighths, integers ? -10 : -3);
    const auto bits = std::bit_cast<std::array<uint8_t, sizeof scale>>(scale);
    row_scales_.insert(row_scales_.end(), bits.begin(), bits.end());
    for (int64_t k = 0; k < w.k; ++k) {
      if (integers) {
        const int code = static_cast<int>(Random(kX, row, k) % 255) - 127;
        x_.push_back(static_cast<uint8_t>(code));
        x_values_.push_back(code);
      }
      x_values_[static_cast<size_t>(row * w.k + k)] *= static_cast<double>(scale);
    }
  }
}

uint8_t MadeLayer::Code(int64_t row, int64_t column) const {
  return usable_[Random(kCodes, row, column) % usable_.size()];
}

// Of three bits, or, where the type has powers of two only, of one of two.
float MadeLayer::Scale(int64_t group, int64_t column) const {
  const uint32_t random = Random(kScales, group, column);
  if (spec_.weights.scale_type == kE8M0) return random % 2 == 0 ? scale_ : scale_ / 2;
  return scale_ * (1 + static_cast<float>(random % 8) / 8) / 2;
}

float MadeLayer::Zero(int64_t group, int64_t column) const {
  const uint32_t random = Random(kZeros, group, column);
  const int bits = spec_.weights.type.bits;
  if (spec_.weights.zero == ZeroPoint::kInteger) {
    return static_cast<float>(random % (1U << (bits - 1)));
  }
  return static_cast<float>(random % (1U << (bits + 1))) / 4;
}

Result<PackedWeights> MadeLayer::Pack(const Progress& progress) const {
  CodeSource source;
  source.info = spec_.weights;
  WeightInfo& info = source.info;
  info.whole_k = info.k;
  info.whole_n = info.n;
  if (spec_.codebook != nullptr) {
    info.codebook.assign(spec_.codebook->values.begin(), spec_.codebook->values.end());
  }
  source.codes = [&](const Region& region, uint8_t* to, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      for (int64_t j = 0; j < region.columns; ++j) {
        to[i * stride + j] = Code(region.row + i, region.column + j);
      }
    }
  };
  for (int64_t group = 0; group < info.groups(); ++group) {
    for (int64_t column = 0; column < info.n; ++column) {
      source.scales.push_back(Scale(group, column));
      if (info.zero != ZeroPoint::kNone) source.zeros.push_back(Zero(group, column));
    }
  }
  return PackedWeights::Pack(source, progress);
}

// The bound is a few standard deviations of a sum of k roundings of f32.
std::vector<MadeLayer::Sum> MadeLayer::SumsOf(int64_t column, bool rounds_weights) const {
  const WeightInfo& w = spec_.weights;
  std::vector<double> weights(static_cast<size_t>(w.k)), sizes(weights.size());
  std::vector<double> rounded(weights.size());  // by which a weight may be rounded
  for (int64_t row = 0; row < w.k; ++row) {
    const int64_t group = row / w.group;
    const double value = values_[Code(row, column)];
    const double zero = w.zero == ZeroPoint::kNone ? 0 : static_cast<double>(Zero(group, column));
    const double scale =
        static_cast<double>(Scale(group, column)) * static_cast<double>(w.tensor_scale);
    weights[static_cast<size_t>(row)] = (value - zero) * scale;
    if (rounds_weights) {
      rounded[static_cast<size_t>(row)] = UlpAt(w.compute, (value - zero) * scale) / 2;
    } else if (spec_.codebook != nullptr) {
      rounded[static_cast<size_t>(row)] = UlpAt(w.compute, value) / 2 * scale;
    }
    sizes[static_cast<size_t>(row)] = (std::fabs(value) + std::fabs(zero)) * scale;
  }
  std::vector<Sum> out(static_cast<size_t>(spec_.m));
  const double roundings = 4 * std::sqrt(static_cast<double>(w.k)) + 8;
  for (size_t i = 0; i < out.size(); ++i) {
    const double* const x = x_values_.data() + i * weights.size();
    double value = 0, size = 0, slack = 0;
    for (size_t k = 0; k < weights.size(); ++k) {
      value += x[k] * weights[k];
      size += std::fabs(x[k]) * sizes[k];
      slack += std::fabs(x[k]) * rounded[k];
    }
    const double bias = spec_.bias ? bias_values_[static_cast<size_t>(column)] : 0;
    out[i] = {value + bias, roundings * std::ldexp(size + std::fabs(bias), -23) + slack};
  }
  return out;
}

void MadeLayer::CompareColumn(int64_t column, const std::vector<uint8_t>& y, bool rounds_weights,
                              LayerErrors* errors) const {
  const int64_t columns = spec_.gated ? spec_.weights.n / 2 : spec_.weights.n;
  const std::vector<Sum> first = SumsOf(column, rounds_weights);
  const std::vector<Sum> second =
      spec_.gated ? SumsOf(columns + column, rounds_weights) : std::vector<Sum>();
  const auto size = static_cast<size_t>(spec_.output.bits / 8);
  for (size_t i = 0; i < first.size(); ++i) {
    double value = Act(spec_.activation, first[i].value);
    double bound = first[i].bound;
    // No activation is steeper than 1.13, and none is less exact than this.
    if (spec_.activation != Activation::kNone) {
      bound = 1.13 * bound + std::ldexp(std::fabs(first[i].value) + 1, -19);
    }
    if (spec_.gated) {
      const Sum& other = second[i];
      bound = bound * (std::fabs(other.value) + other.bound) + other.bound * std::fabs(value);
      value *= other.value;
    }
    const size_t at = i * static_cast<size_t>(columns) + static_cast<size_t>(column);
    if (spec_.residual) value += residual_values_[at];
    bound += std::ldexp(std::fabs(value), -22) + UlpAt(spec_.output, value) / 2;
    uint64_t code = 0;
    for (size_t b = 0; b < size; ++b) code |= static_cast<uint64_t>(y[at * size + b]) << (8 * b);
    const double got = DecodeToDouble(spec_.output, code);
    const double share = std::fabs(got - value) / bound;
    ++errors->compared;
    if (share <= 1) {
      errors->largest = std::max(errors->largest, share);
      continue;
    }
    if (errors->wrong++ == 0) {
      errors->first =
          fmt::format("y[{}, {}] is {}, and not {} (+- {:.2g})", i, column, got, value, bound);
    }
  }
}

LayerErrors MadeLayer::Compare(const std::vector<uint8_t>& y, bool rounds_weights,
                               double most_products) const {
  const int64_t columns = spec_.gated ? spec_.weights.n / 2 : spec_.weights.n;
  const double products = static_cast<double>(std::max<int64_t>(spec_.m, 1)) *
                          static_cast<double>(std::max<int64_t>(spec_.weights.k, 1));
  const int64_t wanted =
      std::min(std::max<int64_t>(static_cast<int64_t>(most_products / products), 16), columns);
  LayerErrors all;
  std::mutex mutex;
  ParallelFor(wanted, [&](int64_t i) {
    LayerErrors errors;
    CompareColumn(i * columns / wanted, y, rounds_weights, &errors);
    const std::lock_guard lock(mutex);
    all.compared += errors.compared;
    all.largest = std::max(all.largest, errors.largest);
    if (all.wrong == 0) all.first = errors.first;
    all.wrong += errors.wrong;
  });
  return all;
}

}  // namespace tarsia::tools
