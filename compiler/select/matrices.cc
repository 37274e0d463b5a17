#include "compiler/select/matrices.h"

#include <algorithm>
#include <array>
#include <utility>

#include "support/extents.h"

namespace tarsia::compiler {
namespace {

constexpr int64_t kMatrixRows = 8;  // of a matrix
constexpr int64_t kRowThreads = 4;  // that share a row
constexpr int64_t kMostMatrices = 4;

using Digit = RegLayout::Digit;
using Digits = RegLayout::Digits;

// Thread t of a warp has the elements (t / 4, elements * (t % 4)) and those after it in the row; or
// their transposes.
std::optional<RegLayout> MakeMatrix(int64_t elements, bool swapped) {
  constexpr std::array<int64_t, 2> kGrid{kMatrixRows, kRowThreads}, kSwapped{1, 0};
  const std::array<int64_t, 2> own{1, elements};
  const auto threads = RegLayout::Spatial(kGrid);
  const auto slots = RegLayout::Local(own);
  if (!threads.ok() || !slots.ok()) return std::nullopt;
  const auto matrix = Product(*threads, *slots);
  if (!matrix.ok()) return std::nullopt;
  const auto out = swapped ? Permute(*matrix, kSwapped) : matrix;
  return out.ok() ? std::optional(*out) : std::nullopt;
}

// The same, made once: of 1, 2 or 4 elements.
const std::optional<RegLayout>& OneMatrix(int64_t elements, bool swapped) {
  static const auto matrices = [] {
    std::array<std::array<std::optional<RegLayout>, 2>, 3> out;
    for (size_t i = 0; i < out.size(); ++i) {
      for (const bool s : {false, true}) out[i][s ? 1 : 0] = MakeMatrix(int64_t{1} << i, s);
    }
    return out;
  }();
  return matrices[static_cast<size_t>(elements / 2)][swapped ? 1 : 0];
}

// Takes the innermost digits, as many as give up to 4 matrices, from those of the slots.
Digits TakeMatrices(Digits& local, int& count) {
  std::array<Digit, 2> taken{};
  size_t digits = 0;
  count = 1;
  while (count < kMostMatrices && !local.empty()) {
    Digit& last = local.back();
    if (last.extent % 2 != 0) break;
    taken[digits++] = {last.dim, 2, last.stride};
    count *= 2;
    last.extent /= 2;
    last.stride *= 2;
    if (last.extent == 1) local.pop_back();
  }
  Digits out;
  while (digits > 0) out.push_back(taken[--digits]);
  return out;
}

// Digits of matrices as digits of elements.
void AddScaled(const Digits& from, const Extents& matrix, Digits& to) {
  for (const Digit& digit : from) {
    const int64_t scale = digit.dim < 0 ? 1 : matrix[Size(digit.dim)];
    to.push_back({digit.dim, digit.extent, digit.stride * scale});
  }
}

// The layout of rows: after the threads of `spatial` there are those of the matrices of an
// instruction, and of the rows of each.
std::optional<TileLayout> MakeRows(const Extents& shape, Digits spatial, const Digits& matrices,
                                   int count, const Digits& rows, const Digits& slots) {
  if (count < kMostMatrices) {
    spatial.push_back({RegLayout::kReplication, kMostMatrices / count, 0});
  }
  for (const Digit& digit : matrices) spatial.push_back(digit);
  for (const Digit& digit : rows) spatial.push_back(digit);
  auto out = RegLayout::FromDigits(shape, spatial, slots);
  if (!out.ok()) return std::nullopt;
  return TileLayout::Exact(*std::move(out));
}

// Where the rows lie; `outer` says where the matrices do. Sets the number of matrices.
std::optional<TileLayout> RowsOf(const TileLayout& tile, const RegLayout& outer,
                                 const Extents& matrix, int fast, int& count) {
  Digits local = outer.local();
  Digits spatial, matrices, rows, slots;
  AddScaled(TakeMatrices(local, count), matrix, matrices);
  AddScaled(outer.spatial(), matrix, spatial);
  rows.push_back({1 - fast, kMatrixRows, 1});
  AddScaled(local, matrix, slots);
  slots.push_back({fast, matrix[Size(fast)], 1});
  return MakeRows(tile.shape(), spatial, matrices, count, rows, slots);
}

// Of a tile with one row, of which thread t of a warp has every eighth element from t / 4 on, as
// the scales of the columns of a fragment: memory has eight in 16 bytes, and two such pieces, each
// given for every other row, are a matrix whose columns the threads share.
std::optional<MatrixAccesses> FindInRow(const TileLayout& tile, int fast, int bytes) {
  constexpr int64_t kPieces = 2;  // a matrix has rows for each
  Digits spatial = tile.reg().spatial(), local = tile.reg().local();
  if (bytes != 2 || spatial.size() < 2 || local.empty()) return std::nullopt;
  const Digit shared = spatial.back();
  spatial.pop_back();
  const Digit columns = spatial.back();
  spatial.pop_back();
  Digit& apart = local.back();
  const bool fits = shared.dim == RegLayout::kReplication && shared.extent == kRowThreads &&
                    columns == Digit{fast, kMatrixRows, 1} && apart.dim == fast &&
                    apart.stride == kMatrixRows && apart.extent % kPieces == 0;
  if (!fits) return std::nullopt;
  apart.extent /= kPieces;
  apart.stride *= kPieces;
  if (apart.extent == 1) local.pop_back();
  MatrixAccesses out;
  out.transposed = true;
  const Digits matrices = TakeMatrices(local, out.count);
  Digits rows;
  rows.push_back({RegLayout::kReplication, kMatrixRows / kPieces, 0});
  rows.push_back({fast, kPieces, kMatrixRows});
  local.push_back({fast, kMatrixRows, 1});
  auto made = MakeRows(tile.shape(), spatial, matrices, out.count, rows, local);
  if (!made) return std::nullopt;
  out.rows = *std::move(made);
  return out;
}

// Of a tile of two dimensions.
std::optional<MatrixAccesses> FindInPlane(const TileLayout& tile, int fast, int bytes) {
  MatrixAccesses out;
  out.elements = 4 / bytes;
  for (const bool swapped : {false, true}) {
    const std::optional<RegLayout>& matrix = OneMatrix(out.elements, swapped);
    if (!matrix) return std::nullopt;
    if (!Divides(tile.reg(), *matrix)) continue;
    const auto outer = Divide(tile.reg(), *matrix);
    if (!outer.ok()) return std::nullopt;
    const int together = swapped ? 0 : 1;  // the dimension of the elements of a thread
    out.transposed = together != fast;
    if (out.transposed && bytes != 2) continue;
    auto rows = RowsOf(tile, *outer, matrix->shape(), fast, out.count);
    if (!rows) return std::nullopt;
    out.rows = *std::move(rows);
    return out;
  }
  return FindInRow(tile, fast, bytes);
}

// A layout whose dimensions are the last ones of a shape, or the other way round.
std::optional<TileLayout> Shifted(const TileLayout& tile, const Extents& shape, int by) {
  const auto shifted = [&](const Digits& digits) {
    Digits out;
    for (Digit digit : digits) {
      if (digit.dim >= 0) digit.dim += by;
      out.push_back(digit);
    }
    return out;
  };
  auto out =
      RegLayout::FromDigits(shape, shifted(tile.reg().spatial()), shifted(tile.reg().local()));
  if (!out.ok()) return std::nullopt;
  return TileLayout::Exact(*std::move(out));
}

}  // namespace

// Outer dimensions with one element each change nothing but the number of dimensions.
std::optional<MatrixAccesses> FindMatrixLoads(const TileLayout& tile, int fast, int bytes) {
  const bool fits = bytes == 1 || bytes == 2 || bytes == 4;
  const int outer = tile.rank() - 2;
  if (!fits || outer < 0 || fast < outer || tile.padded() || tile.empty()) return std::nullopt;
  const Extents& shape = tile.shape();
  if (std::any_of(shape.begin(), shape.begin() + outer, [](int64_t n) { return n != 1; })) {
    return std::nullopt;
  }
  if (outer == 0) return FindInPlane(tile, fast, bytes);
  const Extents plane(shape.begin() + outer, shape.end());
  const auto within = Shifted(tile, plane, -outer);
  auto out = within ? FindInPlane(*within, fast - outer, bytes) : std::nullopt;
  auto rows = out ? Shifted(out->rows, shape, outer) : std::nullopt;
  if (!rows) return std::nullopt;
  out->rows = *std::move(rows);
  return out;
}

std::optional<MatrixAccesses> FindMatrixStores(const TileLayout& tile, int fast, int bytes) {
  std::optional<MatrixAccesses> out = FindMatrixLoads(tile, fast, bytes);
  return out && StoresLikeLoads(tile, *out) ? out : std::nullopt;
}

bool StoresLikeLoads(const TileLayout& tile, const MatrixAccesses& loads) {
  return !tile.replicated() && loads.count == kMostMatrices;
}

bool HasMatrixStores(Target target) { return Row(target).capability >= 90; }

}  // namespace tarsia::compiler
