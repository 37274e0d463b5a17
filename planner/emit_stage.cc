// Loads of short runs by way of shared memory.
//
// A tile of many rows with few elements of each reads a part of a sector for each row, again and
// again. So tiles of whole sectors are brought to shared memory, and the short ones are read there:
// in a loop around that over the short tiles; or, where the elements of short rows are taken one
// after the other, all of each row at once.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/emitter.h"
#include "support/extents.h"

namespace tarsia {
namespace {

constexpr int64_t kSectorBits = 256;  // of global memory
constexpr int64_t kLeastRows = 8;
constexpr int64_t kMostElements = 8;          // of rows that are staged as a whole
constexpr double kStagePrice = 4;             // of an element, in additions: a load and a store
constexpr int64_t kStageKey = INT64_MIN + 1;  // no value has it

// Stores a tile to shared memory; returns its name.
TileValue ToShared(TileWriter& writer, const TileValue& tile) {
  const TileValue shared = writer.Make(
      fmt::format("alloc.shared : {} {}", DTypeName(tile.dtype), writer.ShapeText(tile.shape)),
      tile.dtype, tile.shape);
  const std::vector<int> origin(writer.rank(), 0);
  writer.Line(fmt::format("store {}[{}], {}", shared.name, fmt::join(origin, ", "), tile.name));
  writer.Pay(tile.shape, kStagePrice);
  return shared;
}

}  // namespace

void AddStage(const KernelRequest& request, size_t d, std::vector<Dimension>* dimensions) {
  const Dimension& inner = (*dimensions)[d];
  int64_t tile = 0;
  for (const auto& [v, tensor] : request.known) {
    const bool contiguous = !tensor.axes.empty() && tensor.axes.back() == inner.axis;
    const int64_t bits = tensor.dtype.bits;
    if (contiguous && inner.tile * bits < kSectorBits) tile = std::max(tile, kSectorBits / bits);
  }
  tile = std::min(tile, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(inner.extent))));
  const bool split = request.ranges.count(inner.axis) != 0;
  if (split || tile <= inner.tile || tile % inner.tile != 0) return;
  Dimension stage;
  stage.axis = inner.axis;
  stage.extent = inner.extent;
  stage.tile = tile;
  stage.position = inner.position;
  (*dimensions)[d].stage = dimensions->size();
  dimensions->push_back(std::move(stage));
}

// The tile at these indices, from a longer one in shared memory; nothing if that is of no use.
std::optional<TileValue> Emitter::LoadStaged(const KernelTensor& tensor,
                                             const AxisIndices& indices) {
  if (machine_ == Machine::kCpu || tensor.parts > 0 || tensor.axes.size() < 2) return std::nullopt;
  const uint32_t axis = tensor.axes.back();
  const AxisIndex last = indices.at(axis);
  AxisIndices longer = indices;
  longer.erase(axis);
  if (Product(ShapeOf(longer)) < kLeastRows) return std::nullopt;
  longer[axis] = {};
  const bool in_loop = last.HasDimension();
  int64_t extent = tensor.extents.back();
  size_t depth = scopes().size() - 1;
  std::string at = fmt::format("{}", last.shift);
  if (in_loop) {
    const Dimension& inner = dimensions_[last.dimension];
    if (!inner.stage || last.shift != 0) return std::nullopt;
    Dimension& stage = dimensions_[*inner.stage];
    stage.staged = true;
    longer[axis].dimension = static_cast<int>(*inner.stage);
    extent = stage.tile;
    depth = stage.depth;
    at = fmt::format("{} - {}", inner.base, stage.base);
  } else if (extent < 2 || extent > kMostElements || tensor.chunked.back() ||
             tensor.dtype.bits < 8) {
    return std::nullopt;
  }
  const std::vector<int> positions = Place(tensor, indices, false);
  std::vector<int64_t> key = KeyOf(tensor.buffer, longer);
  key.insert(key.begin(), kStageKey);
  TileValue shared;
  AtDepth(depth, [&] {
    if (const auto found = scope().known.find(key); found != scope().known.end()) {
      shared = found->second;
      return;
    }
    TileShape shape = ShapeOf(longer);
    if (positions.back() < rank()) shape[positions.back()] = extent;
    const TileValue tile =
        Make(fmt::format("load {}{} : {}", ViewOf(tensor, positions),
                         Position(tensor, positions, longer, {}), ShapeText(shape)),
             tensor.dtype, shape);
    shared = ToShared(writer(), tile);
    if (!in_loop) Line("sync");  // a loop over stages has its own
    scope().known[key] = shared;
  });
  std::vector<std::string> origin(rank(), "0");
  if (positions.back() < rank()) origin[positions.back()] = at;
  const TileShape shape = ShapeOf(indices);
  return Make(
      fmt::format("load {}[{}] : {}", shared.name, fmt::join(origin, ", "), ShapeText(shape)),
      tensor.dtype, shape);
}

}  // namespace tarsia
