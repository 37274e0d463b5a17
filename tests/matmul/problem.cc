#include "tests/matmul/problem.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <random>
#include <utility>

#include "tests/harness/codec.h"

namespace tarsia::matmul {
namespace {

using harness::Decode;
using harness::Expectation;
using harness::Tensor;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // 0 to n - 1.
  int64_t Below(int64_t n) { return static_cast<int64_t>(engine_() >> 11) % n; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(Below(static_cast<int64_t>(from.size())))];
  }

 private:
  std::mt19937_64 engine_;  // the same numbers everywhere
};

size_t At(int64_t i, int64_t j, int64_t columns) { return static_cast<size_t>(i * columns + j); }

uint64_t Code(DType type, double value) {
  const auto code = harness::EncodeExact(type, value);
  if (!code) std::abort();  // a mistake in this file
  return *code;
}

std::vector<uint64_t> FiniteCodes(DType type) {
  std::vector<uint64_t> out;
  for (uint64_t code = 0; code <= CodeMask(type); ++code) {
    if (std::isfinite(Decode(type, code))) out.push_back(code);
  }
  return out;
}

double Largest(DType type) {
  double largest = 0;
  for (const uint64_t code : FiniteCodes(type)) {
    largest = std::max(largest, std::fabs(Decode(type, code)));
  }
  return largest;
}

Problem Empty(const Spec& spec) {
  Problem p;
  p.spec = spec;
  p.x = {spec.x, {spec.m, spec.k}, {}};
  p.w = {spec.w, {spec.k, spec.n}, {}};
  if (spec.group == 0) return p;
  p.scale = {spec.scale, {spec.k / spec.group, spec.n}, {}};
  if (spec.zero_points) p.zero = {spec.zero, {spec.k / spec.group, spec.n}, {}};
  return p;
}

// Zero points are weights themselves, so that w - z can be zero.
void MakeZeroPoints(Problem& p, Random& random) {
  if (!p.spec.zero_points) return;
  const int64_t count = harness::Elements(p.zero.shape);
  std::vector<uint64_t> codes;
  for (const uint64_t code : FiniteCodes(p.spec.zero)) {
    const double value = Decode(p.spec.zero, code);
    if (std::fabs(value) <= 20 && harness::EncodeExact(p.spec.w, value)) codes.push_back(code);
  }
  for (int64_t i = 0; i < count; ++i) p.zero.codes.push_back(random.Pick(codes));
}

// ---- random data ---------------------------------------------------------------------------

// Magnitudes around 2^exponent with all mantissa bits at random, both signs.
double RandomActivation(DType x, int exponent, Random& random) {
  const int64_t steps = int64_t{1} << x.mantissa;
  const double fraction = static_cast<double>(random.Below(steps)) / static_cast<double>(steps);
  const auto scale = exponent - static_cast<int>(random.Below(3));
  return (random.Below(2) == 0 ? 1 : -1) * std::ldexp(1 + fraction, scale);
}

// Between 1/16 and 1/2.
double RandomScale(DType type, Random& random) {
  const int exponent = -2 - static_cast<int>(random.Below(3));
  const int bits = type.IsExponent() ? 0 : std::min<int>(type.mantissa, 20);
  const int64_t steps = int64_t{1} << bits;
  return std::ldexp(1 + static_cast<double>(random.Below(steps)) / static_cast<double>(steps),
                    exponent);
}

double Scale(const Problem& p, int64_t k, int64_t n) {
  if (p.spec.group == 0) return 1;
  return Decode(p.spec.scale, p.scale.codes[At(k / p.spec.group, n, p.spec.n)]);
}

// The rounding error of w - z in the type of the activations.
double RoundingOfDifference(const Problem& p, int64_t k, int64_t n) {
  if (!p.spec.zero_points) return 0;
  const size_t at = At(k / p.spec.group, n, p.spec.n);
  const double difference =
      Decode(p.spec.w, p.w.codes[At(k, n, p.spec.n)]) - Decode(p.spec.zero, p.zero.codes[at]);
  if (harness::EncodeExact(p.spec.x, difference)) return 0;
  return harness::UlpAt(p.spec.x, difference) / 2 * Decode(p.spec.scale, p.scale.codes[at]);
}

