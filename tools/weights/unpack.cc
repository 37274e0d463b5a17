// tarsia unpack: what a .tsw file holds, as text and as .npy files.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "dtypes/bulk.h"
#include "dtypes/codebook.h"
#include "runtime/files/npy.h"
#include "runtime/weights/packed_order.h"
#include "runtime/weights/packed_weights.h"
#include "support/extents.h"
#include "tools/commands.h"
#include "tools/output.h"
#include "tools/output_files.h"
#include "tools/weights/summary.h"

namespace tarsia::tools {
namespace {

struct UnpackRequest {
  std::string file;
  std::string weights, codes, scales, zeros, gather;
  bool json = false;
};

template <typename T>
int Write(const std::string& path, DType type, std::initializer_list<int64_t> shape,
          const std::vector<T>& data) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(data.data());
  const Status written = WriteNpy(path, NpyTypeName(type), {shape.begin(), shape.size()},
                                  {bytes, data.size() * sizeof(T)});
  if (written.ok()) return kDone;
  PrintError(written.error());
  return kEnvironment;
}

// Of a codebook that `pack` has; else empty.
std::string CodebookName(const std::vector<float>& values) {
  for (const Codebook& book : AllCodebooks()) {
    if (std::equal(book.values.begin(), book.values.end(), values.begin(), values.end())) {
      return std::string(book.name);
    }
  }
  return "";
}

// Says what `pack --codes` needs besides the files that are written, to make the same weights
// again.
void PrintNotes(const UnpackRequest& request, const WeightInfo& info) {
  if (request.codes.empty()) return;
  if (info.gathers && request.gather.empty()) {
    PrintNote("the rows of the codes are in the order of the gather list, which --gather writes");
  }
  if (info.tensor_scale != 1) {
    PrintNote(
        fmt::format("the weights have a scale of the tensor, {}, which is in none of the files",
                    info.tensor_scale));
  }
  if (info.codebook.empty()) return;
  const std::string name = CodebookName(info.codebook);
  PrintNote(
      name.empty()
          ? "the codes are of a codebook that `pack` does not have"
          : fmt::format("the codes are of the codebook {0}: pack them with --type {0}", name));
}

int WriteFiles(const UnpackRequest& request, const PackedWeights& packed) {
  const WeightInfo& info = packed.info();
  int code = kDone;
  if (!request.weights.empty()) {
    std::vector<float> w(Size(info.k * info.n));
    packed.Dequantise(w);
    code = Write(request.weights, kF32, {info.k, info.n}, w);
  }
  if (code == kDone && !request.gather.empty()) {
    code = Write(request.gather, kI32, {info.k}, packed.gather());
  }
  if (request.codes.empty() && request.scales.empty() && request.zeros.empty()) return code;
  PrintNotes(request, info);
  const UnpackedWeights parts = packed.Unpack();
  if (code == kDone && !request.codes.empty()) {
    code = Write(request.codes, kU8, {info.k, info.n}, parts.codes);
  }
  if (code == kDone && !request.scales.empty()) {
    code = Write(request.scales, kF32, {info.groups(), info.n}, parts.scales);
  }
  if (code != kDone || request.zeros.empty()) return code;
  if (info.zero == ZeroPoint::kFloat) {
    return Write(request.zeros, kF32, {info.groups(), info.n}, parts.zeros);
  }
  std::vector<uint8_t> zeros(parts.zeros.size());
  CastBulk(kF32, parts.zeros.data(), info.zero_type, zeros.data(), zeros.size());
  return Write(request.zeros, info.zero_type, {info.groups(), info.n}, zeros);
}

int Describe(const UnpackRequest& request, const PackedWeights& packed) {
  const WeightInfo& info = packed.info();
  if (request.json) {
    Json json;
    json.Begin('{').Key("file").String(request.file);
    AppendWeights(packed.Summary(), &json);
    PrintOut(json.End('}').Take());
    return kDone;
  }
  const auto order = PackedOrderText(info.type, info.compute);
  PrintOut(fmt::format("{}\n", WeightsText(info)));
  PrintOut(fmt::format("  layout  {}\n", PackedLayoutId(info.type, info.compute)));
  PrintOut(fmt::format("  codes   {} bytes, {}\n", packed.part(WeightPart::kCodes).size(),
                       order.ok() ? *order : ""));
  PrintOut(fmt::format("  scales  {} bytes, {}\n", packed.part(WeightPart::kScales).size(),
                       ScaleOrderText(info.scale_type)));
  if (info.zero != ZeroPoint::kNone) {
    PrintOut(fmt::format("  zeros   {} bytes, {}\n", packed.part(WeightPart::kZeros).size(),
                         ScaleOrderText(info.zero_type)));
  }
  return kDone;
}

}  // namespace

int Unpack(const Args& args) {
  Command command(
      "unpack", "Describes a .tsw file, or writes what it holds as .npy files.",
      {"tarsia pack weights.npy --type i4 --group 32 -o w.tsw && tarsia unpack w.tsw",
       "tarsia pack weights.npy --type i4 --group 32 -o w.tsw && tarsia unpack w.tsw -o deq.npy"});
  UnpackRequest request;
  command.Positional("FILE", &request.file, "The .tsw file; - is standard input");
  command.Value("-o,--output", "OUT", &request.weights, "The weights [K, N], f32");
  command.Value("--codes", "OUT", &request.codes,
                "The codes [K, N], a byte for each; with a gather list, in its order");
  command.Value("--scales", "OUT", &request.scales, "The scales [K/group, N], f32");
  command.Value("--zeros", "OUT", &request.zeros,
                "The zero points [K/group, N]: u8 or i8, or f32 if they are floats");
  command.Value("--gather", "OUT", &request.gather,
                "The gather list [K], i32: row i of the codes is row gather[i] of the weights");
  command.Flag("--json", &request.json, "Print the description as JSON");
  if (const auto done = command.Parse(args)) return *done;
  const int code = CheckOutputFiles({request.file}, {{"-o", request.weights},
                                                     {"--codes", request.codes},
                                                     {"--scales", request.scales},
                                                     {"--zeros", request.zeros},
                                                     {"--gather", request.gather}});
  if (code != kDone) return code;
  const auto packed = PackedWeights::Load(request.file);
  if (!packed.ok()) {
    PrintError(request.file + ": " + packed.error().message, packed.error().help);
    return kRejected;
  }
  if (!request.zeros.empty() && packed->info().zero == ZeroPoint::kNone) {
    PrintError(request.file + ": the weights have no zero points");
    return kRejected;
  }
  if (!request.gather.empty() && !packed->info().gathers) {
    PrintError(request.file + ": the weights have no gather list");
    return kRejected;
  }
  const bool writes = !request.weights.empty() || !request.codes.empty() ||
                      !request.scales.empty() || !request.zeros.empty() || !request.gather.empty();
  if (writes) {
    if (const int written = WriteFiles(request, *packed); written != kDone) return written;
  }
  return writes && !request.json ? kDone : Describe(request, *packed);
}

}  // namespace tarsia::tools
