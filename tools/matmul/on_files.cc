// tarsia matmul with files as operands.
#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "dtypes/bulk.h"
#include "support/elapsed.h"
#include "tools/matmul/device_matmul.h"
#include "tools/matmul/matmul.h"
#include "tools/output.h"
#include "tools/tensor_io.h"
#include "tools/weights/summary.h"

namespace tarsia::tools {
namespace {

using runtime::MatmulProblem;

class FileMatmul {
 public:
  explicit FileMatmul(const MatmulRequest& request) : request_(request) {}

  int Run() {
    int code = OpenDeviceOf(request_, &device_);
    if (code == kDone) code = ReadWeights();
    if (code == kDone) code = ReadRows();
    if (code == kDone && request_.candidates) {
      return PrintCandidates(problem_, *device_, request_);
    }
    if (code == kDone) code = ReadEpilogue();
    if (code == kDone) code = Compute();
    if (code == kDone) code = Write();
    return code;
  }

 private:
  static int Reject(const Diagnostic& error) {
    PrintError(error);
    return kRejected;
  }

  int ReadWeights() {
    auto weights = PackedWeights::Load(request_.weights);
    if (!weights.ok()) {
      PrintError(request_.weights + ": " + weights.error().message, weights.error().help);
      return kRejected;
    }
    weights_.emplace(*std::move(weights));
    return kDone;
  }

  // Reads floats and rounds them to a type.
  int Read(const std::string& file, DType type, std::vector<uint8_t>* out,
           std::vector<int64_t>* shape) {
    InputTensor in;
    if (const int code = ReadInput(file, &in); code != kDone) return code;
    if (!in.info.type || !in.info.type->IsFloat() || in.info.type->bits < 16) {
      PrintError(fmt::format("{}: the elements are {}, and they must be f16, bf16, f32 or f64",
                             in.source, in.info.type_name));
      return kRejected;
    }
    const size_t count = in.info.bytes / in.info.item_bytes;
    out->resize(count * static_cast<size_t>(type.bits) / 8);
    CastBulk(*in.info.type, in.data.data(), type, out->data(), count);
    *shape = in.info.shape;
    return kDone;
  }

  int ReadRows() {
    const WeightInfo& w = weights_->info();
    if (const int code = Read(request_.in, w.compute, &x_, &shape_); code != kDone) return code;
    if (shape_.empty() || shape_.back() != w.k) {
      PrintError(fmt::format("{}: the shape is {}, and the last extent must be {}, the rows of {}",
                             request_.in, ShapeText(shape_), w.k, request_.weights));
      return kRejected;
    }
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < shape_.size(); ++i) rows *= shape_[i];
    problem_ = ProblemOf(*weights_, rows);
    problem_.output = request_.OutputFor(w.compute);
    problem_.activation = request_.Act();
    problem_.gated = request_.gated;
    if (!request_.bias.empty()) problem_.bias = kF32;
    problem_.residual = !request_.residual.empty();
    shape_.back() = problem_.columns();
    return kDone;
  }

  int ReadOther(const char* option, const std::string& file, DType type,
                const std::vector<int64_t>& wanted, std::vector<uint8_t>* out) {
    if (file.empty()) return kDone;
    std::vector<int64_t> shape;
    if (const int code = Read(file, type, out, &shape); code != kDone) return code;
    if (shape == wanted) return kDone;
    PrintError(fmt::format("{} {}: the shape is {}, and {} is needed", option, file,
                           ShapeText(shape), ShapeText(wanted)));
    return kRejected;
  }

  int ReadEpilogue() {
    int code = ReadOther("--bias", request_.bias, kF32, {weights_->info().n}, &bias_);
    if (code == kDone) {
      code = ReadOther("--residual", request_.residual, problem_.output, shape_, &residual_);
    }
    return code;
  }

  int Compute() {
    auto plan = runtime::MatmulPlan::Make(problem_, device_, request_.Options());
    if (!plan.ok()) return Reject(plan.error());
    auto matmul = DeviceMatmul::Make(*std::move(plan), {weights_->image(), x_, bias_, residual_});
    if (!matmul.ok()) return Reject(matmul.error());
    const auto start = std::chrono::steady_clock::now();
    auto y = (*matmul)->Compute();
    nanoseconds_ = NanosecondsSince(start);
    if (!y.ok()) return Reject(y.error());
    y_ = *std::move(y);
    if ((*matmul)->range() != nullptr) kernel_ = (*matmul)->range()->candidate.Text();
    return kDone;
  }

  int Write() {
    const Status written = WriteOutput(request_.out, problem_.output, shape_, true, y_);
    if (!written.ok()) {
      PrintError(written.error());
      return kEnvironment;
    }
    std::FILE* const to = request_.out == "-" ? stderr : stdout;
    if (!request_.json) {
      PrintText(to,
                fmt::format("{}: {}{}, by {}, {} on {}\n", request_.out, DTypeName(problem_.output),
                            ShapeText(shape_), WeightsText(weights_->info()),
                            DurationText(nanoseconds_), device_->name()));
      return kDone;
    }
    Json json;
    json.Begin('{').Key("file").String(request_.out);
    json.Key("dtype").String(DTypeName(problem_.output)).Key("shape").Raw(ShapeText(shape_));
    json.Key("weights").Begin('{');
    AppendWeights(*weights_, &json);
    json.End('}').Key("device").String(device_->name()).Key("candidate").String(kernel_);
    json.Key("nanoseconds").Number(static_cast<int64_t>(nanoseconds_));
    PrintText(to, json.End('}').Take());
    return kDone;
  }

  const MatmulRequest& request_;
  std::shared_ptr<runtime::Device> device_;
  std::optional<PackedWeights> weights_;
  MatmulProblem problem_;
  std::vector<int64_t> shape_;  // of x, then of y
  std::vector<uint8_t> x_, bias_, residual_, y_;
  std::string kernel_;
  uint64_t nanoseconds_ = 0;
};

}  // namespace

int MultiplyFiles(const MatmulRequest& request) { return FileMatmul(request).Run(); }

}  // namespace tarsia::tools
