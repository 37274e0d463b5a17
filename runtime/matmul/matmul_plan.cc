#include "runtime/matmul/matmul_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/validate.h"
#include "launch/arguments.h"
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
  kCodes,
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

// The kernels of kernels/quantised_matmul.tsa, and what their parameters are.
struct KernelRow {
  const char* name;
  std::vector<Source> parameters;
};

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

bool IsWritten(Source source, bool first) {
  return source == kY || (first && (source == kGatheredX || source == kDequantised));
}

// The module, parsed once.
const ValidModule& KernelModule() {
  static const ValidModule kModule = [] {
    const LibraryModule* const text = FindLibraryModule("quantised_matmul");
    const SourceFile source("quantised_matmul.tsa", std::string(text->text));
    Diagnostics diagnostics;
    return *Validate(*Parse(source, diagnostics), diagnostics);
  }();
  return kModule;
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
  if (!tile.stream) return;
  out->Set("STREAM", 1).Set("P", tile.blocks).SetBool("ORDERED", tile.ordered);
}

}  // namespace

struct MatmulPlan::Step {
  std::vector<Source> parameters;
  Program program;
  std::unique_ptr<LoadedKernel> kernel;
  uint64_t workspace_offset = 0;
  uint64_t workspace_bytes = 0;
  bool first = true;  // of the steps of its range that use scratch: it fills it
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
          !plan_.ranges_.empty() && plan_.ranges_.back().candidate.Text() == candidate.Text();
      if (same) {
        plan_.ranges_.back().m_max = end;
      } else {
        plan_.ranges_.push_back({m, end, std::move(candidate)});
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
    if (w.k == 0)
      return MakeDiagnostic(diag::kMatmulNoCandidate, {}, range.m_min, range.m_max, "k = 0");
    if (w.gathers) {
      kernels.gathered = Reserve(static_cast<uint64_t>(range.m_max * w.k) * w.compute.bits / 8);
      Constants constants;
      constants.Set("K", w.k).Set("X", w.compute);
      TARSIA_CHECK(AddStep("gather_columns", GatherParameters(), constants, true, &kernels));
    }
    Constants constants;
    SetWeights(problem, &constants);
    if (!range.candidate.dequantises) {
      constants.SetBool("FINITE", w.finite && w.type.IsFloat());
      SetEpilogue(problem, &constants);
      SetTile(range.candidate.tile, &constants);
      TARSIA_CHECK(
          AddStep("quantised_matmul", FusedParameters(w.gathers), constants, false, &kernels));
    } else {
      kernels.dequantised = Reserve(static_cast<uint64_t>(w.k * w.n) * w.compute.bits / 8);
      constants.Set("N", w.n);
      TARSIA_CHECK(AddStep("dequantise", DequantiseParameters(), constants, true, &kernels));
      Constants dense;
      dense.Set("K", w.k).Set("W", w.compute).Set("X", w.compute).Set("PLAIN", 1);
      SetEpilogue(problem, &dense);
      SetTile(range.candidate.tile, &dense);
      TARSIA_CHECK(AddStep("quantised_matmul", DenseParameters(w.gathers), dense, false, &kernels));
    }
    plan_.kernels_.push_back(std::move(kernels));
    return OkStatus();
  }

  Status AddStep(const char* name, std::vector<Source> parameters, const Constants& constants,
                 bool first, Kernels* out) {
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
        {std::move(parameters), *std::move(program), std::move(kernel), offset, bytes, first});
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
  if (workspace_bytes_ != 0 && (a.workspace == nullptr || a.workspace_bytes < workspace_bytes_)) {
    return MakeDiagnostic(diag::kMatmulWorkspace, {},
                          a.workspace == nullptr ? 0 : a.workspace_bytes, workspace_bytes_);
  }
  return OkStatus();
}

Status MatmulPlan::Execute(const MatmulArguments& arguments) const {
  TARSIA_CHECK(Check(arguments));
  if (arguments.m == 0 || problem_.columns() == 0) return OkStatus();
  for (const Step& step : KernelsFor(arguments.m).steps) TARSIA_CHECK(Launch(step, arguments));
  return OkStatus();
}

Status MatmulPlan::Launch(const Step& step, const MatmulArguments& a) const {
  const Kernels& kernels = KernelsFor(a.m);
  auto* const workspace = static_cast<uint8_t*>(a.workspace);
  const auto part = [&](WeightPart which) {
    const PartRange& range = places_[which];
    return DeviceBytes{static_cast<const uint8_t*>(a.weights.data) + range.offset, range.bytes};
  };
  launch::ArgumentList list;
  for (const Source source : step.parameters) {
    DeviceBytes at;
    switch (source) {
      case kX:
        at = a.x;
        break;
      case kGatheredX:
        at = {workspace + kernels.gathered, a.x.bytes};
        break;
      case kCodes:
        at = part(WeightPart::kCodes);
        break;
      case kScales:
        at = part(WeightPart::kScales);
        break;
      case kZeros:
        at = part(WeightPart::kZeros);
        break;
      case kGather:
        at = part(WeightPart::kGather);
        break;
      case kCodebook:
        at = part(WeightPart::kCodebook);
        break;
      case kDequantised:
        at = {workspace + kernels.dequantised,
              static_cast<uint64_t>(problem_.weights.k * problem_.weights.n) *
                  problem_.activations().bits / 8};
        break;
      case kBias:
        at = a.bias;
        break;
      case kResidual:
        at = a.residual;
        break;
      case kY:
        at = {a.y, a.y_bytes};
        break;
      case kRows:
        list.push_back(launch::ScalarValue{kI32, static_cast<uint64_t>(a.m)});
        continue;
      case kTensorScale: {
        uint32_t code = 0;
        std::memcpy(&code, &problem_.weights.tensor_scale, sizeof code);
        list.push_back(launch::ScalarValue{kF32, code});
        continue;
      }
      case kNothing:
        break;
    }
    if (at.bytes == 0) at.data = nullptr;
    list.push_back(
        launch::Buffer{const_cast<void*>(at.data), at.bytes, IsWritten(source, step.first)});
  }
  LaunchRequest request;
  request.args = list;
  request.workspace = step.workspace_bytes != 0 ? workspace + step.workspace_offset : nullptr;
  request.stream = a.stream;
  request.wait = false;
  const auto result = step.kernel->Launch(request);
  return result.ok() ? OkStatus() : Status(result.error());
}

Status MatmulPlan::InitWorkspace(void* workspace, uint64_t bytes, StreamHandle stream) const {
  if (workspace_bytes_ == 0) return OkStatus();
  if (workspace == nullptr || bytes < workspace_bytes_) {
    return MakeDiagnostic(diag::kMatmulWorkspace, {}, workspace == nullptr ? 0 : bytes,
                          workspace_bytes_);
  }
  for (const Kernels& kernels : kernels_) {
    for (const Step& step : kernels.steps) {
      if (step.workspace_bytes == 0) continue;
      const std::vector<uint64_t> scalars(step.parameters.size(), 0);
      TARSIA_CHECK(step.kernel->InitWorkspace(
          scalars, static_cast<uint8_t*>(workspace) + step.workspace_offset, step.workspace_bytes,
          stream));
    }
  }
  return OkStatus();
}

}  // namespace tarsia::runtime
