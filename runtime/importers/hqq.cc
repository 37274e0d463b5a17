// HQQ (github.com/mobiusml/hqq), with groups along K (axis 1).
//
// The codes W[N, K], row-major, are seen as U[R, G], R = N * K / G; `scale` and `zero` [R, 1]
// belong to the rows of U. `W_q` packs U along R: with p codes in a container (u8 for 8, 4, 2 and 1
// bits, i32 with ten codes for 3 bits), row r of U is in row r % R' of W_q, R' = ceil(R / p), as
// code r / R' from the top. `shape` i64 [2] is [N, K]; `nbits` and `axis` are single numbers.
//   w = (code - zero) * scale
#include <fmt/format.h>

#include <algorithm>

#include "runtime/importers/fill.h"
#include "runtime/importers/importers.h"
#include "support/extents.h"

namespace tarsia {
namespace {

struct HqqTensors {
  const TensorView* codes = nullptr;
  const TensorView* scale = nullptr;
  const TensorView* zero = nullptr;
  int bits = 0;
  int64_t k = 0, n = 0, group = 0;
  int64_t container = 1;  // bytes
  int64_t parts = 1;      // codes in a container
  int64_t packed_rows = 0;
};

Result<int64_t> WholeNumber(const TensorSet& set, const std::string& name) {
  const TensorView* const tensor = set.Find(name);
  if (tensor == nullptr) return TensorError(name, "it is missing");
  TARSIA_TRY(const double number, NumberOf(*tensor));
  if (!(number >= -1e9 && number <= 1e9)) return TensorError(name, "it is no whole number");
  return static_cast<int64_t>(number);
}

Result<HqqTensors> FindHqq(const TensorSet& set, const std::string& layer,
                           const LayerOptions& options) {
  HqqTensors out;
  out.bits = options.bits;
  if (set.Find(layer + ".nbits") != nullptr) {
    TARSIA_TRY(const int64_t bits, WholeNumber(set, layer + ".nbits"));
    out.bits = static_cast<int>(std::clamp<int64_t>(bits, 0, 99));
  }
  if (set.Find(layer + ".axis") != nullptr) {
    TARSIA_TRY(const int64_t axis, WholeNumber(set, layer + ".axis"));
    if (axis != 1)
      return TensorError(layer + ".axis", "groups that do not lie along K are not supported");
  }
  const bool known = out.bits == 8 || (out.bits >= 1 && out.bits <= 4);
  if (!known)
    return TensorError(layer + ".nbits", fmt::format("codes of {} bits are unknown", out.bits));
  out.container = out.bits == 3 ? 4 : 1;
  out.parts = out.bits == 3 ? 10 : 8 / out.bits;
  TARSIA_TRY(const TensorView* const shape, set.Need(layer + ".shape", {kI64, kI32}, {2}));
  const std::vector<float> extents = FloatsOf(*shape);
  if (!(extents[0] > 0 && extents[1] > 0 && extents[0] <= 0x1p24F && extents[1] <= 0x1p24F)) {
    return TensorError(shape->name, "it is no shape");
  }
  out.n = static_cast<int64_t>(extents[0]);
  out.k = static_cast<int64_t>(extents[1]);
  out.codes = set.Find(layer + ".W_q");
  if (out.codes == nullptr || out.codes->rank() != 2) {
    return TensorError(layer + ".W_q", "it is missing, or no matrix");
  }
  // Codes may be stored as floats whose bytes they are.
  out.packed_rows = out.codes->extent(0);
  const int64_t row_bytes = out.codes->extent(1) * static_cast<int64_t>(out.codes->info.item_bytes);
  out.group = row_bytes / out.container;
  if (row_bytes % out.container != 0 || out.group < 1 || out.k % out.group != 0) {
    return TensorError(out.codes->name,
                       fmt::format("rows of {} codes do not divide {} rows", out.group, out.k));
  }
  const int64_t rows = out.n * (out.k / out.group);
  if ((rows + out.parts - 1) / out.parts != out.packed_rows) {
    return TensorError(out.codes->name, fmt::format("{} rows do not hold {} groups of {} bits",
                                                    out.packed_rows, rows, out.bits));
  }
  TARSIA_TRY(out.scale, set.Need(layer + ".scale", {kF16, kBF16, kF32}, {rows, 1}));
  TARSIA_TRY(out.zero, set.Need(layer + ".zero", {kF16, kBF16, kF32}, {rows, 1}));
  return out;
}

}  // namespace

Result<CodeSource> ReadHqq(const TensorSet& set, const std::string& layer,
                           const LayerOptions& options) {
  TARSIA_TRY(const HqqTensors t, FindHqq(set, layer, options));
  CodeSource out;
  WeightInfo& info = out.info;
  info.type = {.kind = DTypeKind::kUnsigned, .bits = static_cast<uint8_t>(t.bits)};
  info.k = info.whole_k = t.k;
  info.n = info.whole_n = t.n;
  info.group = t.group;
  info.scale_type = *t.scale->info.type;
  info.zero = ZeroPoint::kFloat;
  info.zero_type = *t.zero->info.type;
  const int64_t groups = t.k / t.group;
  out.scales = Transpose(FloatsOf(*t.scale), t.n, groups);
  out.zeros = Transpose(FloatsOf(*t.zero), t.n, groups);
  out.codes = FromColumns([t, groups](int64_t column, int64_t row, int64_t count, uint8_t* to) {
    const uint32_t mask = (uint32_t{1} << t.bits) - 1;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t k = row + i;
      const int64_t r = column * groups + k / t.group;
      const int64_t shift = (t.parts - 1 - r / t.packed_rows) * t.bits;
      const uint8_t* const at =
          t.codes->data + (r % t.packed_rows * t.group + k % t.group) * t.container;
      const uint32_t word = t.container == 4 ? LoadU32(at) : *at;
      to[i] = static_cast<uint8_t>(word >> shift & mask);
    }
  });
  return out;
}

}  // namespace tarsia
