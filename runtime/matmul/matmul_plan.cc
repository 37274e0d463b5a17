#include "runtime/matmul/matmul_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "isa/specialise.h"
#include "launch/arguments.h"
#include "ptx/count/counts.h"
#include "runtime/devices/code.h"
#include "runtime/diagnostics.h"
#include "runtime/library.h"
#include "runtime/weights/packed_order.h"
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
  kNothing,
};

namespace {

constexpr uint64_t kAlignment = 256;  // of a workspace and its parts

using Source = MatmulPlan::Source;
using enum MatmulPlan::Source;

// The parameters of the kernels of kernels/quantised_matmul.tsa.
std::vector<Source> FusedParameters(bool gathers) {
  return {gathers ? kGatheredX : kX,
          kCodes,
          kScales,
          kZeros,
          kCodebook,
          kBias,
          kResidual,
          kY,
          kRows,
          kTensorScale};
}
std::vector<Source> DenseParameters(bool gathers) {
  return {gathers ? kGatheredX : kX,
          kDequantised,
          kNothing,
          kNothing,
          kNothing,
          kBias,
          kResidual,
          kY,
          kRows,
          kTensorScale};
}
std::vector<Source> GatherParameters() { return {kX, kGather, kGatheredX, kRows}; }
std::vector<Source> DequantiseParameters() {
  return {kCodes, kScales, kZeros, kCodebook, kDequantised};
}

// The module, parsed once.
const ValidModule& KernelModule() {
  static const ValidModule module = ValidLibraryModule("quantised_matmul");
  return module;
}

class Constants {
 public:
  Constants& Set(const char* name, int64_t value) {
    list_.push_back({name, std::to_string(value)});
    return *this;
  }
  Constants& Set(const char* name, DType type) {
    list_.push_back({name, std::string(DTypeName(type))});
    return *this;
  }
  Constants& Set(const char* name, std::string text) {
    list_.push_back({name, std::move(text)});
    return *this;
  }
  Constants& SetBool(const char* name, bool value) { return Set(name, value ? "true" : "false"); }
  [[nodiscard]] const std::vector<Binding>& list() const { return list_; }

 private:
  std::vector<Binding> list_;
};

// Zero points are subtracted from codes where they are integers, else from the sums.
int ZerosOf(const WeightInfo& w) {
  if (w.zero == ZeroPoint::kNone) return 0;
  return w.zero == ZeroPoint::kInteger ? 1 : 2;
}

void SetWeights(const MatmulProblem& problem, Constants* out) {
  const WeightInfo& w = problem.weights;
  out->Set("K", w.k).Set("G", w.group).Set("W", w.type).Set("X", w.compute);
  out->Set("S", w.scale_type)
      .Set("ZEROS", ZerosOf(w))
      .Set("PACK", *PackedOrderText(w.type, w.compute));
  if (w.zero != ZeroPoint::kNone) out->Set("Z", w.zero_type);
  if (problem.codebook) out->SetBool("TABLE", true).Set("E", int64_t{1} << w.type.bits);
}

void SetEpilogue(const MatmulProblem& problem, Constants* out) {
  out->Set("N", problem.columns()).Set("Y", problem.output);
  out->SetBool("SCALED", problem.weights.tensor_scale != 1);
  out->SetBool("BIAS", problem.bias.has_value());
  if (problem.bias) out->Set("B", *problem.bias);
  out->Set("ACT", static_cast<int64_t>(problem.activation));
  out->Set("HALVES", problem.gated ? 2 : 1);
  out->SetBool("RESIDUAL", problem.residual);
}

void SetTile(const MatmulTile& tile, Constants* out) {
  out->Set("BM", tile.bm).Set("BN", tile.bn).Set("BK", tile.bk);
  out->Set("WARPS", tile.warps).Set("STAGES", tile.stages);
  if (tile.slices > 0) out->Set("SLICED", 1).Set("KS", tile.slices);
  if (!tile.stream) return;
  out->Set("STREAM", 1).Set("P", tile.blocks).SetBool("ORDERED", tile.ordered);
}

}  // namespace

