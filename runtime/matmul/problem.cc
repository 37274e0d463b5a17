#include "runtime/matmul/problem.h"

#include "runtime/diagnostics.h"
#include "runtime/weights/tsw.h"

namespace tarsia::runtime {
namespace {

bool IsOutputType(DType type) { return type == kF16 || type == kBF16 || type == kF32; }

// x of i8 is at least -128, and a code less its zero point, which has 8 bits, less than 2^bits.
// So many rows have sums that i32 holds.
int64_t MostRowsOfI8(const WeightInfo& w) {
  const int bits = w.zero == ZeroPoint::kInteger ? 8 : w.type.bits;
  return int64_t{1} << (31 - 7 - bits);
}

Status CheckActivations(const MatmulProblem& problem) {
  const WeightInfo& w = problem.weights;
  const DType x = problem.activations();
  if (x != kF16 && x != kBF16 && x != kI8 && x != kF8E4M3FN) {
    return MakeDiagnostic(diag::kMatmulActivations, {}, DTypeName(x));
  }
  if (problem.codebook && x.bits == 8) {
    return MakeDiagnostic(diag::kMatmulCodebook, {}, DTypeName(x));
  }
  if (x == kI8 && w.group > MostRowsOfI8(w)) {
    return MakeDiagnostic(diag::kMatmulGroupOfI8, {}, w.group, MostRowsOfI8(w));
  }
  return OkStatus();
}

}  // namespace

Result<WeightPlaces> CheckMatmul(const MatmulProblem& problem) {
  if (problem.m_min < 0 || problem.m_max < problem.m_min || problem.m_max > INT32_MAX) {
    return MakeDiagnostic(diag::kMatmulRows, {}, problem.m_min, problem.m_max, INT32_MAX);
  }
  TARSIA_CHECK(CheckActivations(problem));
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

Status CheckImage(const MatmulProblem& problem, std::span<const uint8_t> image) {
  const auto header = HeaderOfImage(image);
  if (!header) return OkStatus();
  const WeightInfo& w = header->info;
  const WeightInfo& plan = problem.weights;
  const auto same = [](const char* name, const auto& given, const auto& wanted) -> Status {
    if (given == wanted) return OkStatus();
    return MakeDiagnostic(diag::kMatmulWeights, {}, name, given, wanted);
  };
  TARSIA_CHECK(same("k", w.k, plan.k));
  TARSIA_CHECK(same("n", w.n, plan.n));
  TARSIA_CHECK(same("type", DTypeName(w.type), DTypeName(plan.type)));
  TARSIA_CHECK(same("compute", DTypeName(w.compute), DTypeName(plan.compute)));
  TARSIA_CHECK(same("group", w.group, plan.group));
  TARSIA_CHECK(same("scale_type", DTypeName(w.scale_type), DTypeName(plan.scale_type)));
  TARSIA_CHECK(same("zero_type", ZeroTypeName(w), ZeroTypeName(plan)));
  TARSIA_CHECK(same("tensor_scale", w.tensor_scale, plan.tensor_scale));
  // Kernels that mind NaN multiply all weights.
  TARSIA_CHECK(same("finite", w.finite, plan.finite || w.finite));
  TARSIA_CHECK(same("gathers", w.gathers, plan.gathers));
  return same("codebook", header->has_codebook, problem.codebook);
}

MatmulFloor FloorOf(const MatmulProblem& problem, const WeightPlaces& places, int64_t m) {
  const WeightInfo& w = problem.weights;
  const auto rows = static_cast<double>(m);
  const auto k = static_cast<double>(w.k);
  const auto n = static_cast<double>(problem.columns());
  MatmulFloor out;
  for (const PartRange& part : places.parts) out.bytes += static_cast<double>(part.bytes);
  out.bytes += rows * k * problem.activations().bits / 8;
  if (problem.HasRowScales()) out.bytes += rows * kF32.bits / 8;
  out.bytes += rows * n * problem.output.bits / 8 * (problem.residual ? 2 : 1);
  if (problem.bias) out.bytes += static_cast<double>(w.n) * problem.bias->bits / 8;
  out.operations = 2 * rows * k * static_cast<double>(w.n);
  return out;
}

}  // namespace tarsia::runtime
