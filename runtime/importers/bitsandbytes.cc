// bitsandbytes' 4-bit weights: NF4 and FP4.
//
// `weight` u8 [N * K / 2, 1]: two codes of w[N, K], row-major, in a byte, the first one in the high
// nibble. `weight.quant_map` f32 [16] are the values of the codes.
// `weight.quant_state.bitsandbytes__nf4` (or __fp4) u8 is a text of JSON: "shape", "blocksize", and
// if the scales are quantised themselves "nested_blocksize" and "nested_offset". `weight.absmax` is
// f32, a scale for each block of the row-major order; or u8, and the scale is
//   nested_quant_map[absmax[i]] * nested_absmax[i / nested_blocksize] + nested_offset
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/importers/fill.h"
#include "runtime/importers/importers.h"
#include "support/extents.h"

namespace tarsia {
namespace {

struct BnbState {
  int64_t n = 0, k = 0;
  int64_t blocksize = 0;
  int64_t nested_blocksize = 0;
  double nested_offset = 0;
};

// A positive whole number of an object; 0 if there is none.
int64_t PositiveMember(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  const auto value = found->get<int64_t>();
  return value > 0 && value <= INT32_MAX ? value : 0;
}

Result<BnbState> BnbStateOf(const TensorSet& set, const std::string& layer) {
  const TensorView* tensor = nullptr;
  for (const char* const kind : {"nf4", "fp4"}) {
    const std::string name = layer + ".weight.quant_state.bitsandbytes__" + kind;
    if (tensor == nullptr) tensor = set.Find(name);
  }
  if (tensor == nullptr || tensor->info.type != kU8) {
    return TensorError(layer + ".weight.quant_state.bitsandbytes__nf4", "it is missing, or not u8");
  }
  const auto* const text = reinterpret_cast<const char*>(tensor->data);
  const auto json = nlohmann::json::parse(text, text + tensor->info.bytes, nullptr, false);
  if (!json.is_object()) return TensorError(tensor->name, "it is no JSON object");
  BnbState out;
  out.blocksize = PositiveMember(json, "blocksize");
  out.nested_blocksize = PositiveMember(json, "nested_blocksize");
  const auto offset = json.find("nested_offset");
  if (offset != json.end() && offset->is_number()) out.nested_offset = offset->get<double>();
  const auto shape = json.find("shape");
  const bool matrix = shape != json.end() && shape->is_array() && shape->size() == 2 &&
                      (*shape)[0].is_number_integer() && (*shape)[1].is_number_integer();
  if (matrix) {
    out.n = (*shape)[0].get<int64_t>();
    out.k = (*shape)[1].get<int64_t>();
  }
  const bool fits = out.n > 0 && out.k > 0 && out.n <= INT32_MAX && out.k <= INT32_MAX;
  if (!fits || out.blocksize == 0) {
    return TensorError(tensor->name, "it has no `shape` of a matrix, or no `blocksize`");
  }
  return out;
}

// The scale of each block.
Result<std::vector<float>> BlockScales(const TensorSet& set, const std::string& layer,
                                       const BnbState& state) {
  const int64_t blocks = (state.n * state.k + state.blocksize - 1) / state.blocksize;
  const std::string name = layer + ".weight.absmax";
  TARSIA_TRY(const TensorView* const absmax, set.Need(name, {kF32, kU8}, {blocks}));
  std::vector<float> out = FloatsOf(*absmax);
  if (absmax->info.type == kF32) return out;
  if (state.nested_blocksize == 0) return TensorError(name, "its blocks are of unknown size");
  const int64_t outer = (blocks + state.nested_blocksize - 1) / state.nested_blocksize;
  TARSIA_TRY(const TensorView* const map,
             set.Need(layer + ".weight.nested_quant_map", {kF32}, {256}));
  TARSIA_TRY(const TensorView* const nested,
             set.Need(layer + ".weight.nested_absmax", {kF32}, {outer}));
  const std::vector<float> values = FloatsOf(*map), scales = FloatsOf(*nested);
  for (int64_t i = 0; i < blocks; ++i) {
    const float value = values[absmax->data[i]] * scales[Size(i / state.nested_blocksize)];
    out[Size(i)] = value + static_cast<float>(state.nested_offset);
  }
  return out;
}

}  // namespace

Result<CodeSource> ReadBitsandbytes(const TensorSet& set, const std::string& layer,
                                    const LayerOptions& /*options*/) {
  TARSIA_TRY(const BnbState state, BnbStateOf(set, layer));
  const int64_t n = state.n, k = state.k;
  TARSIA_TRY(const TensorView* const weight,
             set.Need(layer + ".weight", {kU8}, {(n * k + 1) / 2, 1}));
  TARSIA_TRY(const TensorView* const map, set.Need(layer + ".weight.quant_map", {kF32}, {16}));
  TARSIA_TRY(const std::vector<float> blocks, BlockScales(set, layer, state));
  // Within so many rows of a column, the block is the same.
  int64_t group = k;
  for (int64_t rest = state.blocksize; rest != 0;) group = std::exchange(rest, group % rest);
  CodeSource out;
  WeightInfo& info = out.info;
  info.type = kU4;
  info.k = info.whole_k = k;
  info.n = info.whole_n = n;
  info.group = group;
  info.scale_type = kF32;
  info.codebook = FloatsOf(*map);
  for (int64_t g = 0; g < k / group; ++g) {
    for (int64_t i = 0; i < n; ++i) {
      out.scales.push_back(blocks[Size((i * k + g * group) / state.blocksize)]);
    }
  }
  out.codes = FromColumns([weight, k](int64_t column, int64_t row, int64_t count, uint8_t* to) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = column * k + row + i;
      to[i] = static_cast<uint8_t>(weight->data[at / 2] >> (at % 2 == 0 ? 4 : 0) & 15);
    }
  });
  return out;
}

}  // namespace tarsia