Expectation WithinBounds(const Problem& p) {
  const Spec& s = p.spec;
  std::vector<double> x(p.x.codes.size()), v(p.w.codes.size()), rounding(p.w.codes.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = Decode(s.x, p.x.codes[i]);
  for (int64_t k = 0; k < s.k; ++k) {
    for (int64_t n = 0; n < s.n; ++n) {
      v[At(k, n, s.n)] = Weight(p, k, n, p.w.codes[At(k, n, s.n)]);
      rounding[At(k, n, s.n)] = RoundingOfDifference(p, k, n);
    }
  }
  std::vector<double> values;
  std::vector<double> bounds;
  for (int64_t m = 0; m < s.m; ++m) {
    for (int64_t n = 0; n < s.n; ++n) {
      double sum = 0;
      double magnitude = 0;
      double other = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        const double product = x[At(m, k, s.k)] * v[At(k, n, s.n)];
        sum += product;
        magnitude += std::fabs(product);
        magnitude += 2 * std::fabs(x[At(m, k, s.k)]) * s.bias * Scale(p, k, n);
        other += std::fabs(x[At(m, k, s.k)]) * rounding[At(k, n, s.n)];
      }
      values.push_back(sum);
      bounds.push_back(harness::OutputBound(s.k, kF32, magnitude, s.x, sum, other));
    }
  }
  return Expectation::WithinBounds(s.x, {s.m, s.n}, std::move(values), std::move(bounds));
}

// ---- exact data ----------------------------------------------------------------------------

// Everything is a multiple of `unit`, a power of two.
class TwinMaker {
 public:
  TwinMaker(const Spec& spec, uint64_t seed)
      : p_(Empty(spec)), random_(seed), limit_(std::ldexp(1.0, spec.x.mantissa + 1)) {}

  Problem Make() {
    MakeZeroPoints(p_, random_);
    MakeScales();
    FindUnit();
    MakeActivations();
    MakeWeights();
    return std::move(p_);
  }

 private:
  void MakeScales() {
    const int64_t count = p_.spec.group > 0 ? harness::Elements(p_.scale.shape) : 0;
    for (int64_t i = 0; i < count; ++i) {
      p_.scale.codes.push_back(
          Code(p_.spec.scale, std::ldexp(1.0, static_cast<int>(random_.Below(3)) - 1)));
    }
  }

  // The least weight, but at least 2^-6, so that large ones are not excluded. The codes to choose
  // from are those whose weights are multiples of it, up to a quarter of the sums.
  void FindUnit() {
    double least = 1;
    for (const uint64_t code : FiniteCodes(p_.spec.w)) {
      const double value = std::fabs(Decode(p_.spec.w, code));
      if (value != 0) least = std::min(least, value);
    }
    const double unit = std::max(least, 0x1p-6);
    for (const uint64_t code : FiniteCodes(p_.spec.w)) {
      const double units = Decode(p_.spec.w, code) / unit;
      if (units == std::floor(units) && std::fabs(units) <= limit_ / 4) codes_.push_back(code);
    }
    unit_ = p_.spec.group > 0 ? unit / 2 : unit;  // scales are 1/2, 1 and 2
  }

  // Each k meets up to four rows, with factors of 1 and 2: with more, sums would exceed what the
  // output holds exactly. Every k has a row, so that every weight is tested.
  void MakeActivations() {
    const Spec& s = p_.spec;
    x_.assign(static_cast<size_t>(s.m * s.k), 0);
    for (int64_t k = 0; k < s.k; ++k) {
      for (int64_t a = 0; a < std::min<int64_t>(4, s.m); ++a) {
        const int64_t row = (k * 4 + a) % s.m;
        static const std::vector<double> kFactors = {1, -1, 2, -2};
        x_[At(row, k, s.k)] = random_.Pick(kFactors);
      }
    }
    for (const double value : x_) p_.x.codes.push_back(Code(s.x, value));
  }

