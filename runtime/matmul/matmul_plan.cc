#include "runtime/matmul/matmul_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "launch/arguments.h"
#include "ptx/count/counts.h"
#include "runtime/diagnostics.h"
#include "runtime/matmul/assembly.h"
#include "runtime/matmul/device_bytes.h"
#include "runtime/plans/sealed_plan.h"
#include "support/align.h"

namespace tarsia::runtime {

// What a kernel reads and writes.
enum class MatmulPlan::Source : uint8_t {
  kX,
  kGatheredX,
  kCodes,  // the parts of weights, in the order of WeightPart
  kScales,
  kZeros,
  kGather,
  kCodebook,
  kDequantised,
  kBias,
  kResidual,
  kY,
  kRows,
  kTensorScale,
  kRowScales,
  kNothing,
};

namespace {

using Source = MatmulPlan::Source;
using enum MatmulPlan::Source;

// The parameters of the kernels of kernels/quantised_matmul.tsa.
std::vector<Source> ParametersOf(MatmulKernel kernel, bool gathers) {
  const Source x = gathers ? kGatheredX : kX;
  switch (kernel) {
    case MatmulKernel::kGather:
      return {kX, kGather, kGatheredX, kRows};
    case MatmulKernel::kFused:
      return {x,         kCodes, kScales, kZeros,       kCodebook, kBias,
              kResidual, kY,     kRows,   kTensorScale, kRowScales};
    case MatmulKernel::kDequantise:
      return {kCodes, kScales, kZeros, kCodebook, kDequantised};
    case MatmulKernel::kDense:
      return {x,         kDequantised, kNothing, kNothing,     kNothing,  kBias,
              kResidual, kY,           kRows,    kTensorScale, kRowScales};
  }
  return {};
}

// The one of them that it writes.
Source OutputOf(MatmulKernel kernel) {
  if (kernel == MatmulKernel::kGather) return kGatheredX;
  return kernel == MatmulKernel::kDequantise ? kDequantised : kY;
}

}  // namespace

struct MatmulPlan::Step {
  std::vector<Source> parameters;
  Source output;  // the parameter that the kernel writes
  Program program;
  std::unique_ptr<LoadedKernel> kernel;
};

struct MatmulPlan::StepKernels {
  std::vector<Step> steps;
  MatmulWorkspace workspace;
};

// ---- putting together --------------------------------------------------------------------------

MatmulPlan::MatmulPlan(const MatmulProblem& problem, WeightPlaces places,
                       std::shared_ptr<Device> device)
    : problem_(problem), places_(std::move(places)), device_(std::move(device)) {}

MatmulPlan::~MatmulPlan() = default;

std::vector<MatmulKernel> KernelsOf(const MatmulProblem& problem,
                                    const MatmulCandidate& candidate) {
  std::vector<MatmulKernel> out;
  if (problem.weights.gathers) out.push_back(MatmulKernel::kGather);
  if (candidate.dequantises) {
    out.insert(out.end(), {MatmulKernel::kDequantise, MatmulKernel::kDense});
  } else {
    out.push_back(MatmulKernel::kFused);
  }
  return out;
}

MatmulPlan::Assembly::Assembly(std::unique_ptr<MatmulPlan> plan) : plan_(std::move(plan)) {}

Result<MatmulPlan::Assembly> MatmulPlan::Assembly::Start(const MatmulProblem& problem,
                                                         std::shared_ptr<Device> device) {
  TARSIA_TRY(WeightPlaces places, CheckMatmul(problem));
  const auto target = device->CodeTarget();
  if (problem.activations() == kF8E4M3FN && target == compiler::Target::kSm80) {
    return MakeDiagnostic(diag::kMatmulTarget, {}, DTypeName(kF8E4M3FN), device->name(),
                          compiler::Row(*target).name);
  }
  return Assembly(
      std::unique_ptr<MatmulPlan>(new MatmulPlan(problem, std::move(places), std::move(device))));
}

bool MatmulPlan::Assembly::IsEmpty() const {
  return plan_->problem_.m_max == 0 || plan_->problem_.columns() == 0;
}

void MatmulPlan::Assembly::AddRange(const Range& range) {
  const MatmulWorkspace workspace = WorkspaceOf(plan_->problem_, range.candidate, range.m_max);
  plan_->ranges_.push_back(range);
  plan_->kernels_.push_back({{}, workspace});
  plan_->workspace_bytes_ = std::max(plan_->workspace_bytes_, workspace.Bytes());
}

Status MatmulPlan::Assembly::AddKernel(MatmulKernel kernel, Program program,
                                       std::unique_ptr<LoadedKernel> loaded) {
  std::vector<Source> parameters = ParametersOf(kernel, plan_->problem_.weights.gathers);
  if (program.kernel().params.size() != parameters.size()) {
    return DamagedPlan("a kernel has other parameters");
  }
  // No size of what is zero between executions depends on the rows.
  const std::vector<uint64_t> scalars(parameters.size(), 0);
  TARSIA_TRY(const uint64_t bytes, loaded->WorkspaceBytes(scalars));
  StepKernels& kernels = plan_->kernels_.back();
  if (bytes > std::min(kernels.workspace.zero, MatmulWorkspace::kMostZero)) {
    return DamagedPlan("a kernel needs a larger workspace");
  }
  kernels.steps.push_back(
      {std::move(parameters), OutputOf(kernel), std::move(program), std::move(loaded)});
  return OkStatus();
}

// ---- running -----------------------------------------------------------------------------------

const MatmulPlan::StepKernels& MatmulPlan::KernelsFor(int64_t m) const {
  size_t at = 0;
  while (at + 1 < ranges_.size() && ranges_[at].m_max < m) ++at;
  return kernels_[at];
}

std::vector<MatmulPlan::Kernel> MatmulPlan::KernelsOf(size_t range) const {
  std::vector<Kernel> out;
  for (const Step& step : kernels_[range].steps) {
    out.push_back({&step.program, step.kernel->image()});
  }
  return out;
}

Status MatmulPlan::Check(const MatmulArguments& a) const {
  if (a.m < problem_.m_min || a.m > problem_.m_max) {
    return MakeDiagnostic(diag::kMatmulRowsBeyond, {}, a.m, problem_.m_min, problem_.m_max);
  }
  const auto rows = static_cast<uint64_t>(a.m);
  const auto bytes = [](uint64_t elements, DType type) {
    return elements * static_cast<uint64_t>(type.bits) / 8;
  };
  const uint64_t y = bytes(rows * static_cast<uint64_t>(problem_.columns()), problem_.output);
  TARSIA_CHECK(CheckDeviceBytes(
      "x", a.x.data, a.x.bytes,
      bytes(rows * static_cast<uint64_t>(problem_.weights.k), problem_.activations()), true));
  const bool row_scales = problem_.HasRowScales();
  TARSIA_CHECK(CheckDeviceBytes("row_scales", a.row_scales.data, a.row_scales.bytes,
                                row_scales ? bytes(rows, kF32) : 0, row_scales));
  TARSIA_CHECK(CheckDeviceBytes("weights", a.weights.data, a.weights.bytes, places_.bytes, true));
  const uint64_t bias =
      problem_.bias ? bytes(static_cast<uint64_t>(problem_.weights.n), *problem_.bias) : 0;
  TARSIA_CHECK(
      CheckDeviceBytes("bias", a.bias.data, a.bias.bytes, bias, problem_.bias.has_value()));
  TARSIA_CHECK(
      CheckDeviceBytes("residual", a.residual.data, a.residual.bytes, y, problem_.residual));
  TARSIA_CHECK(CheckDeviceBytes("y", a.y, a.y_bytes, y, true));
  return CheckWorkspace(a.workspace, a.workspace_bytes);
}

Status MatmulPlan::CheckWorkspace(const void* workspace, uint64_t bytes) const {
  const uint64_t given = workspace == nullptr ? 0 : bytes;
  if (given >= workspace_bytes_) return CheckAlignment("workspace", workspace);
  return MakeDiagnostic(diag::kMatmulWorkspace, {}, given, workspace_bytes_);
}

Status MatmulPlan::Execute(const MatmulArguments& arguments) const {
  TARSIA_CHECK(Check(arguments));
  if (device_->Model().interprets) {  // which has the weights in memory of the process
    const auto* const image = static_cast<const uint8_t*>(arguments.weights.data);
    TARSIA_CHECK(CheckImage(problem_, {image, places_.bytes}));
  }
  if (arguments.m == 0 || problem_.columns() == 0) return OkStatus();
  const StepKernels& kernels = KernelsFor(arguments.m);
  for (const Step& step : kernels.steps) TARSIA_CHECK(Launch(kernels, step, arguments));
  return OkStatus();
}

DeviceBytes MatmulPlan::BytesOf(const StepKernels& kernels, Source source,
                                const MatmulArguments& a) const {
  const auto scratch = [&](uint64_t offset, int64_t rows, int64_t columns) {
    const auto bytes = static_cast<uint64_t>(rows * columns) * problem_.activations().bits / 8;
    const auto* const workspace = static_cast<const uint8_t*>(a.workspace);
    return DeviceBytes{workspace + MatmulWorkspace::kMostZero + offset, bytes};
  };
  switch (source) {
    case kX:
      return a.x;
    case kGatheredX:
      return scratch(0, a.m, problem_.weights.k);
    case kDequantised:
      return scratch(kernels.workspace.gathered, problem_.weights.k, problem_.weights.n);
    case kCodes:
    case kScales:
    case kZeros:
    case kGather:
    case kCodebook: {
      const auto part = static_cast<size_t>(source) - static_cast<size_t>(kCodes);
      const PartRange& range = places_.parts[part];
      return {static_cast<const uint8_t*>(a.weights.data) + range.offset, range.bytes};
    }
    case kRowScales:
      return a.row_scales;
    case kBias:
      return a.bias;
    case kResidual:
      return a.residual;
    case kY:
      return {a.y, a.y_bytes};
    case kNothing:
    case kRows:
    case kTensorScale:
      break;
  }
  return {};
}

Status MatmulPlan::Launch(const StepKernels& kernels, const Step& step,
                          const MatmulArguments& a) const {
  launch::ArgumentList list;
  for (const Source source : step.parameters) {
    if (source == kRows) {
      list.push_back(launch::ScalarValue{kI32, static_cast<uint64_t>(a.m)});
    } else if (source == kTensorScale) {
      list.push_back(
          launch::ScalarValue{kF32, std::bit_cast<uint32_t>(problem_.weights.tensor_scale)});
    } else {
      const DeviceBytes at = BytesOf(kernels, source, a);
      void* const data = at.bytes == 0 ? nullptr : const_cast<void*>(at.data);
      list.push_back(launch::Buffer{data, at.bytes, source == step.output});
    }
  }
  LaunchRequest request;
  request.args = list;
  request.workspace = a.workspace;
  request.stream = a.stream;
  request.wait = false;
  ptx::LaunchCounts counts;
  if (a.counts != nullptr) request.counts = &counts;
  const auto result = step.kernel->Launch(request);
  if (!result.ok()) return result.error();
  TARSIA_CHECK(CheckFindings(result->report));
  if (a.counts != nullptr) {
    a.counts->instructions.insert(a.counts->instructions.end(), counts.instructions.begin(),
                                  counts.instructions.end());
  }
  return OkStatus();
}

Status MatmulPlan::InitWorkspace(void* workspace, uint64_t bytes, StreamHandle stream) const {
  TARSIA_CHECK(CheckWorkspace(workspace, bytes));
  if (workspace == nullptr) return OkStatus();
  return device_->Fill(workspace, 0, std::min(bytes, MatmulWorkspace::kMostZero), stream);
}

}  // namespace tarsia::runtime