struct MatmulPlan::Step {
  std::vector<Source> parameters;
  Source output;  // the parameter that the kernel writes
  Program program;
  std::unique_ptr<LoadedKernel> kernel;
  uint64_t workspace_offset = 0;
  uint64_t workspace_bytes = 0;

  // Its part of that of the plan; null if it has none.
  [[nodiscard]] void* WorkspaceIn(void* whole) const {
    return workspace_bytes == 0 ? nullptr : static_cast<uint8_t*>(whole) + workspace_offset;
  }
};

struct MatmulPlan::Kernels {
  std::vector<Step> steps;
  uint64_t gathered = 0;  // where they are in the workspace
  uint64_t dequantised = 0;
};

// ---- making ------------------------------------------------------------------------------------

class MatmulPlan::Maker {
 public:
  Maker(MatmulPlan& plan, const MatmulOptions& options) : plan_(plan), options_(options) {}

  Status Run() {
    const MatmulProblem& problem = plan_.problem_;
    int64_t m = problem.m_min;
    do {
      const int64_t end = std::min(
          options_.choice.batch_invariant ? INT64_MAX : EndOfMatmulRange(m), problem.m_max);
      TARSIA_TRY(MatmulCandidate candidate, Choose(end));
      const bool same =
          !plan_.ranges_.empty() && plan_.ranges_.back().candidate.IsSameKernel(candidate);
      if (same) {
        plan_.ranges_.back().m_max = end;
      } else {
        plan_.ranges_.push_back({m, end, candidate});
      }
      m = end + 1;
    } while (m <= problem.m_max);
    for (const Range& range : plan_.ranges_) TARSIA_CHECK(AddKernels(range));
    if (options_.workspace_limit != 0 && plan_.workspace_bytes_ > options_.workspace_limit) {
      return MakeDiagnostic(diag::kWorkspaceLimit, {}, "quantised_matmul", plan_.workspace_bytes_,
                            options_.workspace_limit);
    }
    return OkStatus();
  }

 private:
  Result<MatmulCandidate> Choose(int64_t m) const {
    Device& device = *plan_.device_;
    const std::vector<MatmulCandidate> all = RankMatmul(
        plan_.problem_, device.Model(), device.Limits().shared_bytes, options_.choice, m);
    if (all.empty()) {
      return MakeDiagnostic(diag::kMatmulNoCandidate, {}, plan_.problem_.m_min,
                            plan_.problem_.m_max, device.name());
    }
    if (options_.candidate.empty()) return all.front();
    for (const MatmulCandidate& candidate : all) {
      if (candidate.Text() == options_.candidate) return candidate;
    }
    return MakeDiagnostic(diag::kMatmulCandidate, {}, options_.candidate);
  }

  uint64_t Reserve(uint64_t bytes) {
    return std::exchange(plan_.workspace_bytes_,
                         plan_.workspace_bytes_ + AlignUp(bytes, kAlignment));
  }

  Status AddKernels(const Range& range) {
    const MatmulProblem& problem = plan_.problem_;
    const WeightInfo& w = problem.weights;
    Kernels kernels;
    if (w.k == 0) {
      return MakeDiagnostic(diag::kMatmulNoCandidate, {}, range.m_min, range.m_max, "k = 0");
    }
    if (w.gathers) {
      kernels.gathered = Reserve(static_cast<uint64_t>(range.m_max * w.k) * w.compute.bits / 8);
      Constants constants;
      constants.Set("K", w.k).Set("X", w.compute);
      TARSIA_CHECK(AddStep("gather_columns", GatherParameters(), kGatheredX, constants, &kernels));
    }
    Constants constants;
    SetWeights(problem, &constants);
    if (!range.candidate.dequantises) {
      constants.SetBool("FINITE", w.finite && w.type.IsFloat());
      SetEpilogue(problem, &constants);
      SetTile(range.candidate.tile, &constants);
      TARSIA_CHECK(
          AddStep("quantised_matmul", FusedParameters(w.gathers), kY, constants, &kernels));
    } else {
      kernels.dequantised = Reserve(static_cast<uint64_t>(w.k * w.n) * w.compute.bits / 8);
      constants.Set("N", w.n);
      TARSIA_CHECK(
          AddStep("dequantise", DequantiseParameters(), kDequantised, constants, &kernels));
      Constants dense;
      dense.Set("K", w.k).Set("W", w.compute).Set("X", w.compute).Set("PLAIN", 1);
      SetEpilogue(problem, &dense);
      SetTile(range.candidate.tile, &dense);
      TARSIA_CHECK(AddStep("quantised_matmul", DenseParameters(w.gathers), kY, dense, &kernels));
    }
    plan_.kernels_.push_back(std::move(kernels));
    return OkStatus();
  }

