#include "tools/emulate/tensor_map.h"

#include <algorithm>
#include <optional>

#include "dtypes/convert.h"
#include "ptx/memory/tensor_map.h"

namespace tarsia::tools {
namespace {

// "64,32" into numbers above 0.
bool ParseNumbers(std::string_view text, std::vector<uint32_t>* out) {
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto value = ParseValue(*FindDType("u32"), text.substr(0, comma));
    if (!value || *value == 0) return false;
    out->push_back(static_cast<uint32_t>(*value));
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

// One part after the name of the file.
bool ParsePart(std::string_view part, TensorMapSpec* out) {
  if (part.starts_with("box=")) return out->box.empty() && ParseNumbers(part.substr(4), &out->box);
  if (part == "swizzle=0") return true;
  std::vector<uint32_t> numbers;
  if (!part.starts_with("swizzle=") || !ParseNumbers(part.substr(8), &numbers)) return false;
  out->swizzle = numbers[0];
  return numbers.size() == 1;
}

}  // namespace

// Reads the options from the end of the text; the rest before them is the memory.
bool ParseTensorMap(const std::string& text, TensorMapSpec* out) {
  std::string_view rest = text;
  while (true) {
    const size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos) break;
    const std::string_view part = rest.substr(colon + 1);
    if (!part.starts_with("box=") && !part.starts_with("swizzle=")) break;
    if (!ParsePart(part, out)) return false;
    rest = rest.substr(0, colon);
  }
  out->memory = rest;
  return !out->memory.empty() && !out->box.empty();
}

namespace {

std::optional<ptx::MapSwizzle> SwizzleOf(uint32_t bytes) {
  switch (bytes) {
    case 0:
      return ptx::MapSwizzle::kNone;
    case 32:
      return ptx::MapSwizzle::k32B;
    case 64:
      return ptx::MapSwizzle::k64B;
    case 128:
      return ptx::MapSwizzle::k128B;
    default:
      return std::nullopt;
  }
}

// The first element type of maps with that name in PTX (i8 uses u8).
std::optional<ptx::MapType> MapTypeOf(const TensorInfo& tensor) {
  if (!tensor.type) return std::nullopt;
  std::string name(DTypeName(*tensor.type));
  if (name == "i32" || name == "i64") name[0] = 's';
  if (name == "i8" || name == "i16") name[0] = 'u';
  constexpr ptx::MapType kAll[] = {
#define PTX_MAP_TYPE(constant, name, type, flushes) ptx::MapType::constant,
#include "ptx/table/tensor_types.def"
#undef PTX_MAP_TYPE
  };
  const auto* found =
      std::ranges::find_if(kAll, [&](ptx::MapType type) { return ptx::InfoOf(type).name == name; });
  if (found == std::end(kAll)) return std::nullopt;
  return *found;
}

}  // namespace

bool EncodeTensorMap(const TensorMapSpec& spec, const TensorInfo& tensor, uint64_t address,
                     std::vector<uint8_t>* out, std::string* error) {
  const size_t rank = tensor.shape.size();
  const auto type = MapTypeOf(tensor);
  const auto swizzle = SwizzleOf(spec.swizzle);
  if (!type) {
    *error = "a tensor map has no elements of type " + tensor.type_name;
  } else if (!swizzle) {
    *error = "a swizzle is of 0, 32, 64 or 128 bytes";
  } else if (rank == 0 || rank > 5 || rank != spec.box.size()) {
    *error = "box and shape " + ShapeText(tensor.shape) + " need as many dimensions, 1 to 5";
  }
  if (!error->empty()) return false;
  ptx::TensorMap::Tiles tiles;
  tiles.type = *type;
  tiles.swizzle = *swizzle;
  tiles.rank = static_cast<int>(rank);
  tiles.address = address;
  uint64_t stride = tensor.item_bytes;
  for (size_t i = 0; i < rank; ++i) {  // the innermost dimension first
    tiles.sizes[i] = static_cast<uint64_t>(tensor.shape[rank - 1 - i]);
    tiles.box[i] = spec.box[rank - 1 - i];
    stride *= tiles.sizes[i];
    if (i + 1 < rank) tiles.strides[i] = stride;
  }
  const auto map = ptx::TensorMap::Tiled(tiles);
  if (!map.ok()) {
    *error = map.error().message;
    return false;
  }
  const auto bytes = map->Encode();
  out->assign(bytes.begin(), bytes.end());
  return true;
}

}  // namespace tarsia::tools
