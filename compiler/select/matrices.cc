#include "compiler/select/matrices.h"

#include <algorithm>
#include <array>
#include <utility>

#include "support/extents.h"

namespace tarsia::compiler {
namespace {

constexpr int64_t kExtent = 8;  // rows and columns of a matrix
constexpr int64_t kMostMatrices = 4;

using Digit = RegLayout::Digit;
using Digits = RegLayout::Digits;

// Thread t of a warp has the elements (t / 4, 2 * (t % 4)) and the next one, or their transposes.
std::optional<RegLayout> OneMatrix(bool swapped) {
  constexpr std::array<int64_t, 2> kThreads{8, 4}, kSlots{1, 2}, kSwapped{1, 0};
  const auto threads = RegLayout::Spatial(kThreads);
  const auto slots = RegLayout::Local(kSlots);
  if (!threads.ok() || !slots.ok()) return std::nullopt;
  const auto matrix = Product(*threads, *slots);
  if (!matrix.ok()) return std::nullopt;
  const auto out = swapped ? Permute(*matrix, kSwapped) : matrix;
  return out.ok() ? std::optional(*out) : std::nullopt;
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
    if (last.extent == 1) local.shrink(local.size() - 1);
  }
  Digits out;
  while (digits > 0) out.push_back(taken[--digits]);
  return out;
}

void AddScaled(const Digits& from, Digits& to) {
  for (const Digit& digit : from) to.push_back({digit.dim, digit.extent, digit.stride * kExtent});
}

}  // namespace

std::optional<MatrixLoads> FindMatrixLoads(const TileLayout& tile, int fast, int bytes) {
  if (bytes != 2 || tile.rank() != 2 || tile.padded() || tile.empty()) return std::nullopt;
  MatrixLoads out;
  for (const bool swapped : {false, true}) {
    const auto matrix = OneMatrix(swapped);
    if (!matrix) return std::nullopt;
    const auto outer = Divide(tile.reg(), *matrix);
    if (!outer.ok()) continue;
    const int pairs = swapped ? 0 : 1;  // the dimension of the two elements of a thread
    out.transposed = pairs != fast;
    Digits local = outer->local();
    const Digits matrices = TakeMatrices(local, out.count);
    Digits spatial, slots;
    AddScaled(outer->spatial(), spatial);
    if (out.count < kMostMatrices) {
      spatial.push_back({RegLayout::kReplication, kMostMatrices / out.count, 0});
    }
    AddScaled(matrices, spatial);
    spatial.push_back({1 - fast, kExtent, 1});
    AddScaled(local, slots);
    slots.push_back({fast, kExtent, 1});
    auto rows = RegLayout::FromDigits(tile.shape(), spatial, slots);
    if (!rows.ok()) return std::nullopt;
    out.rows = TileLayout::Exact(*std::move(rows));
    return out;
  }
  return std::nullopt;
}

}  // namespace tarsia::compiler
