// tarsia pack: weights from .npy and .safetensors to a .tsw file.
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "dtypes/bulk.h"
#include "runtime/diagnostics.h"
#include "runtime/files/file.h"
#include "runtime/weights/quantise.h"
#include "runtime/weights/shards.h"
#include "tools/commands.h"
#include "tools/output.h"
#include "tools/output_files.h"
#include "tools/progress.h"
#include "tools/tensor_io.h"
#include "tools/weights/summary.h"
#include "tools/weights/weight_types.h"

namespace tarsia::tools {
namespace {

struct PackRequest {
  std::string source;
  std::string codes, scales, zeros, gather;
  std::string type;
  WeightOptions weights;
  std::string rule = "absmax", along = "n", shard;
  uint32_t columns = 1;
  bool transpose = false, json = false;
  std::string output;
};

// The types that the options name, and the shard.
struct PackTypes : WeightTypes {
  uint32_t part = 0, parts = 1;
};

int Reject(const std::string& source, const Diagnostic& error) {
  PrintError(source.empty() ? error.message : source + ": " + error.message, error.help);
  return kRejected;
}

int FindTypes(const Command& command, const PackRequest& request, PackTypes* out) {
  const int code = FindWeightTypes(command, "--type", request.type, request.weights, out);
  if (code != kDone || request.shard.empty()) return code;
  const auto shard = ParseShard(request.shard);
  if (!shard) return command.Misuse("--shard " + request.shard + ": not of the form 0/4");
  std::tie(out->part, out->parts) = *shard;
  return kDone;
}

QuantiseSpec SpecOf(const PackRequest& request, const PackTypes& types) {
  QuantiseSpec spec;
  spec.type = types.weight;
  spec.group = request.weights.group;
  spec.zero = request.weights.Zero();
  spec.scale_type = types.scale;
  spec.columns = request.columns;
  spec.rule = request.rule == "lsq" ? ScaleRule::kLeastSquares : ScaleRule::kAbsmax;
  spec.codebook = types.codebook;
  return spec;
}

// A matrix [K, N] of an input, or [N, K] with --transpose.
int CheckMatrix(const std::string& source, const TensorInfo& info) {
  if (info.shape.size() == 2) return kDone;
  PrintError(fmt::format("{}: the shape is {}, and a matrix has two extents", source,
                         ShapeText(info.shape)));
  return kRejected;
}
int ReadMatrix(const std::string& spec, InputTensor* out) {
  if (const int code = ReadInput(spec, out); code != kDone) return code;
  return CheckMatrix(out->source, out->info);
}

class PackProgress {
 public:
  [[nodiscard]] Progress Call() {
    if (!ProgressBar::wanted()) return {};
    return [this](uint64_t done, uint64_t total) {
      bar_.Show(done, total);
      return true;
    };
  }