  // Goes down each column with the sums so far, and chooses only weights that keep them small.
  void MakeWeights() {
    const Spec& s = p_.spec;
    p_.w.codes.assign(static_cast<size_t>(s.k * s.n), 0);
    std::vector<uint64_t> y(static_cast<size_t>(s.m * s.n));
    for (int64_t n = 0; n < s.n; ++n) {
      std::vector<double> sums(static_cast<size_t>(s.m), 0);
      for (int64_t k = 0; k < s.k; ++k) {
        const uint64_t code = ChooseWeight(k, n, sums);
        const double weight = Weight(p_, k, n, code);
        p_.w.codes[At(k, n, s.n)] = code;
        for (int64_t m = 0; m < s.m; ++m) {
          sums[static_cast<size_t>(m)] += x_[At(m, k, s.k)] * weight;
        }
      }
      for (int64_t m = 0; m < s.m; ++m) {
        y[At(m, n, s.n)] = Code(s.x, sums[static_cast<size_t>(m)]);
      }
    }
    p_.expected = Expectation::Exact({s.x, {s.m, s.n}, std::move(y)});
  }

  uint64_t ChooseWeight(int64_t k, int64_t n, const std::vector<double>& sums) {
    constexpr int kTries = 32;
    for (int i = 0; i < kTries; ++i) {
      const uint64_t code = random_.Pick(codes_);
      if (Fits(k, Weight(p_, k, n, code), sums)) return code;
    }
    if (!p_.spec.zero_points) return 0;
    const size_t at = At(k / p_.spec.group, n, p_.spec.n);
    return Code(p_.spec.w, Decode(p_.spec.zero, p_.zero.codes[at]));  // w - z = 0
  }

  bool Fits(int64_t k, double weight, const std::vector<double>& sums) {
    if (std::fabs(weight) > limit_ / 2 * unit_) return false;
    for (int64_t m = 0; m < p_.spec.m; ++m) {
      const double sum = sums[static_cast<size_t>(m)] + x_[At(m, k, p_.spec.k)] * weight;
      if (std::fabs(sum) > limit_ * unit_) return false;
    }
    return true;
  }

  Problem p_;
  Random random_;
  double limit_;  // outputs hold every integer up to this
  double unit_ = 1;
  std::vector<uint64_t> codes_;
  std::vector<double> x_;
};

}  // namespace

DType ActivationFor(DType w) {
  for (const uint64_t code : FiniteCodes(w)) {
    if (!harness::EncodeExact(kF16, Decode(w, code))) return kBF16;
  }
  return kF16;
}

double Weight(const Problem& p, int64_t k, int64_t n, uint64_t code) {
  double weight = Decode(p.spec.w, code);
  if (p.spec.group == 0) return weight;
  const size_t at = At(k / p.spec.group, n, p.spec.n);
  if (p.spec.zero_points) weight -= Decode(p.spec.zero, p.zero.codes[at]);
  return weight * Decode(p.spec.scale, p.scale.codes[at]);
}

Problem RandomProblem(const Spec& spec, uint64_t seed) {
  Random random(seed);
  Problem p = Empty(spec);
  // Small enough that sums of the largest weights stay far below the largest output.
  const int exponent = -std::max(0, std::ilogb(Largest(spec.w)) - 8);
  for (int64_t i = 0; i < spec.m * spec.k; ++i) {
    p.x.codes.push_back(Code(spec.x, RandomActivation(spec.x, exponent, random)));
  }
  const std::vector<uint64_t> codes = FiniteCodes(spec.w);
  for (int64_t i = 0; i < spec.k * spec.n; ++i) p.w.codes.push_back(random.Pick(codes));
  MakeZeroPoints(p, random);
  const int64_t scales = spec.group > 0 ? harness::Elements(p.scale.shape) : 0;
  for (int64_t i = 0; i < scales; ++i) {
    p.scale.codes.push_back(Code(spec.scale, RandomScale(spec.scale, random)));
  }
  p.expected = WithinBounds(p);
  return p;
}

Problem ExactTwin(const Spec& spec, uint64_t seed) { return TwinMaker(spec, seed).Make(); }

std::vector<uint8_t> Bytes(const Tensor& tensor) {
  const size_t bits = tensor.type.bits;
  std::vector<uint8_t> out((tensor.codes.size() * bits + 7) / 8, 0);
  for (size_t i = 0; i < tensor.codes.size() * bits; ++i) {
    const uint64_t bit = tensor.codes[i / bits] >> i % bits & 1;
    out[i / 8] = static_cast<uint8_t>(out[i / 8] | bit << i % 8);
  }
  return out;
}

}  // namespace tarsia::matmul
