#include "tools/weights/weight_types.h"

#include <fmt/format.h>

#include "runtime/weights/packed_order.h"

namespace tarsia::tools {
namespace {

std::string CodebookNames() {
  std::string out;
  for (const Codebook& book : AllCodebooks()) out += fmt::format(", {}", book.name);
  return out;
}

}  // namespace

int FindWeightTypes(const Command& command, const char* option, const std::string& type,
                    const std::string& compute, WeightTypes* out) {
  out->codebook = FindCodebook(type);
  const auto weight = out->codebook != nullptr ? CodeTypeOf(*out->codebook) : FindDType(type);
  if (!weight || !LowPrecision(*weight)) {
    return command.Misuse(fmt::format("{} {}: weights cannot have this type", option, type),
                          "integers and floats of at most 8 bits" + CodebookNames());
  }
  out->weight = *weight;
  out->compute = CheckPackedOrder(*weight, kF16).ok() ? kF16 : kBF16;
  if (!compute.empty()) out->compute = *FindDType(compute);
  if (const Status fits = CheckPackedOrder(out->weight, out->compute); !fits.ok()) {
    return command.Misuse("--compute: " + fits.error().message, fits.error().help);
  }
  return kDone;
}

ZeroPoint ZeroPointOf(const std::string& text) {
  if (text == "int") return ZeroPoint::kInteger;
  return text == "float" ? ZeroPoint::kFloat : ZeroPoint::kNone;
}

}  // namespace tarsia::tools
