// tarsia matmul with files as operands.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "dtypes/bulk.h"
#include "dtypes/quantize.h"
#include "support/elapsed.h"
#include "tools/matmul/device_matmul.h"
#include "tools/matmul/matmul.h"
#include "tools/output.h"
#include "tools/output_files.h"
#include "tools/tensor_io.h"
#include "tools/weights/summary.h"

namespace tarsia::tools {
namespace {

using runtime::MatmulProblem;

class FileMatmul {
 public:
  explicit FileMatmul(const MatmulRequest& request) : request_(request) {}

  int Run() {
    int code = CheckOutputFiles(
        {request_.in, request_.x_scales, request_.weights, request_.bias, request_.residual},
        {{"--out", request_.out}});
    if (code == kDone) code = OpenDeviceOf(request_, &device_);
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

  static int WrongType(const InputTensor& in, std::string_view wanted) {
    PrintError(fmt::format("{}: the elements are {}, and they must be {}", in.source,
                           in.info.type_name, wanted));
    return kRejected;
  }

  // The type of the elements. NumPy cannot name bf16 and f8e4m3fn: raw elements of their size are
  // of such a type where it is wanted.
  static std::optional<DType> TypeOf(const InputTensor& in, DType wanted) {
    const bool is_raw = !in.info.type && in.info.item_bytes == static_cast<size_t>(wanted.bits) / 8;
    if (is_raw && (wanted == kBF16 || wanted == kF8E4M3FN)) return wanted;
    return in.info.type;
  }

  // Reads floats and rounds them to a type.
  int Read(const std::string& file, DType type, std::vector<uint8_t>* out,
           std::vector<int64_t>* shape, std::string_view others = "") {
    InputTensor in;
    if (const int code = ReadInput(file, &in); code != kDone) return code;
    const std::optional<DType> from = TypeOf(in, type);
    if (!from || !from->IsFloat() || from->bits < 16) {
      return WrongType(in, fmt::format("f16, bf16, f32 or f64{}", others));
    }
    const size_t count = in.info.bytes / in.info.item_bytes;
    out->resize(count * static_cast<size_t>(type.bits) / 8);
    CastBulk(*from, in.data.data(), type, out->data(), count);
    *shape = in.info.shape;
    return kDone;
  }

  int ReadRows() {
    const WeightInfo& w = weights_->info();
    const bool eight = w.compute.bits == 8;
    if (!eight && !request_.x_scales.empty()) {
      PrintError(fmt::format("--x-scales: {} is packed for x of {}, whose rows have no scales",
                             request_.weights, DTypeName(w.compute)));
      return kRejected;
    }
    const bool coded = !request_.x_scales.empty();
    const int code = coded   ? ReadCodes()
                     : eight ? Read(request_.in, kF32, &x_, &shape_,
                                    fmt::format(", or {} with --x-scales", DTypeName(w.compute)))
                             : Read(request_.in, w.compute, &x_, &shape_);
    if (code != kDone) return code;
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
    const std::vector<int64_t> rows_shape(shape_.begin(), shape_.end() - 1);
    shape_.back() = problem_.columns();
    if (!eight) return kDone;
    return coded ? ReadOther("--x-scales", request_.x_scales, kF32, rows_shape, &row_scales_)
                 : QuantiseRows(rows);
  }

  // Reads x that has the type that the weights are packed for.
  int ReadCodes() {
    InputTensor in;
    if (const int code = ReadInput(request_.in, &in); code != kDone) return code;
    const DType wanted = weights_->info().compute;
    if (TypeOf(in, wanted) != wanted)
      return WrongType(in, fmt::format("{} with --x-scales", DTypeName(wanted)));
    x_.assign(in.data.data(), in.data.data() + in.info.bytes);
    shape_ = in.info.shape;
    return kDone;
  }

  // Gives each row of x, of f32, the least scale with which its type holds all elements.
  int QuantiseRows(int64_t rows) {
    const int64_t k = weights_->info().k;
    const auto at = [](int64_t i, int64_t columns, int64_t j) {
      return static_cast<size_t>(i * columns + j);
    };
    std::vector<float> columns(static_cast<size_t>(rows * k));  // x, transposed
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < k; ++i) {
        float& element = columns[at(i, rows, row)];
        std::memcpy(&element, &x_[at(row, k, i) * sizeof element], sizeof element);
        if (std::isfinite(element)) continue;
        PrintError(fmt::format("{}: element {} of row {} is {}, which no scale makes {}",
                               request_.in, i, row, element, DTypeName(weights_->info().compute)));
        return kRejected;
      }
    }
    QuantiseSpec spec;
    spec.type = weights_->info().compute;
    spec.group = k;
    const auto quantised = QuantiseGroups(columns, k, rows, spec);
    if (!quantised.ok()) {
      PrintError(fmt::format("{}: {}", request_.in, quantised.error().message));
      return kRejected;
    }
    x_.resize(columns.size());
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < k; ++i) x_[at(row, k, i)] = quantised->codes[at(i, rows, row)];
    }
    row_scales_.resize(quantised->scales.size() * sizeof(float));
    std::memcpy(row_scales_.data(), quantised->scales.data(), row_scales_.size());
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
    auto matmul = DeviceMatmul::Make(*std::move(plan),
                                     {weights_->image(), x_, row_scales_, bias_, residual_});
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
    AppendWeights(weights_->Summary(), &json);
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
  std::vector<uint8_t> x_, row_scales_, bias_, residual_, y_;
  std::string kernel_;
  uint64_t nanoseconds_ = 0;
};

}  // namespace

int MultiplyFiles(const MatmulRequest& request) { return FileMatmul(request).Run(); }

}  // namespace tarsia::tools
