#include "runtime/weights/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/diagnostics.h"
#include "support/extents.h"

namespace tarsia {
namespace {

Status CheckSame(const PackedWeights& first, const PackedWeights& second) {
  const WeightInfo &a = first.info(), &b = second.info();
  const auto same = [](const char* what, const auto& one, const auto& other) -> Status {
    if (one == other) return OkStatus();
    return MakeDiagnostic(diag::kPairOther, {}, what, one, other);
  };
  const auto shape = [](int64_t k, int64_t n) { return fmt::format("[{}, {}]", k, n); };
  const auto book = [](const WeightInfo& info) {
    return fmt::format("{}", fmt::join(info.codebook, ", "));
  };
  TARSIA_CHECK(same("shape", shape(a.k, a.n), shape(b.k, b.n)));
  for (const WeightInfo* const w : {&a, &b}) {
    TARSIA_CHECK(
        same("shape of the whole matrix", shape(w->k, w->n), shape(w->whole_k, w->whole_n)));
  }
  TARSIA_CHECK(same("type", DTypeName(a.type), DTypeName(b.type)));
  TARSIA_CHECK(same("type of the operands", DTypeName(a.compute), DTypeName(b.compute)));
  TARSIA_CHECK(same("group", a.group, b.group));
  TARSIA_CHECK(same("type of the scales", DTypeName(a.scale_type), DTypeName(b.scale_type)));
  TARSIA_CHECK(same("type of the zero points", ZeroTypeName(a), ZeroTypeName(b)));
  TARSIA_CHECK(same("scale of the tensor", a.tensor_scale, b.tensor_scale));
  TARSIA_CHECK(same("codebook", book(a), book(b)));
  if (first.gather() == second.gather()) return OkStatus();
  return MakeDiagnostic(diag::kPairOther, {}, "gather list", "one list", "another");
}

// The rows of two matrices of n columns, side by side.
template <typename T>
std::vector<T> SideBySide(const std::vector<T>& first, const std::vector<T>& second, int64_t n) {
  std::vector<T> out(first.size() + second.size());
  for (size_t i = 0; i * Size(n) < first.size(); ++i) {
    std::copy_n(first.begin() + static_cast<std::ptrdiff_t>(i * Size(n)), n,
                out.begin() + static_cast<std::ptrdiff_t>(2 * i * Size(n)));
    std::copy_n(second.begin() + static_cast<std::ptrdiff_t>(i * Size(n)), n,
                out.begin() + static_cast<std::ptrdiff_t>((2 * i + 1) * Size(n)));
  }
  return out;
}

}  // namespace

Result<PackedWeights> PairOf(const PackedWeights& first, const PackedWeights& second,
                             const Progress& progress) {
  TARSIA_CHECK(CheckSame(first, second));
  const int64_t n = first.info().n;
  const UnpackedWeights a = first.Unpack(), b = second.Unpack();
  const std::vector<uint8_t> codes = SideBySide(a.codes, b.codes, n);
  CodeSource source;
  source.info = first.info();
  source.info.n = source.info.whole_n = 2 * n;
  source.codes = FillFrom(codes.data(), 2 * n);
  source.scales = SideBySide(a.scales, b.scales, n);
  source.zeros = SideBySide(a.zeros, b.zeros, n);
  source.gather = first.gather();
  return PackedWeights::Pack(source, progress);
}

}  // namespace tarsia
