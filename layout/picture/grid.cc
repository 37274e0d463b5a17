#include "layout/picture/grid.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "layout/access.h"
#include "layout/diagnostics.h"
#include "layout/picture/render.h"
#include "support/extents.h"

namespace tarsia {

Extents Grid::Index(size_t rank, int64_t matrix, int64_t row, int64_t column) const {
  Extents out(rank);
  if (rank >= 1) out[rank - 1] = column;
  if (rank >= 2) out[rank - 2] = row;
  for (size_t dim = leading.size(); dim-- > 0;) {
    out[dim] = matrix % leading[dim];
    matrix /= leading[dim];
  }
  return out;
}

std::string Grid::Heading(int64_t matrix) const {
  const Extents index = Index(leading.size() + 2, matrix, 0, 0);
  std::string out = "[";
  for (size_t dim = 0; dim < leading.size(); ++dim) out += fmt::format("{}, ", index[dim]);
  return out + ":, :]";
}

Result<Grid> GridOf(std::span<const int64_t> shape) {
  Grid out;
  const size_t rank = shape.size();
  if (rank >= 1) out.columns = shape[rank - 1];
  if (rank >= 2) out.rows = shape[rank - 2];
  if (rank > 2) out.leading.assign(shape.begin(), shape.end() - 2);
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent > kMaxDrawnElements || elements * extent > kMaxDrawnElements) {
      return MakeDiagnostic(diag::kPictureTooLarge, {}, ToString(shape), kMaxDrawnElements);
    }
    elements *= extent;
  }
  out.matrices = Product(out.leading);
  return out;
}

std::string HoldersText(const RegLayout& layout, std::span<const int64_t> index) {
  const std::vector<Holder> holders = layout.Locate(index);
  std::string out;
  const size_t shown = holders.size() > 4 ? 3 : holders.size();
  for (size_t i = 0; i < shown; ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", holders[i].thread);
  }
  if (shown < holders.size()) out += ",..";
  return fmt::format("{}:{}", out, holders[0].slot);
}

int64_t BankOf(const MemLayout& layout, std::span<const int64_t> index, int bits) {
  return static_cast<int64_t>(layout.BitAddress(index, bits, 0) / 8 / kBankBytes % kBanks);
}

Status CheckDrawnWidth(const MemLayout& layout, int bits) {
  if (bits < 1 || bits > 64) return MakeDiagnostic(diag::kAccessWidth, {}, bits);
  if (layout.IsPacked() && layout.packed().bits.bits() != bits) {
    return MakeDiagnostic(diag::kAccessBits, {}, layout.packed().bits.count(),
                          layout.packed().bits.bits(), layout.packed().tile.slots(), bits);
  }
  return OkStatus();
}

}  // namespace tarsia
