#include "dtypes/codebook.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tarsia {
namespace {

#define CODEBOOK(name, constant, doc, ...) constexpr float constant[] = {__VA_ARGS__};
#include "dtypes/codebooks.def"
#undef CODEBOOK

constexpr Codebook kBooks[] = {
#define CODEBOOK(name, constant, doc, ...) {name, doc, constant},
#include "dtypes/codebooks.def"
#undef CODEBOOK
};

}  // namespace

std::span<const Codebook> AllCodebooks() { return kBooks; }

const Codebook* FindCodebook(std::string_view name) {
  const auto* found = std::find_if(std::begin(kBooks), std::end(kBooks),
                                   [&](const Codebook& book) { return book.name == name; });
  return found == std::end(kBooks) ? nullptr : found;
}

std::optional<DType> CodeTypeOf(const Codebook& book) {
  const size_t count = book.values.size();
  if (count < 2 || count > 256 || !std::has_single_bit(count)) return std::nullopt;
  const auto finite = [](float value) { return std::isfinite(value); };
  if (!std::all_of(book.values.begin(), book.values.end(), finite)) return std::nullopt;
  return DType{.kind = DTypeKind::kUnsigned, .bits = static_cast<uint8_t>(std::countr_zero(count))};
}

}  // namespace tarsia
