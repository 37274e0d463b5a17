#include "tools/matmul/spec.h"

#include <fmt/format.h>

#include <charconv>

namespace tarsia::tools {
namespace {

constexpr int64_t kMostSize = 1 << 30;

int ReadGiven(const Command& command, const char* option, const std::optional<std::string>& text,
              int64_t least, int64_t* out) {
  if (!text) return command.Misuse(fmt::format("{} is required", option));
  return ReadSize(command, option, *text, least, out);
}

// Type, group, scales and zero points of the weights.
int ReadPacking(const Command& command, const MatmulRequest& request, LayerSpec* out) {
  if (request.type.empty()) return command.Misuse("--w is required");
  WeightTypes types;
  const int code = FindWeightTypes(command, "--w", request.type, request.packing, &types);
  if (code != kDone) return code;
  WeightInfo& w = out->weights;
  w.type = types.weight;
  w.compute = types.compute;
  out->codebook = types.codebook;
  w.group = request.packing.group == 0 ? w.k : request.packing.group;
  if (w.k % w.group != 0) {
    return command.Misuse(fmt::format("--group {} does not divide the {} rows", w.group, w.k));
  }
  w.scale_type = types.scale;
  w.zero = request.packing.Zero();
  if (w.zero == ZeroPoint::kNone) return kDone;
  if (w.type.IsFloat() || types.codebook != nullptr) {
    return command.Misuse("--zero: only integers have zero points");
  }
  w.zero_type = types.zero;
  return kDone;
}

}  // namespace

void DeclareMade(Command& command, MatmulRequest* request) {
  DeclareWeightOptions(command, {"f16", "bf16", "i8", "f8e4m3fn"}, &request->packing);
  command.Flag("--with-bias", &request->with_bias, "Add a bias");
  command.Flag("--with-residual", &request->with_residual, "Add a residual");
}

int ReadSize(const Command& command, const char* option, const std::string& text, int64_t least,
             int64_t* out) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *out);
  if (error == std::errc() && rest == end && *out >= least && *out <= kMostSize) return kDone;
  return command.Misuse(
      fmt::format("{} {}: it is a number from {} to {}", option, text, least, kMostSize));
}

int ReadSpec(const Command& command, const MatmulRequest& request, LayerSpec* out) {
  int code = ReadGiven(command, "--m", request.m, 0, &out->m);
  if (code == kDone) code = ReadGiven(command, "--n", request.n, 1, &out->weights.n);
  if (code == kDone) code = ReadGiven(command, "--k", request.k, 1, &out->weights.k);
  if (code == kDone) code = ReadPacking(command, request, out);
  if (code != kDone) return code;
  out->activation = request.Act();
  out->gated = request.gated;
  out->bias = request.with_bias;
  out->residual = request.with_residual;
  out->output = request.OutputFor(out->weights.compute);
  return kDone;
}

std::vector<std::string> OtherOptions(const MatmulRequest& request, uint32_t group) {
  std::vector<std::string> out;
  const auto add = [&](const char* option, const std::string& value, const std::string& usual) {
    if (value != usual) out.insert(out.end(), {option, value});
  };
  const auto flag = [&](const char* option, bool given) {
    if (given) out.emplace_back(option);
  };
  const MatmulRequest none;
  add("--group", std::to_string(request.packing.group), std::to_string(group));
  add("--zero", request.packing.zero, none.packing.zero);
  add("--scale", request.packing.scale, none.packing.scale);
  add("--act", request.activation, none.activation);
  add("--compute", request.packing.compute, "");
  add("--y-type", request.output, "");
  flag("--gated", request.gated);
  flag("--with-bias", request.with_bias);
  flag("--with-residual", request.with_residual);
  flag("--deterministic", request.deterministic);
  flag("--batch-invariant", request.batch_invariant);
  return out;
}

std::string Reproduce(const MatmulRequest& request, const std::string& device) {
  std::string out = fmt::format("tarsia matmul --m {} --n {} --k {} --w {}", *request.m, *request.n,
                                *request.k, request.type);
  for (const std::string& word : OtherOptions(request, 0)) out += " " + word;
  if (!request.candidate.empty()) out += fmt::format(" --candidate '{}'", request.candidate);
  return out + " --device " + device;
}

}  // namespace tarsia::tools
