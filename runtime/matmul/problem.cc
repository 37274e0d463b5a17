#include "runtime/matmul/problem.h"

#include <fmt/format.h>

#include <string>
#include <vector>

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

namespace {

// What a header and a plan say of one member.
struct Member {
  const char* name;
  std::string given, wanted;
};

std::string ZeroText(const WeightInfo& w) {
  return w.zero == ZeroPoint::kNone ? "none" : std::string(DTypeName(w.zero_type));
}

std::vector<Member> MembersOf(const TswHeader& header, const MatmulProblem& problem) {
  const WeightInfo& given = header.info;
  const WeightInfo& wanted = problem.weights;
  const auto type = [](DType of) { return std::string(DTypeName(of)); };
  const auto number = [](auto value) { return fmt::format("{}", value); };
  return {{"k", number(given.k), number(wanted.k)},
          {"n", number(given.n), number(wanted.n)},
          {"type", type(given.type), type(wanted.type)},
          {"compute", type(given.compute), type(wanted.compute)},
          {"group", number(given.group), number(wanted.group)},
          {"scale_type", type(given.scale_type), type(wanted.scale_type)},
          {"zero_type", ZeroText(given), ZeroText(wanted)},
          {"tensor_scale", number(given.tensor_scale), number(wanted.tensor_scale)},
          // Kernels that mind NaN multiply all weights.
          {"finite", number(given.finite), number(wanted.finite || given.finite)},
          {"gathers", number(given.gathers), number(wanted.gathers)},
          {"codebook", number(header.has_codebook), number(problem.codebook)}};
}

}  // namespace

Status CheckImage(const MatmulProblem& problem, std::span<const uint8_t> image) {
  const auto header = HeaderOfImage(image);
  if (!header) return OkStatus();
  for (const Member& member : MembersOf(*header, problem)) {
    if (member.given == member.wanted) continue;
    return MakeDiagnostic(diag::kMatmulWeights, {}, member.name, member.given, member.wanted);
  }
  return OkStatus();
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
