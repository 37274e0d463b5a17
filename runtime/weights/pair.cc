#include "runtime/weights/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/diagnostics.h"
#include "support/extents.h"

namespace tarsia {
namespace {

Status CheckSame(const char* what, const std::string& first, const std::string& second) {
  if (first == second) return OkStatus();
  return MakeDiagnostic(diag::kPairOther, {}, what, first, second);
}

Status CheckSame(const PackedWeights& first, const PackedWeights& second) {
  const WeightInfo &a = first.info(), &b = second.info();
  const auto name = [](DType type) { return std::string(DTypeName(type)); };
  const auto zero = [](const WeightInfo& info) { return std::string(ZeroTypeName(info)); };
  const auto shape = [](int64_t k, int64_t n) { return fmt::format("[{}, {}]", k, n); };
  TARSIA_CHECK(CheckSame("shape", shape(a.k, a.n), shape(b.k, b.n)));
  TARSIA_CHECK(
      CheckSame("shape of the whole matrix", shape(a.k, a.n), shape(a.whole_k, a.whole_n)));
  TARSIA_CHECK(
      CheckSame("shape of the whole matrix", shape(b.k, b.n), shape(b.whole_k, b.whole_n)));
  TARSIA_CHECK(CheckSame("type", name(a.type), name(b.type)));
  TARSIA_CHECK(CheckSame("type of the operands", name(a.compute), name(b.compute)));
  TARSIA_CHECK(CheckSame("group", std::to_string(a.group), std::to_string(b.group)));
  TARSIA_CHECK(CheckSame("type of the scales", name(a.scale_type), name(b.scale_type)));
  TARSIA_CHECK(CheckSame("type of the zero points", zero(a), zero(b)));
  TARSIA_CHECK(CheckSame("scale of the tensor", fmt::format("{}", a.tensor_scale),
                         fmt::format("{}", b.tensor_scale)));
  TARSIA_CHECK(CheckSame("codebook", fmt::format("{}", fmt::join(a.codebook, ", ")),
                         fmt::format("{}", fmt::join(b.codebook, ", "))));
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
  source.codes = [&codes, n](const Region& region, uint8_t* to, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      std::copy_n(codes.data() + (region.row + i) * 2 * n + region.column, region.columns,
                  to + i * stride);
    }
  };
  source.scales = SideBySide(a.scales, b.scales, n);
  source.zeros = SideBySide(a.zeros, b.zeros, n);
  source.gather = first.gather();
  return PackedWeights::Pack(source, progress);
}

}  // namespace tarsia
