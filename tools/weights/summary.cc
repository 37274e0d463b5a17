#include "tools/weights/summary.h"

#include <fmt/format.h>

#include "runtime/diagnostics.h"
#include "runtime/files/file.h"
#include "runtime/weights/packed_order.h"
#include "tools/command.h"
#include "tools/output.h"

namespace tarsia::tools {

std::string WeightsText(const WeightInfo& info) {
  std::string out = fmt::format("{} [{}, {}] for {}", DTypeName(info.type), info.k, info.n,
                                DTypeName(info.compute));
  if (!info.codebook.empty()) out += ", with a codebook";
  out += fmt::format(", {} scales by {}", DTypeName(info.scale_type), info.group);
  if (info.zero != ZeroPoint::kNone) {
    out += fmt::format(", {} zero points", DTypeName(info.zero_type));
  }
  if (info.tensor_scale != 1) out += fmt::format(", tensor scale {}", info.tensor_scale);
  if (info.gathers) out += ", gathers x";
  if (!info.finite) out += ", not all finite";
  if (info.k != info.whole_k || info.n != info.whole_n) {
    out += fmt::format(", part of [{}, {}] from [{}, {}]", info.whole_k, info.whole_n, info.first_k,
                       info.first_n);
  }
  return out;
}

void AppendWeights(const TswSummary& weights, Json* json) {
  const WeightInfo& info = weights.info;
  json->Key("type").String(DTypeName(info.type)).Key("shape");
  json->Raw(fmt::format("[{}, {}]", info.k, info.n));
  json->Key("layout").String(PackedLayoutId(info.type, info.compute));
  json->Key("compute").String(DTypeName(info.compute));
  json->Key("group").Number(info.group).Key("scale").String(DTypeName(info.scale_type));
  json->Key("zero").String(ZeroTypeName(info));
  json->Key("tensor_scale").Raw(fmt::format("{}", info.tensor_scale));
  json->Key("finite").Bool(info.finite).Key("gathers").Bool(info.gathers);
  json->Key("codebook").Bool(!info.codebook.empty());
  json->Key("whole_shape").Raw(fmt::format("[{}, {}]", info.whole_k, info.whole_n));
  json->Key("first").Raw(fmt::format("[{}, {}]", info.first_k, info.first_n));
  json->Key("bytes").Number(static_cast<int64_t>(weights.bytes));
  json->Key("hash").String(fmt::format("{:016x}", weights.hash));
}

Result<TswSummary> PackToFile(const CodeSource& source, const std::string& path,
                              const Progress& progress, bool* file_failed) {
  *file_failed = true;
  TARSIA_TRY(OutputFile file, OutputFile::Create(path));
  auto packed = PackedWeights::PackTo(source, &file, progress);
  *file_failed = !packed.ok() && packed.error().info == &diag::kFileWrite;
  if (!packed.ok()) return packed;
  if (Status written = file.Commit(); !written.ok()) {
    *file_failed = true;
    return written.TakeError();
  }
  return packed;
}

void PrintWeights(const TswSummary& weights, const std::string& path, bool json) {
  std::FILE* const to = path == "-" ? stderr : stdout;
  if (json) {
    Json out;
    out.Begin('{').Key("file").String(path);
    AppendWeights(weights, &out);
    PrintText(to, out.End('}').Take());
  } else {
    PrintText(to, fmt::format("{}: {}, {} bytes\n", path == "-" ? "standard output" : path,
                              WeightsText(weights.info), weights.bytes));
  }
}

int WriteWeights(const PackedWeights& weights, const std::string& path, bool json) {
  const auto image = weights.image();
  const Status written =
      WriteFile(path, {reinterpret_cast<const char*>(image.data()), image.size()});
  if (!written.ok()) {
    PrintError(written.error());
    return kEnvironment;
  }
  PrintWeights(weights.Summary(), path, json);
  return kDone;
}

}  // namespace tarsia::tools
