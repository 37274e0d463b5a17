#include "tests/harness/expectation.h"

#include <cmath>
#include <utility>

#include "tests/harness/codec.h"

namespace tarsia::harness {
namespace {

// Whether a result is within `slack` of the true value. It may be infinite only if the slack
// extends past the largest finite value.
bool Within(DType type, double truth, double got, double slack) {
  if (std::isnan(truth) || std::isnan(got)) return std::isnan(truth) && std::isnan(got);
  if (std::isinf(truth)) return got == truth;
  if (std::isinf(got)) {
    return std::signbit(got) == std::signbit(truth) &&
           std::fabs(truth) + slack > LargestFinite(type);
  }
  return std::fabs(got - truth) <= slack;
}

double Slack(const Expectation& expected, size_t k) {
  if (expected.kind == Expectation::Kind::kBound) return expected.bounds[k];
  const double truth = expected.values[k];
  return std::isfinite(truth) ? expected.ulp * UlpAt(expected.type, truth) : 0;
}

std::string Difference(const Expectation& expected, size_t k, uint64_t code) {
  std::string out =
      "at " + ToText(IndexOf(expected.shape, static_cast<int64_t>(k))) + ": expected ";
  if (expected.kind == Expectation::Kind::kExact) {
    return out + Show(expected.type, expected.codes[k]) + ", got " + Show(expected.type, code);
  }
  const double truth = expected.values[k];
  out += Show(truth) + ", got " + Show(expected.type, code) + ", off by " +
         Show(std::fabs(Decode(expected.type, code) - truth)) + " where " +
         Show(Slack(expected, k)) + " is allowed";
  return out;
}

}  // namespace

Expectation Expectation::Exact(Tensor tensor) {
  Expectation out;
  out.type = tensor.type;
  out.shape = std::move(tensor.shape);
  out.codes = std::move(tensor.codes);
  return out;
}

Expectation Expectation::WithinUlp(DType type, Shape shape, std::vector<double> values,
                                   double ulp) {
  Expectation out;
  out.kind = Kind::kUlp;
  out.type = type;
  out.shape = std::move(shape);
  out.values = std::move(values);
  out.ulp = ulp;
  return out;
}

Expectation Expectation::WithinBounds(DType type, Shape shape, std::vector<double> values,
                                      std::vector<double> bounds) {
  Expectation out;
  out.kind = Kind::kBound;
  out.type = type;
  out.shape = std::move(shape);
  out.values = std::move(values);
  out.bounds = std::move(bounds);
  return out;
}

bool Accepts(const Expectation& expected, size_t k, uint64_t code) {
  const DType type = expected.type;
  if (expected.kind != Expectation::Kind::kExact) {
    return Within(type, expected.values[k], Decode(type, code), Slack(expected, k));
  }
  const uint64_t want = expected.codes[k];
  if (code == want) return true;
  if (!type.IsComplex()) return IsNan(type, want) && IsNan(type, code);
  const DType part = ComponentOf(type);
  for (const int shift : {0, static_cast<int>(part.bits)}) {
    const uint64_t a = want >> shift & CodeMask(part);
    const uint64_t b = code >> shift & CodeMask(part);
    if (a != b && !(IsNan(part, a) && IsNan(part, b))) return false;
  }
  return true;
}

std::string Compare(const Expectation& expected, const Tensor& got) {
  if (got.type != expected.type || got.shape != expected.shape) {
    return std::string("expected ") + std::string(DTypeName(expected.type)) +
           ToText(expected.shape) + ", got " + std::string(DTypeName(got.type)) + ToText(got.shape);
  }
  size_t wrong = 0;
  std::string first;
  for (size_t k = 0; k < got.codes.size(); ++k) {
    if (Accepts(expected, k, got.codes[k])) continue;
    if (wrong++ == 0) first = Difference(expected, k, got.codes[k]);
  }
  if (wrong == 0) return "";
  return first + "; " + std::to_string(wrong) + " of " + std::to_string(got.codes.size()) +
         " elements differ";
}

double AccumulationBound(int64_t k, DType accumulator, double magnitude) {
  return (4 * std::sqrt(static_cast<double>(k)) + 8) * UlpAt(accumulator, 1) * magnitude;
}

double OutputBound(int64_t k, DType accumulator, double magnitude, DType output, double value,
                   double other_roundings) {
  const double before = AccumulationBound(k, accumulator, magnitude) + other_roundings;
  return before + UlpAt(output, std::fabs(value) + before) / 2;
}

}  // namespace tarsia::harness
