// Loops over reduced axes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "planner/emit_reducer.h"
#include "planner/emitter.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia {
namespace {

// Reductions of so few elements are written out, one after the other.
constexpr int64_t kMostUnrolled = 8;
// Extents up to this are not cut: their tile has no remainder.
constexpr int64_t kMostWhole = 16;
// Elements of the tiles of a loop: 16 KiB of f32, which fits into the first cache of a CPU and into
// the registers of 128 threads.
constexpr int64_t kTileElements = 4096;
constexpr int64_t kLoopTile = 64;
constexpr int64_t kLoneTile = 1024;  // where the results have few elements
constexpr int64_t kSieveTile = 512;  // elements of which it is found out first whether any counts

int64_t FloorPowerOfTwo(int64_t x) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(x, 1))));
}
int64_t CeilPowerOfTwo(int64_t x) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(x, 1))));
}

// What a loop goes over.
struct LoopRange {
  std::string low, high;
  double rounds = 1;
  int64_t lanes = 1;  // by how much it makes the tiles larger
};

void OpenLoopOver(TileWriter& writer, const LoopRange& range, bool descending,
                  Dimension* dimension) {
  const int64_t tile = dimension->tile;
  dimension->base = writer.NewName();
  dimension->depth = writer.scopes().size();
  std::string head = fmt::format("for {}: i64 = {} to {} step {} {{", dimension->base, range.low,
                                 range.high, tile);
  if (descending) {
    const std::string last = writer.NewName();
    writer.Line(fmt::format("{} = mov {} + (ceildiv({} - {}, {}) - 1) * {} : i64", last, range.low,
                            range.high, range.low, tile, tile));
    head = fmt::format("for {}: i64 = {} to {} - 1 step -{} {{", dimension->base, last, range.low,
                       tile);
  }
  Scope body;
  body.times = writer.scope().times * range.rounds;
  body.positions = dimension->position + 1;
  body.elements = writer.scope().elements * range.lanes;
  writer.Open(std::move(body), std::move(head));
}

// Closes the loop, and that over its stages: all threads have stored before the first one loads.
void CloseLoop(TileWriter& writer, const std::vector<Dimension>& dimensions, size_t d) {
  const std::optional<size_t> stage = dimensions[d].stage;
  if (!stage) return writer.Close();
  if (dimensions[d].sieved) {
    writer.Close();
    writer.Close();
    writer.Line("sync");  // all have read the answer before the next one is written
    return writer.Close();
  }
  const bool staged = dimensions[*stage].staged;
  writer.AtDepth(dimensions[*stage].depth, [&] {
    if (staged) writer.Line("sync");
  });
  writer.Close();
  writer.Close();
}

// The sums of a tile of segments need few of the elements if these come in the order of their
// segments, as those of a sparse matrix do. So a loop over long tiles of elements asks first
// whether any of them has one of the block's segments. False if that is of no use.
bool AddSieve(const Meaning& meaning, const KernelRequest& request,
              const std::vector<size_t>& nodes, const AxisIndices& inner, size_t d,
              std::vector<Dimension>* all) {
  std::vector<Dimension>& dimensions = *all;
  const Reduction& first = *meaning.ReductionOf(nodes[0]);
  const auto is_alike = [&](size_t n) {
    return meaning.ReductionOf(n)->segments == first.segments &&
           meaning.ReadsOf(n)[1] == meaning.ReadsOf(nodes[0])[1];
  };
  if (first.segments == Reduction::kNone || !std::all_of(nodes.begin(), nodes.end(), is_alike) ||
      request.known.count(meaning.ReadsOf(nodes[0])[1]) == 0) {
    return false;
  }
  const AxisIndex segments = inner.at(first.segments);
  if (!segments.HasDimension()) return false;
  const Dimension& results = dimensions[segments.dimension];
  if (results.extent <= results.tile || dimensions[d].extent < 2 * kSieveTile) return false;
  Dimension sieve;
  sieve.axis = dimensions[d].axis;
  sieve.extent = dimensions[d].extent;
  sieve.tile = kSieveTile;
  sieve.position = dimensions[d].position;
  dimensions[d].stage = dimensions.size();
  dimensions[d].sieved = true;
  dimensions.push_back(std::move(sieve));
  return true;
}

}  // namespace