 private:
  ProgressBar bar_{"blocks"};
};

// The bytes of a tensor: mapped, so that large ones are not copied.
Result<MappedFile> MapInput(const InputTensorFile& in) {
  TARSIA_TRY(MappedFile file, MappedFile::Open(in.file->name()));
  if (in.info.offset + in.info.bytes <= file.bytes().size()) return file;
  return MakeDiagnostic(diag::kFileRead, {}, file.name(), "it shrank while it was read");
}

// A matrix of floats, and what keeps its memory.
struct Floats {
  InputTensorFile file;
  HostBuffer read;                   // of standard input
  std::optional<MappedFile> mapped;  // of a file
  FloatMatrix matrix;
};

int ReadFloats(const PackRequest& request, Floats* out) {
  InputTensorFile& w = out->file;
  if (const int code = OpenInput(request.source, &w); code != kDone) return code;
  if (const int code = CheckMatrix(w.source, w.info); code != kDone) return code;
  if (!w.info.type || !IsFloatMatrixType(*w.info.type)) {
    PrintError(fmt::format("{}: the elements are {}, and weights to be quantised are f16, bf16, "
                           "f32 or f64",
                           w.source, w.info.type_name),
               "codes are given with --codes");
    return kRejected;
  }
  FloatMatrix& matrix = out->matrix;
  if (request.source == "-") {
    auto bytes = ReadTensor(*w.file, w.info);
    if (!bytes.ok()) return Reject(w.source, bytes.error());
    out->read = *std::move(bytes);
    matrix.data = out->read.data();
  } else {
    auto file = MapInput(w);
    if (!file.ok()) return Reject("", file.error());
    out->mapped = *std::move(file);
    matrix.data = out->mapped->bytes().data() + w.info.offset;
  }
  matrix.type = *w.info.type;
  matrix.transposed = request.transpose;
  matrix.k = w.info.shape[request.transpose ? 1 : 0];
  matrix.n = w.info.shape[request.transpose ? 0 : 1];
  return kDone;
}

// Reports an error in a source of codes: of the file that has them, or scales, or zero points.
int RejectSource(const PackRequest& request, const std::string& name, Diagnostic error) {
  const bool value = error.info == &diag::kWeightsValue || error.info == &diag::kWeightsNotFinite;
  const bool zero = value && error.message.starts_with("the zero point");
  if (request.codes.empty()) return Reject(name, error);
  if (error.info == &diag::kWeightsGather) return Reject(request.gather, error);
  if (error.info == &diag::kWeightsValue && !zero) error.help = "--scale f32 holds it";
  return Reject(!value ? name : zero ? request.zeros : request.scales, error);
}

// Writes the .tsw file of a source of codes, or its shard.
int WriteSource(const PackRequest& request, const PackTypes& types, const std::string& name,
                const CodeSource& source, const Progress& progress) {
  if (types.parts == 1) {
    bool file_failed = false;
    const auto packed = PackToFile(source, request.output, progress, &file_failed);
    if (file_failed) {
      PrintError(packed.error());
      return kEnvironment;
    }
    if (!packed.ok()) return RejectSource(request, name, packed.error());
    PrintWeights(*packed, request.output, request.json);
    return kDone;
  }
  const auto packed = PackedWeights::Pack(source, progress);
  if (!packed.ok()) return RejectSource(request, name, packed.error());
  const auto part = ShardOf(*packed, request.along == "k", types.part, types.parts);
  if (!part.ok()) return Reject("--shard " + request.shard, part.error());
  return WriteWeights(*part, request.output, request.json);
}

int PackFloats(const PackRequest& request, const PackTypes& types) {
  Floats w;
  if (const int code = ReadFloats(request, &w); code != kDone) return code;
  PackProgress progress;
  int code = kDone;
  const auto write = [&](const CodeSource& source, const Progress& rest) {
    code = WriteSource(request, types, w.file.source, source, rest);
    return OkStatus();
  };
  const Status quantised =
      Quantise(w.matrix, {SpecOf(request, types), types.compute}, write, progress.Call());
  return quantised.ok() ? code : Reject(w.file.source, quantised.error());
}

// Scales or zero points [K / group, N] (or [N, K / group]) as f32.
int ReadValues(const PackRequest& request, const std::string& file, std::vector<float>* out,
               std::vector<int64_t>* shape) {
  InputTensor in;
  if (const int code = ReadMatrix(file, &in); code != kDone) return code;
  if (!in.info.type || in.info.type->IsComplex() || in.info.type->IsBool()) {
    PrintError(
        fmt::format("{}: the elements are {}, which are no numbers", in.source, in.info.type_name));
    return kRejected;
  }
  const int64_t rows = in.info.shape[0], columns = in.info.shape[1];
  std::vector<float> values(static_cast<size_t>(rows * columns));
  CastBulk(*in.info.type, in.data.data(), kF32, values.data(), values.size());
  *shape = in.info.shape;
  if (!request.transpose) {
    *out = std::move(values);
    return kDone;
  }
  std::swap((*shape)[0], (*shape)[1]);
  out->resize(values.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      (*out)[static_cast<size_t>(j * rows + i)] = values[static_cast<size_t>(i * columns + j)];
    }
  }
  return kDone;
}

int CheckShape(const std::string& file, const std::vector<int64_t>& shape, const WeightInfo& info) {
  if (shape[0] == info.groups() && shape[1] == info.n) return kDone;
  PrintError(fmt::format("{}: there are {} by {} numbers, and {} groups of {} columns", file,
                         shape[0], shape[1], info.groups(), info.n));
  return kRejected;
}

// Zero points by their numbers: integers if the file holds bytes.
int ReadZeros(const PackRequest& request, DType type, CodeSource* source) {
  std::vector<int64_t> shape;
  if (const int code = ReadValues(request, request.zeros, &source->zeros, &shape); code != kDone) {
    return code;
  }
  WeightInfo& info = source->info;
  info.zero = request.weights.Zero();
  info.zero_type = type;
  return CheckShape(request.zeros, shape, info);
}

int ReadGather(const PackRequest& request, std::vector<int32_t>* out) {
  InputTensor in;
  if (const int code = ReadInput(request.gather, &in); code != kDone) return code;
  if (in.info.type != kI32 || in.info.shape.size() != 1) {
    PrintError(fmt::format("{}: this is {} {}, and a gather list is i32 [K]", in.source,
                           in.info.type_name, ShapeText(in.info.shape)));
    return kRejected;
  }
  out->resize(in.info.bytes / sizeof(int32_t));
  std::memcpy(out->data(), in.data.data(), in.info.bytes);
  return kDone;
}

int PackCodes(const PackRequest& request, const PackTypes& types) {
  InputTensor codes;
  if (const int code = ReadMatrix(request.codes, &codes); code != kDone) return code;
  if (codes.info.item_bytes != 1) {
    PrintError(fmt::format("{}: the elements are {}, and codes are bytes", codes.source,
                           codes.info.type_name));
    return kRejected;
  }
  const bool transposed = request.transpose;
  CodeSource source;
  WeightInfo& info = source.info;
  info.type = types.weight;
  info.compute = types.compute;
  info.k = info.whole_k = codes.info.shape[transposed ? 1 : 0];
  info.n = info.whole_n = codes.info.shape[transposed ? 0 : 1];
  info.group = request.weights.group;
  info.scale_type = types.scale;
  if (types.codebook != nullptr) {
    info.codebook.assign(types.codebook->values.begin(), types.codebook->values.end());
  }
  if (info.group < 1 || info.k % info.group != 0) {
    PrintError(fmt::format("--group {} does not divide the {} rows", info.group, info.k));
    return kRejected;
  }
  std::vector<int64_t> shape;
  int code = ReadValues(request, request.scales, &source.scales, &shape);
  if (code == kDone) code = CheckShape(request.scales, shape, info);
  if (code == kDone && !request.zeros.empty()) code = ReadZeros(request, types.zero, &source);
  if (code == kDone && !request.gather.empty()) code = ReadGather(request, &source.gather);
  if (code != kDone) return code;
  const uint8_t* const data = codes.data.data();
  source.codes = [&](const Region& region, uint8_t* to, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      for (int64_t j = 0; j < region.columns; ++j) {
        const int64_t row = region.row + i, column = region.column + j;
        to[i * stride + j] = data[transposed ? column * info.k + row : row * info.n + column];
      }
    }
  };
  PackProgress progress;
  return WriteSource(request, types, codes.source, source, progress.Call());
}

