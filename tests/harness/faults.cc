#include "tests/harness/faults.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/harness/codec.h"
#include "tests/harness/memory.h"

namespace tarsia::harness {
namespace {

Tensor WithZeroTile(Tensor t, int64_t first_row, int64_t rows, int64_t first_column,
                    int64_t columns) {
  const int64_t width = t.shape.back();
  for (int64_t i = first_row; i < first_row + rows; ++i) {
    for (int64_t j = first_column; j < first_column + columns; ++j) {
      t.codes[static_cast<size_t>(i * width + j)] = 0;
    }
  }
  return t;
}

void AddTiles(const Tensor& right, int64_t tile_rows, int64_t tile_columns,
              std::vector<Fault>& faults) {
  const int64_t columns = right.shape.back();
  const int64_t rows = static_cast<int64_t>(right.codes.size()) / columns;
  const int64_t height = std::min(rows, tile_rows);
  const int64_t width = std::min(columns, tile_columns);
  faults.push_back({"first tile dropped", WithZeroTile(right, 0, height, 0, width)});
  const int64_t last_row = (rows - 1) / tile_rows * tile_rows;
  const int64_t last_column = (columns - 1) / tile_columns * tile_columns;
  faults.push_back({"last tile dropped", WithZeroTile(right, last_row, rows - last_row, last_column,
                                                      columns - last_column)});
}

// The next element whose value is not nearly the same.
size_t OtherElement(const Tensor& t, size_t at) {
  const double value = Decode(t.type, t.codes[at]);
  for (size_t step = 1; step < t.codes.size(); ++step) {
    const size_t other = (at + step) % t.codes.size();
    const double there = Decode(t.type, t.codes[other]);
    if (!(std::fabs(there - value) <= std::max(std::fabs(there), std::fabs(value)) / 64)) {
      return other;
    }
  }
  return at;
}

void AddElements(const Tensor& right, int positions, std::vector<Fault>& faults) {
  const size_t count = right.codes.size();
  for (int p = 0; p < positions; ++p) {
    const size_t at = (count - 1) * static_cast<size_t>(p) / static_cast<size_t>(positions);
    const std::string where = ToText(IndexOf(right.shape, static_cast<int64_t>(at)));
    Tensor neighbour = right;
    neighbour.codes[at] = right.codes[OtherElement(right, at)];
    faults.push_back({"neighbour's value at " + where, std::move(neighbour)});
    Tensor unwritten = right;
    unwritten.codes[at] = PoisonCode(Poison::kNan, right.type);
    faults.push_back({"nothing written at " + where, std::move(unwritten)});
  }
}

}  // namespace

std::vector<Fault> OutputFaults(const Tensor& right, int64_t tile_rows, int64_t tile_columns,
                                int positions) {
  std::vector<Fault> faults;
  if (right.codes.empty()) return faults;
  faults.push_back({"all zero", right});
  std::fill(faults.back().output.codes.begin(), faults.back().output.codes.end(), 0);
  AddTiles(right, tile_rows, tile_columns, faults);
  AddElements(right, positions, faults);
  std::erase_if(faults, [&](const Fault& fault) { return fault.output.codes == right.codes; });
  return faults;
}

std::string ProveRejection(const Expectation& expected, const Tensor& right,
                           const std::vector<Fault>& faults) {
  const std::string difference = Compare(expected, right);
  if (!difference.empty()) return "the right result was rejected: " + difference;
  for (const Fault& fault : faults) {
    if (Compare(expected, fault.output).empty()) return "accepted: " + fault.name;
  }
  return "";
}

}  // namespace tarsia::harness