void Emitter::Remember(size_t n, const AxisIndices& indices,
                       const std::vector<TileValue>& results) {
  const uint32_t first = meaning_.node(n).first_result;
  for (size_t i = 0; i < results.size(); ++i) {
    const uint32_t v = first + static_cast<uint32_t>(i);
    scope().known[KeyOf(v, Restrict(v, indices))] = results[i];
  }
}

bool IsUnrolled(const Reduction& reduction) {
  return reduction.count > 0 && reduction.count <= kMostUnrolled &&
         reduction.kind != ReducerKind::kTopK;
}

void Emitter::Reduce(size_t n, const AxisIndices& indices) {
  const Reduction& reduction = *meaning_.ReductionOf(n);
  const DType result = meaning_.value(meaning_.node(n).first_result).dtype;
  if (IsUnrolled(reduction)) {
    const auto state = ReduceUnrolled(n, indices);
    return Remember(n, indices, ReducerEmitter(writer(), reduction).Finish(state, result));
  }
  const std::vector<size_t> group = GroupOf(n, indices);
  const AxisIndices& of = group.size() > 1 ? home_ : indices;
  const States states = ReduceInLoops(group, of, false);
  for (size_t i = 0; i < group.size(); ++i) {
    const uint32_t first = meaning_.node(group[i]).first_result;
    ReducerEmitter reducer = ReducerOf(group[i], of);
    Remember(group[i], of, reducer.Finish(states[i], meaning_.value(first).dtype));
  }
}

std::vector<TileValue> Emitter::ReduceUnrolled(size_t n, const AxisIndices& indices) {
  const Reduction& reduction = *meaning_.ReductionOf(n);
  AxisIndices inner = indices;
  for (const uint32_t axis : reduction.axes) inner[axis] = {};
  auto reducers = BeginAll({n}, indices, inner, {});
  for (int64_t i = 0; i < reduction.count; ++i) {
    const int64_t number = IsArg(reduction.kind) ? reduction.count - 1 - i : i;
    int64_t rest = number;
    for (size_t a = reduction.axes.size(); a-- > 0;) {
      const int64_t extent = meaning_.axis(reduction.axes[a]).extent;
      inner[reduction.axes[a]].shift = rest % extent;
      rest /= extent;
    }
    reducers[0].Step(Elements(n, inner), nullptr, fmt::format("{}", number));
  }
  return reducers[0].Close(1, 0);
}

// ---- loops ------------------------------------------------------------------------------------

int64_t Emitter::TileOfLoop(const Reduction& reduction, uint32_t axis, int64_t room,
                            bool root) const {
  const int64_t extent = meaning_.axis(axis).extent;
  const auto range = request_.ranges.find(axis);
  const bool split = root && range != request_.ranges.end();
  const auto cut = std::count_if(reduction.axes.begin(), reduction.axes.end(),
                                 [&](uint32_t a) { return meaning_.axis(a).extent > kMostWhole; });
  // Several axes share the tile: a square one needs the fewest loads.
  int64_t most = scopes().back().elements < kLoopTile && cut < 2 ? kLoneTile : kLoopTile;
  if (root && request_.parts > 1 && axis == PartedAxis(meaning_, reduction)) {
    // Each part has a tile, unless tiles became small.
    most = std::min(most, std::max(FloorPowerOfTwo(extent / request_.parts), kLoopTile));
  }
  if (!split && extent <= kMostWhole && extent <= room) return std::max<int64_t>(extent, 1);
  int64_t tile = std::min({FloorPowerOfTwo(room), most, CeilPowerOfTwo(extent)});
  if (split) tile = std::min(tile, range->second);
  return tile;
}

bool Emitter::MayBeProducts(const std::vector<size_t>& nodes, const AxisIndices& indices) const {
  constexpr int kLane = kMaxRank - 1;  // stands for the reduced axes
  return std::all_of(nodes.begin(), nodes.end(), [&](size_t n) {
    const Reduction& reduction = *meaning_.ReductionOf(n);
    if (!SumsProducts(reduction)) return false;
    const auto& reads = meaning_.ReadsOf(n);
    for (const uint32_t axis : reduction.axes) {
      if (!meaning_.HasAxis(reads[0], axis) || !meaning_.HasAxis(reads[1], axis)) return false;
    }
    const auto shape = [&](uint32_t v) {
      AxisIndices own;
      for (const auto& [axis, index] : indices) {
        const bool reduced = std::count(reduction.axes.begin(), reduction.axes.end(), axis) != 0;
        if (!reduced && meaning_.HasAxis(v, axis)) own[axis] = index;
      }
      TileShape out = ShapeOf(own);
      out[kLane] = kLoopTile;
      return out;
    };
    return MatrixProduct::Find(shape(reads[0]), shape(reads[1]), 1u << kLane).has_value();
  });
}

