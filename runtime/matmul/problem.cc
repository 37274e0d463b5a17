#include "runtime/matmul/problem.h"

#include "runtime/diagnostics.h"

namespace tarsia::runtime {
namespace {

bool IsOutputType(DType type) { return type == kF16 || type == kBF16 || type == kF32; }

}  // namespace

Result<WeightPlaces> CheckMatmul(const MatmulProblem& problem) {
  if (problem.m_min < 0 || problem.m_max < problem.m_min || problem.m_max > INT32_MAX) {
    return MakeDiagnostic(diag::kMatmulRows, {}, problem.m_min, problem.m_max, INT32_MAX);
  }
  if (problem.activations() != kF16 && problem.activations() != kBF16) {
    return MakeDiagnostic(diag::kMatmulActivations, {}, DTypeName(problem.activations()));
  }
  if (!IsOutputType(problem.output)) {
    return MakeDiagnostic(diag::kMatmulType, {}, "outputs", DTypeName(problem.output));
  }
  if (problem.bias && !IsOutputType(*problem.bias)) {
    return MakeDiagnostic(diag::kMatmulType, {}, "a bias", DTypeName(*problem.bias));
  }
  if (problem.gated && problem.weights.n % 2 != 0) {
    return MakeDiagnostic(diag::kMatmulHalves, {}, problem.weights.n);
  }
  return PlaceWeights(problem.weights, problem.codebook);
}

MatmulFloor FloorOf(const MatmulProblem& problem, const WeightPlaces& places, int64_t m) {
  const WeightInfo& w = problem.weights;
  const auto rows = static_cast<double>(m);
  const auto k = static_cast<double>(w.k);
  const auto n = static_cast<double>(problem.columns());
  MatmulFloor out;
  for (const PartRange& part : places.parts) out.bytes += static_cast<double>(part.bytes);
  out.bytes += rows * k * problem.activations().bits / 8;
  out.bytes += rows * n * problem.output.bits / 8 * (problem.residual ? 2 : 1);
  if (problem.bias) out.bytes += static_cast<double>(w.n) * problem.bias->bits / 8;
  out.operations = 2 * rows * k * static_cast<double>(w.n);
  return out;
}

}  // namespace tarsia::runtime
