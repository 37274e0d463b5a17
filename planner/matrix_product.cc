#include "planner/matrix_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tarsia {
namespace {

constexpr int64_t kLeastSide = 8;
// Of a multiplication with its addition: operands are in registers.
constexpr double kProductPrice = 0.25;

}  // namespace

std::optional<MatrixProduct> MatrixProduct::Find(const TileShape& a, const TileShape& b,
                                                 uint32_t lanes) {
  MatrixProduct out;
  out.a_ = a;
  out.b_ = b;
  out.shape_ = TileWriter::UnitShape();
  int last_row = -1;
  int last_column = -1;
  int first_row = kMaxRank;
  int first_column = kMaxRank;
  int first_lane = kMaxRank;
  for (int i = 0; i < kMaxRank; ++i) {
    if ((lanes >> i & 1) != 0) {
      if (a[i] != b[i]) return std::nullopt;
      out.inner_ *= a[i];
      first_lane = std::min(first_lane, i);
    } else if (a[i] > 1 && b[i] > 1) {
      return std::nullopt;
    } else if (a[i] > 1) {
      out.rows_ *= a[i];
      first_row = std::min(first_row, i);
      last_row = i;
    } else if (b[i] > 1) {
      out.columns_ *= b[i];
      first_column = std::min(first_column, i);
      last_column = i;
    }
    out.shape_[i] = (lanes >> i & 1) != 0 ? 1 : std::max(a[i], b[i]);
  }
  if (std::min({out.rows_, out.columns_, out.inner_}) < kLeastSide) return std::nullopt;
  if (std::max(last_row, last_column) > first_lane) return std::nullopt;
  out.transposed_ = last_column < first_row;
  if (!out.transposed_ && last_row > first_column) return std::nullopt;
  return out;
}

void MatrixProduct::Begin(TileWriter& writer, DType accumulator) {
  accumulator_ = accumulator;
  sums_ = writer.NewName();
  writer.Line(fmt::format("{} = fill 0 : {} [{}, {}]", sums_, DTypeName(accumulator),
                          transposed_ ? columns_ : rows_, transposed_ ? rows_ : columns_));
}

TileValue MatrixProduct::Matrix(TileWriter& writer, const TileValue& tile, const TileShape& shape,
                                int64_t rows) const {
  const TileValue whole = writer.Broadcast(tile, shape);
  TileValue out{writer.NewName(), tile.dtype, {}};
  writer.Line(fmt::format("{} = reshape {} : [{}, {}]", out.name, whole.name, rows, inner_));
  return out;
}

void MatrixProduct::Add(TileWriter& writer, const TileValue& a, const TileValue& b) {
  TileValue left = Matrix(writer, a, a_, rows_);
  TileValue right = Matrix(writer, b, b_, columns_);
  if (transposed_) std::swap(left, right);
  const std::string turned = writer.NewName();
  writer.Line(fmt::format("{} = permute {} order [1, 0]", turned, right.name));
  writer.Line(fmt::format("{} = dot {}, {}, {}", sums_, left.name, turned, sums_));
  writer.Pay(shape_, kProductPrice * static_cast<double>(inner_));
}

void MatrixProduct::Scale(TileWriter& writer, const TileValue& factor) {
  TileShape rows = a_;
  for (int i = 0; i < kMaxRank; ++i) rows[i] = std::min(rows[i], shape_[i]);
  const TileValue whole = writer.Broadcast(factor, rows);
  const std::string column = writer.NewName();
  writer.Line(transposed_ ? fmt::format("{} = reshape {} : [1, {}]", column, whole.name, rows_)
                          : fmt::format("{} = reshape {} : [{}, 1]", column, whole.name, rows_));
  writer.Line(fmt::format("{} = mul {}, {}", sums_, sums_, column));
  writer.Pay(shape_, 1);
}

TileValue MatrixProduct::Sums(TileWriter& writer) const {
  TileValue out{writer.NewName(), accumulator_, shape_};
  writer.Line(fmt::format("{} = reshape {} : {}", out.name, sums_, writer.ShapeText(shape_)));
  return out;
}

}  // namespace tarsia
