#include "tools/weights/weight_types.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/weights/packed_order.h"

namespace tarsia::tools {
namespace {

std::string CodebookNames() {
  std::string out;
  for (const Codebook& book : AllCodebooks()) out += fmt::format(", {}", book.name);
  return out;
}

}  // namespace

ZeroPoint WeightOptions::Zero() const {
  if (zero == "int") return ZeroPoint::kInteger;
  return zero == "float" ? ZeroPoint::kFloat : ZeroPoint::kNone;
}

void DeclareWeightOptions(Command& command, std::vector<std::string> computes, WeightOptions* out) {
  const std::string rows =
      out->group == 0 ? "all rows of a column" : fmt::format("{}; 0: all of a column", out->group);
  command.Number("--group", "G", &out->group,
                 ("The rows that share a scale; the default is " + rows).c_str());
  command.Choice("--zero", &out->zero, {"none", "int", "float"},
                 "The kind of the zero points; the default is none");
  command.Choice("--scale", &out->scale, {"f16", "bf16", "f32", "e8m0", "f8e4m3fn"},
                 "The type of the scales; the default is f16; f8e4m3fn adds a scale of the tensor");
  command.Choice("--compute", &out->compute, std::move(computes),
                 "The type of the activations; the default is f16, or bf16 for types beyond its "
                 "range");
}

int FindWeightTypes(const Command& command, const char* option, const std::string& type,
                    const WeightOptions& options, WeightTypes* out) {
  out->codebook = FindCodebook(type);
  const auto weight = out->codebook != nullptr ? CodeTypeOf(*out->codebook) : FindDType(type);
  if (!weight || !LowPrecision(*weight)) {
    return command.Misuse(fmt::format("{} {}: weights cannot have this type", option, type),
                          "integers and floats of at most 8 bits" + CodebookNames());
  }
  out->weight = *weight;
  out->compute = CheckPackedOrder(*weight, kF16).ok() ? kF16 : kBF16;
  if (!options.compute.empty()) out->compute = *FindDType(options.compute);
  if (const Status fits = CheckPackedOrder(out->weight, out->compute); !fits.ok()) {
    return command.Misuse("--compute: " + fits.error().message, fits.error().help);
  }
  out->scale = *FindDType(options.scale);
  out->zero = options.Zero() == ZeroPoint::kFloat ? kF32 : weight->IsUnsigned() ? kU8 : kI8;
  return kDone;
}

}  // namespace tarsia::tools