int CheckRequest(const Command& command, const PackRequest& request) {
  const bool codes = !request.codes.empty();
  if (codes == !request.source.empty()) {
    return command.Misuse(codes ? "weights and --codes exclude each other"
                                : "give the weights, or --codes and --scales");
  }
  if (request.type.empty()) return command.Misuse("--type is required");
  if (request.output.empty()) return command.Misuse("-o is required");
  if (!codes && (!request.scales.empty() || !request.zeros.empty() || !request.gather.empty())) {
    return command.Misuse("--scales, --zeros and --gather need --codes");
  }
  if (!codes) return kDone;
  if (request.scales.empty()) return command.Misuse("--codes needs --scales");
  if (request.weights.group == 0) return command.Misuse("--codes needs --group");
  if (request.zeros.empty() != (request.weights.Zero() == ZeroPoint::kNone)) {
    return command.Misuse(request.zeros.empty() ? "--zero needs --zeros"
                                                : "--zeros needs --zero int or --zero float");
  }
  return kDone;
}

void Declare(Command& command, PackRequest* request) {
  command.MaybePositional("W", &request->source,
                          "The weights [K, N]: w.npy, m.safetensors:TENSOR, - for a .npy on "
                          "standard input");
  command.Value("--codes", "FILE", &request->codes,
                "Codes instead of weights: a byte for each, [K, N]");
  command.Value("--scales", "FILE", &request->scales, "The scales of the codes, [K/group, N]");
  command.Value("--zeros", "FILE", &request->zeros, "Their zero points, [K/group, N]");
  command.Value("--gather", "FILE", &request->gather,
                "The order of their rows, i32 [K]: row i is row gather[i] of the weights");
  command.Value("--type", "T", &request->type,
                "The type of the codes: u4, i3, f6e3m2, .., or a codebook: nf4, iq4_nl, fp4");
  command.Number("--columns", "C", &request->columns,
                 "The columns that share a scale; the default is 1");
  command.Choice("--scale-rule", &request->rule, {"absmax", "lsq"},
                 "How scales are chosen: by the largest weight, or by least squares");
  DeclareWeightOptions(command, {"f16", "bf16", "i8", "f8e4m3fn"}, &request->weights);
  command.Flag("--transpose", &request->transpose, "The files hold [N, K] and [N, K/group]");
  command.Value("--shard", "I/N", &request->shard, "Write only part I (from 0) of N equal parts");
  command.Choice("--along", &request->along, {"n", "k"},
                 "The dimension that --shard cuts; the default is n");
  command.Value("-o,--output", "OUT", &request->output, "The .tsw file");
  command.Flag("--json", &request->json, "Print the summary as JSON");
}

}  // namespace

int Pack(const Args& args) {
  Command command("pack", "Quantises weights and packs them into a .tsw file.",
                  {"tarsia pack weights.npy --type u4 --group 32 --zero int -o w.tsw",
                   "tarsia pack --codes w.npy --scales s.npy --type u4 --group 32 -o w.tsw"});
  PackRequest request;
  Declare(command, &request);
  if (const auto code = command.Parse(args)) return *code;
  int code = CheckRequest(command, request);
  if (code == kDone) {
    code = CheckOutputFiles(
        {request.source, request.codes, request.scales, request.zeros, request.gather},
        {{"-o", request.output}});
  }
  PackTypes types;
  if (code == kDone) code = FindTypes(command, request, &types);
  if (code != kDone) return code;
  return request.codes.empty() ? PackFloats(request, types) : PackCodes(request, types);
}

}  // namespace tarsia::tools