void Emitter::AddDimensions(const Reduction& reduction, bool root, bool product,
                            AxisIndices* inner) {
  int64_t room = std::max<int64_t>(kTileElements / scope().elements, 1);
  // The sums of products have no lanes, so that only the operands grow with these tiles.
  if (product) room = kLoopTile;
  std::vector<int64_t> tiles(reduction.axes.size());
  for (size_t i = reduction.axes.size(); i-- > 0;) {
    tiles[i] = TileOfLoop(reduction, reduction.axes[i], room, root);
    room = std::max<int64_t>(room / tiles[i], 1);
  }
  for (size_t i = 0; i < reduction.axes.size(); ++i) {
    Dimension dimension;
    dimension.axis = reduction.axes[i];
    dimension.extent = meaning_.axis(dimension.axis).extent;
    dimension.tile = tiles[i];
    dimension.position = scope().positions + static_cast<int>(i);
    most_positions_ = std::max(most_positions_, dimension.position + 1);
    if (dimension.extent % dimension.tile != 0 && dimension.position < rank()) {
      dimension.lane = Iota(dimension.position, dimension.tile, kI32);
    }
    (*inner)[dimension.axis] = {static_cast<int>(dimensions_.size()), 0};
    dimensions_.push_back(std::move(dimension));
  }
}

std::pair<std::string, std::string> Emitter::RangeOf(const Dimension& dimension, bool root,
                                                     bool parted) {
  std::string low = "0";
  std::string high = fmt::format("{}", dimension.extent);
  if (root && request_.ranges.count(dimension.axis) != 0) {
    low = fmt::format("%{}_low", meaning_.axis(dimension.axis).name);
    high = fmt::format("%{}_high", meaning_.axis(dimension.axis).name);
  }
  if (!parted) return {low, high};
  const std::string share = NewName();
  const std::string first = NewName();
  const std::string end = NewName();
  Line(fmt::format("{} = mov ceildiv({} - {}, {}) * {} : i64", share, high, low,
                   dimension.tile * request_.parts, dimension.tile));
  Line(fmt::format("{} = mov min({} + {} * {}, {}) : i64", first, low, grid_.part, share, high));
  Line(fmt::format("{} = mov min({} + {}, {}) : i64", end, first, share, high));
  return {first, end};
}

// Within the loop over long tiles: what follows is for tiles with such elements.
void Emitter::OpenSieve(size_t n, const AxisIndices& inner, size_t d) {
  const Reduction& reduction = *meaning_.ReductionOf(n);
  const uint32_t segments = meaning_.ReadsOf(n)[1];
  AxisIndices around = inner;
  around[reduction.axes[0]].dimension = static_cast<int>(*dimensions_[d].stage);
  const AxisIndex at = inner.at(reduction.segments);
  const Dimension& results = dimensions_[at.dimension];
  const TileValue of = Cast(Value(segments, around), kI64);
  const auto compare = [&](std::string_view mnemonic, int64_t shift) {
    const std::string bound = fmt::format("{} + {}", results.base, shift);
    return Op(mnemonic, {of, Literal(bound, kI64)}, kBoolType);
  };
  const TileValue hits =
      Op("and", {compare("ge", at.shift), compare("lt", at.shift + results.tile)}, kBoolType);
  const TileValue any = Across("reduce.any", hits, ~0U);
  const TileValue shared =
      Make(fmt::format("alloc.shared : bool {}", ShapeText(any.shape)), kBoolType, any.shape);
  const std::string origin =
      fmt::format("[{}]", fmt::join(std::vector<int>(static_cast<size_t>(rank()), 0), ", "));
  Line(fmt::format("store {}{}, {}", shared.name, origin, any.name));
  Line("sync");
  const std::string answer = NewName();
  Line(fmt::format("{} = load.scalar {}{}", answer, shared.name, origin));
  Scope body;
  body.times = scope().times;
  body.positions = scope().positions;
  body.elements = scope().elements;
  Open(std::move(body), fmt::format("if {} {{", answer));
}