  Status AddStep(const char* name, std::vector<Source> parameters, Source output,
                 const Constants& constants, Kernels* out) {
    Diagnostics diagnostics;
    auto program =
        Specialise(KernelModule(), name, constants.list(), plan_.device_->Limits(), diagnostics);
    if (!program) return diagnostics.list().front();
    LoadOptions load;
    load.stop = options_.stop;
    TARSIA_TRY(std::unique_ptr<LoadedKernel> kernel, plan_.device_->Load(*program, load));
    // No size of scratch depends on the rows.
    const std::vector<uint64_t> scalars(parameters.size(), 0);
    TARSIA_TRY(const uint64_t bytes, kernel->WorkspaceBytes(scalars));
    const uint64_t offset = Reserve(bytes);
    out->steps.push_back(
        {std::move(parameters), output, *std::move(program), std::move(kernel), offset, bytes});
    return OkStatus();
  }

  MatmulPlan& plan_;
  const MatmulOptions& options_;
};

MatmulPlan::MatmulPlan(const MatmulProblem& problem, WeightPlaces places,
                       std::shared_ptr<Device> device)
    : problem_(problem), places_(std::move(places)), device_(std::move(device)) {}

MatmulPlan::~MatmulPlan() = default;

Result<std::unique_ptr<const MatmulPlan>> MatmulPlan::Make(const MatmulProblem& problem,
                                                           std::shared_ptr<Device> device,
                                                           const MatmulOptions& options) {
  TARSIA_TRY(WeightPlaces places, CheckMatmul(problem));
  std::unique_ptr<MatmulPlan> plan(new MatmulPlan(problem, std::move(places), std::move(device)));
  if (problem.m_max > 0 && problem.columns() > 0) TARSIA_CHECK(Maker(*plan, options).Run());
  return std::unique_ptr<const MatmulPlan>(std::move(plan));
}

// ---- running -----------------------------------------------------------------------------------

const MatmulPlan::Kernels& MatmulPlan::KernelsFor(int64_t m) const {
  size_t at = 0;
  while (at + 1 < ranges_.size() && ranges_[at].m_max < m) ++at;
  return kernels_[at];
}

std::vector<std::shared_ptr<const Code>> MatmulPlan::CodeFor(int64_t m) const {
  std::vector<std::shared_ptr<const Code>> out;
  if (kernels_.empty()) return out;
  for (const Step& step : KernelsFor(m).steps) {
    const auto image = step.kernel->image();
    out.push_back(image != nullptr ? Code::Of(step.program, image) : nullptr);
  }
  return out;
}

namespace {

Status CheckBytes(const char* name, const void* data, uint64_t bytes, uint64_t wanted,
                  bool needed) {
  if (!needed) {
    return data == nullptr ? OkStatus() : Status(MakeDiagnostic(diag::kMatmulUnwanted, {}, name));
  }
  if (bytes < wanted) return MakeDiagnostic(diag::kMatmulBytes, {}, name, bytes, wanted);
  return data != nullptr || wanted == 0 ? OkStatus()
                                        : Status(MakeDiagnostic(diag::kMatmulMissing, {}, name));
}

}  // namespace