void Emitter::OpenLoop(size_t d, bool root, bool parted, bool descending,
                       const std::function<void()>& within) {
  Dimension& dimension = dimensions_[d];  // stays where it is: `within` adds none
  LoopRange range;
  std::tie(range.low, range.high) = RangeOf(dimension, root, parted);
  const double parts = parted ? static_cast<double>(request_.parts) : 1;
  range.rounds = static_cast<double>(CeilDiv(dimension.extent, dimension.tile)) / parts;
  range.lanes = dimension.tile;
  if (dimension.stage) {
    Dimension& stage = dimensions_[*dimension.stage];
    const int64_t turns = stage.tile / dimension.tile;
    const LoopRange around{range.low, range.high, range.rounds / static_cast<double>(turns), 1};
    OpenLoopOver(writer(), around, false, &stage);
    if (within) within();
    range.low = stage.base;
    range.high = fmt::format("min({} + {}, {})", stage.base, stage.tile, range.high);
    range.rounds = static_cast<double>(turns);
  }
  OpenLoopOver(writer(), range, descending, &dimension);
}

ReducerEmitter Emitter::ReducerOf(size_t n, const AxisIndices& of, int lane, bool descending) {
  const Reduction& reduction = *meaning_.ReductionOf(n);
  ReducerEmitter out(writer(), reduction);
  if (reduction.kind != ReducerKind::kTopK) return out;
  if (lane == kFreePosition) lane = scope().positions;
  most_positions_ = std::max(most_positions_, lane + 1);
  const Dimension& chosen = dimensions_[of.at(reduction.chosen).dimension];
  out.SetPlace({chosen.position, chosen.extent, std::min(lane, kMaxRank - 1), descending});
  return out;
}

std::vector<ReducerEmitter> Emitter::BeginAll(const std::vector<size_t>& nodes,
                                              const AxisIndices& indices, const AxisIndices& inner,
                                              const LoopForm& form) {
  std::vector<ReducerEmitter> out;
  for (const size_t n : nodes) {
    const Reduction& reduction = *meaning_.ReductionOf(n);
    AxisIndices loop;
    for (const uint32_t axis : reduction.axes) loop[axis] = inner.at(axis);
    AxisIndices wide = Restrict(meaning_.node(n).first_result, indices);
    wide.insert(loop.begin(), loop.end());
    const AxisIndices narrow = Restrict(meaning_.ReadsOf(n)[0], inner);
    const AxisIndex first = inner.at(reduction.axes[0]);
    const int lane = first.HasDimension() ? dimensions_[first.dimension].position : 0;
    out.push_back(ReducerOf(n, indices, lane, form.descending));
    if (form.products) {
      const TileShape right = ShapeOf(Restrict(meaning_.ReadsOf(n)[1], inner));
      const auto product = MatrixProduct::Find(ShapeOf(narrow), right, form.lanes);
      if (product) out.back().SetProduct(*product);
    }
    out.back().Begin(ShapeOf(wide), ShapeOf(narrow), ShapeOf(loop), form.lanes);
  }
  return out;
}

std::vector<TileValue> Emitter::Elements(size_t n, const AxisIndices& inner) {
  const Reduction& reduction = *meaning_.ReductionOf(n);
  std::vector<TileValue> out;
  for (const uint32_t read : meaning_.ReadsOf(n)) out.push_back(Value(read, inner));
  if (reduction.segments == Reduction::kNone) return out;
  const TileValue hit =
      Op("eq", {Cast(out[1], kI64), IndexOf(inner.at(reduction.segments))}, kBoolType);
  return {Op("select", {hit, out[0], Literal("0", out[0].dtype)}, out[0].dtype)};
}

Emitter::States Emitter::ReduceInLoops(const std::vector<size_t>& nodes, const AxisIndices& indices,
                                       bool root) {
  const Reduction& reduction = *meaning_.ReductionOf(nodes[0]);
  AxisIndices inner = indices;
  const size_t first = dimensions_.size();
  LoopForm form;
  form.products = MayBeProducts(nodes, indices);
  AddDimensions(reduction, root, form.products, &inner);
  for (size_t d = first; d < dimensions_.size(); ++d) form.lanes |= 1u << dimensions_[d].position;
  const size_t count = dimensions_.size() - first;
  form.descending = std::any_of(nodes.begin(), nodes.end(),
                                [&](size_t n) { return IsArg(meaning_.ReductionOf(n)->kind); });
  const bool sieved = count == 1 && AddSieve(meaning_, request_, nodes, inner, first, &dimensions_);
  if (machine_ == Machine::kGpu && !form.products && !form.descending && !sieved) {
    AddStage(request_, first + count - 1, &dimensions_);
  }
  auto reducers = BeginAll(nodes, indices, inner, form);
  const int64_t around = scope().elements;
  for (size_t i = 0; i < count; ++i) {
    const bool parted = root && request_.parts > 1 &&
                        dimensions_[first + i].axis == PartedAxis(meaning_, reduction);
    OpenLoop(first + i, root, parted, form.descending, [&] {
      if (sieved) OpenSieve(nodes[0], inner, first);
    });
  }
  if (form.products) {
    scope().elements = around;
    for (const size_t n : nodes) {
      for (const uint32_t read : meaning_.ReadsOf(n)) {
        scope().elements = std::max(scope().elements, Product(ShapeOf(Restrict(read, inner))));
      }
    }
  }
  TileValue inside;
  for (size_t d = first; d < first + count; ++d) {
    const Dimension& dimension = dimensions_[d];
    if (dimension.lane.name.empty()) continue;
    const std::string left =
        fmt::format("min({} - {}, {})", dimension.extent, dimension.base, dimension.tile);
    const TileValue exists = Op("lt", {dimension.lane, Literal(left, kI32)}, kBoolType);
    inside = inside.name.empty() ? exists : Op("and", {inside, exists}, kBoolType);
  }
  const std::string number =
      fmt::format("{} / {}", dimensions_[first].base, dimensions_[first].tile);
  for (size_t i = 0; i < nodes.size(); ++i) {
    reducers[i].Step(Elements(nodes[i], inner), inside.name.empty() ? nullptr : &inside, number);
  }
  for (size_t d = first + count; d-- > first;) CloseLoop(writer(), dimensions_, d);
  States out;
  for (ReducerEmitter& reducer : reducers) {
    out.push_back(reducer.Close(dimensions_[first].tile, dimensions_[first].position));
  }
  return out;
}

// ---- loops that several reductions share --------------------------------------------------------

bool Emitter::CanJoin(size_t n, const std::vector<size_t>& group) const {
  const uint32_t v = meaning_.node(n).first_result;
  for (const uint32_t axis : meaning_.value(v).axes) {
    if (home_.count(axis) == 0) return false;
  }
  if (scopes()[0].known.count(KeyOf(v, Restrict(v, home_))) != 0) return false;
  return std::all_of(group.begin(), group.end(), [&](size_t other) {
    const uint32_t w = meaning_.node(other).first_result;
    return n != other && meaning_.ReductionOf(n)->axes == meaning_.ReductionOf(other)->axes &&
           !meaning_.Needs(v, other) && !meaning_.Needs(w, n);
  });
}

std::vector<size_t> Emitter::GroupOf(size_t n, const AxisIndices& indices) const {
  std::vector<size_t> group = {n};
  const bool home = std::all_of(indices.begin(), indices.end(), [&](const auto& entry) {
    const auto found = home_.find(entry.first);
    return found != home_.end() && found->second.dimension == entry.second.dimension &&
           entry.second.shift == 0;
  });
  if (scopes().size() != 1 || !home) return group;
  for (const size_t other : wanted_) {
    if (CanJoin(other, group)) group.push_back(other);
  }
  return group;
}

void FindWanted(const Meaning& meaning, const KernelRequest& request, uint32_t v,
                std::set<size_t>* wanted) {
  if (request.known.count(v) != 0 || meaning.IsInput(v)) return;
  const size_t n = meaning.NodeOf(v);
  // Behind some operations axes have other indices than those of the grid.
  if (!meaning.MovedBy(n).empty()) return;
  if (meaning.ReductionOf(n) != nullptr && !wanted->insert(n).second) return;
  for (const uint32_t read : meaning.ReadsOf(n)) FindWanted(meaning, request, read, wanted);
}

}  // namespace tarsia