Status MatmulPlan::Check(const MatmulArguments& a) const {
  if (a.m < problem_.m_min || a.m > problem_.m_max) {
    return MakeDiagnostic(diag::kMatmulRowsBeyond, {}, a.m, problem_.m_min, problem_.m_max);
  }
  const auto rows = static_cast<uint64_t>(a.m);
  const auto bytes = [](uint64_t elements, DType type) {
    return elements * static_cast<uint64_t>(type.bits) / 8;
  };
  const uint64_t y = bytes(rows * static_cast<uint64_t>(problem_.columns()), problem_.output);
  TARSIA_CHECK(CheckBytes(
      "x", a.x.data, a.x.bytes,
      bytes(rows * static_cast<uint64_t>(problem_.weights.k), problem_.activations()), true));
  TARSIA_CHECK(CheckBytes("weights", a.weights.data, a.weights.bytes, places_.bytes, true));
  const uint64_t bias =
      problem_.bias ? bytes(static_cast<uint64_t>(problem_.weights.n), *problem_.bias) : 0;
  TARSIA_CHECK(CheckBytes("bias", a.bias.data, a.bias.bytes, bias, problem_.bias.has_value()));
  TARSIA_CHECK(CheckBytes("residual", a.residual.data, a.residual.bytes, y, problem_.residual));
  TARSIA_CHECK(CheckBytes("y", a.y, a.y_bytes, y, true));
  return CheckWorkspace(a.workspace, a.workspace_bytes);
}

Status MatmulPlan::CheckWorkspace(const void* workspace, uint64_t bytes) const {
  const uint64_t given = workspace == nullptr ? 0 : bytes;
  if (given >= workspace_bytes_) return OkStatus();
  return MakeDiagnostic(diag::kMatmulWorkspace, {}, given, workspace_bytes_);
}

Status MatmulPlan::Execute(const MatmulArguments& arguments) const {
  TARSIA_CHECK(Check(arguments));
  if (arguments.m == 0 || problem_.columns() == 0) return OkStatus();
  const Kernels& kernels = KernelsFor(arguments.m);
  for (const Step& step : kernels.steps) TARSIA_CHECK(Launch(kernels, step, arguments));
  return OkStatus();
}

DeviceBytes MatmulPlan::BytesOf(const Kernels& kernels, Source source,
                                const MatmulArguments& a) const {
  const auto* const workspace = static_cast<const uint8_t*>(a.workspace);
  const auto scratch = [&](uint64_t offset, int64_t rows, int64_t columns) {
    const auto bytes = static_cast<uint64_t>(rows * columns) * problem_.activations().bits / 8;
    return DeviceBytes{workspace + offset, bytes};
  };
  switch (source) {
    case kX:
      return a.x;
    case kGatheredX:
      return scratch(kernels.gathered, a.m, problem_.weights.k);
    case kDequantised:
      return scratch(kernels.dequantised, problem_.weights.k, problem_.weights.n);
    case kCodes:
    case kScales:
    case kZeros:
    case kGather:
    case kCodebook: {
      const auto part = static_cast<size_t>(source) - static_cast<size_t>(kCodes);
      const PartRange& range = places_.parts[part];
      return {static_cast<const uint8_t*>(a.weights.data) + range.offset, range.bytes};
    }
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

Status MatmulPlan::Launch(const Kernels& kernels, const Step& step,
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
  request.workspace = step.WorkspaceIn(a.workspace);
  request.stream = a.stream;
  request.wait = false;
  ptx::LaunchCounts counts;
  if (a.counts != nullptr) request.counts = &counts;
  const auto result = step.kernel->Launch(request);
  if (!result.ok()) return result.error();
  if (a.counts != nullptr) {
    a.counts->instructions.insert(a.counts->instructions.end(), counts.instructions.begin(),
                                  counts.instructions.end());
  }
  return OkStatus();
}

Status MatmulPlan::InitWorkspace(void* workspace, uint64_t bytes, StreamHandle stream) const {
  TARSIA_CHECK(CheckWorkspace(workspace, bytes));
  for (const Kernels& kernels : kernels_) {
    for (const Step& step : kernels.steps) {
      if (step.workspace_bytes == 0) continue;
      const std::vector<uint64_t> scalars(step.parameters.size(), 0);
      TARSIA_CHECK(step.kernel->InitWorkspace(scalars, step.WorkspaceIn(workspace),
                                              step.workspace_bytes, stream));
    }
  }
  return OkStatus();
}

}  // namespace tarsia::runtime
