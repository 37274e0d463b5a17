// Whole kernels: the grid, and what each kind of kernel does.
#include <fmt/format.h>

#include <algorithm>

#include "planner/emit_reducer.h"
#include "planner/emit_solve.h"
#include "planner/emitter.h"
#include "planner/grid_tiles.h"

namespace tarsia {
namespace {

constexpr double kBlockPrice = 500;  // what a block costs besides its elements

std::string HeaderOf(const Meaning& meaning, const std::string& name, const KernelMemory& memory,
                     const std::string& grid) {
  std::vector<std::string> params;
  for (const KernelParam& param : memory.params) {
    const std::string axis =
        param.kind == KernelParam::Kind::kTensor || param.kind == KernelParam::Kind::kFresh
            ? ""
            : std::string(meaning.axis(param.id).name);
    switch (param.kind) {
      case KernelParam::Kind::kTensor:
        params.push_back(fmt::format("{}: ptr<{}>", memory.names.at(param.id),
                                     DTypeName(memory.types.at(param.id))));
        break;
      case KernelParam::Kind::kLow:
        params.push_back(fmt::format("%{}_low: i64", axis));
        break;
      case KernelParam::Kind::kHigh:
        params.push_back(fmt::format("%{}_high: i64", axis));
        break;
      case KernelParam::Kind::kBase:
        params.push_back(fmt::format("%{}_base: i64", axis));
        break;
      case KernelParam::Kind::kFresh:
        params.emplace_back("%fresh: bool");
        break;
    }
  }
  return fmt::format("kernel {}({})\n  grid ({})\n  warps 4\n{{\n", name, fmt::join(params, ", "),
                     grid);
}

// Writes a merged state in the place of one that was there.
void Overwrite(TileWriter& writer, const std::vector<TileValue>& state,
               const std::vector<TileValue>& merged) {
  for (size_t i = 0; i < state.size(); ++i) {
    writer.Op("mov", {merged[i]}, merged[i].dtype, 1, state[i].name);
  }
}

// Whether a tensor of the kernel holds only the range of the rank.
bool NeedsBase(const KernelRequest& request) {
  const auto is_part = [](const KernelTensor& tensor) {
    return std::count(tensor.shared.begin(), tensor.shared.end(), true) != 0;
  };
  const auto of_pair = [&](const auto& entry) { return is_part(entry.second); };
  const auto of_state = [&](const KernelReduction& reduction) {
    return is_part(reduction.state[0]);
  };
  return std::any_of(request.stores.begin(), request.stores.end(), of_pair) ||
         std::any_of(request.known.begin(), request.known.end(), of_pair) ||
         std::any_of(request.reductions.begin(), request.reductions.end(), of_state);
}

}  // namespace

uint32_t PartedAxis(const Meaning& meaning, const Reduction& reduction) {
  return *std::max_element(
      reduction.axes.begin(), reduction.axes.end(),
      [&](uint32_t a, uint32_t b) { return meaning.axis(a).extent < meaning.axis(b).extent; });
}

void Emitter::OpenGrid() {
  const std::vector<int64_t> tiles = TilesOfGrid(meaning_, request_, wanted_);
  const bool chooses = MostChosen(meaning_, request_, wanted_) > 0;
  const std::string block = NewName();
  Line(block + " = block.x");
  std::string stride = "1";
  for (size_t i = request_.axes.size(); i-- > 0;) {
    const uint32_t axis = request_.axes[i];
    const std::string name(meaning_.axis(axis).name);
    const bool split = request_.ranges.count(axis) != 0;
    const int64_t extent = meaning_.axis(axis).extent;
    const int64_t count = (extent + tiles[i] - 1) / tiles[i];
    const std::string counts =
        split ? fmt::format("ceildiv(%{}_high - %{}_low, {})", name, name, tiles[i])
              : fmt::format("{}", count);
    Dimension dimension{axis, extent, tiles[i], static_cast<int>(i), "0", 0, {}, {}};
    if (count > 1) {
      dimension.base = NewName();
      Line(fmt::format("{} = mov {} / ({}) % {} * {}{} : i64", dimension.base, block, stride,
                       counts, tiles[i], split ? fmt::format(" + %{}_low", name) : ""));
    } else if (split) {
      dimension.base = fmt::format("%{}_low", name);
    }
    home_[axis] = {static_cast<int>(dimensions_.size()), 0};
    dimensions_.push_back(std::move(dimension));
    stride = stride == "1" ? counts : stride + " * " + counts;
    grid_.blocks *= count;
    if (!(chooses && meaning_.IsChosen(axis))) scope().elements *= tiles[i];
  }
  scope().positions = static_cast<int>(request_.axes.size());
  most_positions_ = std::max(most_positions_, scope().positions);
  grid_.text = stride;
  const bool keeps_parts =
      request_.kind == KernelKind::kPartial || request_.kind == KernelKind::kMerge;
  if (keeps_parts && request_.parts > 1) {
    grid_.part = NewName();
    Line(fmt::format("{} = mov {} / ({}) : i64", grid_.part, block, stride));
    grid_.text = fmt::format("{} * {}", stride, request_.parts);
    grid_.blocks *= request_.parts;
  }
  scope().times = static_cast<double>(grid_.blocks);
}

// ---- kinds ------------------------------------------------------------------------------------

void Emitter::EmitValues() {
  const bool in_place = std::any_of(request_.known.begin(), request_.known.end(),
                                    [](const auto& known) { return known.second.replaced; });
  if (in_place) {
    // All that a block reads comes before what it writes in the same place.
    for (const auto& [v, tensor] : request_.stores) Value(v, home_);
    Line("sync");
  }
  for (const auto& [v, tensor] : request_.stores) Store(tensor, Value(v, home_), home_);
}

std::vector<TileValue> Emitter::LoadState(const KernelReduction& reduction, std::string_view part) {
  std::vector<TileValue> out;
  for (const KernelTensor& tensor : reduction.state) out.push_back(Load(tensor, home_, part));
  return out;
}

void Emitter::StoreState(const KernelReduction& reduction, const std::vector<TileValue>& state,
                         std::string_view part) {
  for (size_t i = 0; i < state.size(); ++i) Store(reduction.state[i], state[i], home_, part);
}

void Emitter::EmitPartial() {
  std::vector<size_t> nodes;
  for (const KernelReduction& reduction : request_.reductions) nodes.push_back(reduction.node);
  States states = ReduceInLoops(nodes, home_, true);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const KernelReduction& reduction = request_.reductions[i];
    std::vector<TileValue>& state = states[i];
    if (request_.accumulates) {
      for (size_t part = 0; part < state.size(); ++part) {
        const AxisIndices own = Restrict(meaning_.node(nodes[i]).first_result, home_);
        const TileValue whole = Broadcast(state[part], ShapeOf(own));
        state[part] = Op("mov", {whole}, whole.dtype);
      }
      Scope body;
      body.times = scope().times;
      body.positions = scope().positions;
      Open(std::move(body), "if not %fresh {");
      ReducerEmitter reducer = ReducerOf(nodes[i], home_);
      Overwrite(writer(), state, reducer.Merge(LoadState(reduction, grid_.part), state));
      Close();
      Line("sync");  // another thread may have read what this one writes
    }
    StoreState(reduction, state, grid_.part);
  }
}

void Emitter::EmitFinish() {
  for (const KernelReduction& reduction : request_.reductions) {
    ReducerEmitter reducer = ReducerOf(reduction.node, home_);
    const int64_t parts = reduction.state[0].parts;
    const std::vector<TileValue> state = LoadState(reduction, "0");
    if (parts > 1) {
      const std::string part = NewName();
      Scope body;
      body.times = scope().times * static_cast<double>(parts);
      Open(std::move(body), fmt::format("for {} = 1 to {} {{", part, parts));
      Overwrite(writer(), state, reducer.Merge(state, LoadState(reduction, part)));
      Close();
    }
    const uint32_t first = meaning_.node(reduction.node).first_result;
    Remember(reduction.node, home_, reducer.Finish(state, meaning_.value(first).dtype));
  }
  EmitValues();
}

void Emitter::EmitMerge() {
  for (size_t i = 0; i < request_.reductions.size(); ++i) {
    ReducerEmitter reducer = ReducerOf(request_.reductions[i].node, home_);
    const auto own = LoadState(request_.reductions[i], grid_.part);
    const auto merged = reducer.Merge(own, LoadState(request_.incoming[i], grid_.part));
    Line("sync");  // another thread may have read what this one writes
    StoreState(request_.reductions[i], merged, grid_.part);
  }
}

// ---- text -------------------------------------------------------------------------------------

KernelText Emitter::Emit() {
  const bool solves = request_.kind == KernelKind::kBegin || IsOfPanels(request_.kind);
  for (const auto& [v, tensor] : request_.stores) {
    if (!solves) FindWanted(meaning_, request_, v, &wanted_);
  }
  for (const KernelReduction& reduction : request_.reductions) {
    if (request_.kind != KernelKind::kPartial) wanted_.erase(reduction.node);
  }
  OpenGrid();
  switch (request_.kind) {
    case KernelKind::kValues:
      EmitValues();
      break;
    case KernelKind::kPartial:
      EmitPartial();
      break;
    case KernelKind::kFinish:
      EmitFinish();
      break;
    case KernelKind::kMerge:
      EmitMerge();
      break;
    case KernelKind::kBegin:
    case KernelKind::kFactor:
    case KernelKind::kSubstitute:
    case KernelKind::kUpdate:
      SolveEmitter::EmitAll(*this);
      break;
  }
  if (NeedsBase(request_)) {
    memory_.params.push_back({KernelParam::Kind::kBase, *request_.shared, false, false, {}});
  }
  for (const auto& [axis, granule] : request_.ranges) {
    memory_.params.push_back({KernelParam::Kind::kLow, axis, false, false, {}});
    memory_.params.push_back({KernelParam::Kind::kHigh, axis, false, false, {}});
  }
  if (request_.accumulates)
    memory_.params.push_back({KernelParam::Kind::kFresh, 0, false, false, {}});
  KernelText out;
  out.name = request_.name;
  out.rank = most_positions_;
  out.cost = cost() + kBlockPrice * static_cast<double>(grid_.blocks);
  out.blocks = grid_.blocks;
  if (most_positions_ <= rank())
    out.text = HeaderOf(meaning_, request_.name, memory_, grid_.text) + memory_.views +
               scopes()[0].text + "}\n";
  out.params = std::move(memory_.params);
  return out;
}

// Dimensions that the tiles of a kernel have in any case: those of the grid, and those of a loop.
static int LeastRank(const Meaning& meaning, const KernelRequest& request) {
  size_t inner = 0;
  std::set<size_t> wanted;
  if (request.kind == KernelKind::kPartial) {
    inner = meaning.ReductionOf(request.reductions[0].node)->axes.size();
  } else if (IsOfPanels(request.kind)) {
    inner = PositionsOfPanels(meaning, request);
  } else if (request.kind == KernelKind::kValues) {
    for (const auto& [v, tensor] : request.stores) FindWanted(meaning, request, v, &wanted);
  }
  for (const size_t n : wanted) {
    const Reduction& reduction = *meaning.ReductionOf(n);
    if (!IsUnrolled(reduction)) inner = std::max(inner, reduction.axes.size());
  }
  const size_t rank = std::max<size_t>(request.axes.size() + inner, 1);
  return static_cast<int>(std::min<size_t>(rank, kMaxRank));
}

KernelText MakeKernel(const Meaning& meaning, const KernelRequest& request, Machine machine) {
  KernelText out;
  out.rank = LeastRank(meaning, request);
  for (int rank = 0; rank < out.rank && out.rank <= kMaxRank;) {
    rank = out.rank;
    out = Emitter(meaning, request, machine, rank).Emit();
  }
  return out;
}

InlineVector<uint32_t, 16> NumberBuffers(KernelRequest* request) {
  InlineVector<uint32_t, 16> out;
  const auto number = [&](uint32_t* buffer) {
    const auto found = std::find(out.begin(), out.end(), *buffer);
    const auto at = static_cast<uint32_t>(found - out.begin());
    if (found == out.end()) out.push_back(*buffer);
    *buffer = at;
  };
  const auto number_all = [&](KernelTensor* tensor) {
    number(&tensor->buffer);
    if (tensor->replaced) number(&*tensor->replaced);
  };
  for (auto& [v, tensor] : request->stores) number_all(&tensor);
  for (auto* const reductions : {&request->reductions, &request->incoming}) {
    for (KernelReduction& reduction : *reductions) {
      for (KernelTensor& tensor : reduction.state) number_all(&tensor);
    }
  }
  for (auto& [v, tensor] : request->known) number_all(&tensor);
  return out;
}

const KernelText& KernelCache::Get(const KernelRequest& request) {
  const auto found = kernels_.find(request);
  if (found != kernels_.end()) return found->second;
  return kernels_.emplace(request, MakeKernel(meaning_, request, machine_)).first->second;
}

// Of what tells most requests apart; the comparison does the rest.
size_t KernelCache::Hash::operator()(const KernelRequest& request) const {
  size_t hash = std::hash<std::string>()(request.name);
  const auto mix = [&](uint64_t x) { hash = (hash ^ x) * 0x9E3779B97F4A7C15; };
  for (const auto& [axis, chunk] : request.ranges)
    mix(uint64_t{axis} * 0x10001 + static_cast<uint64_t>(chunk));
  for (const auto& [value, tensor] : request.known) {
    mix(value);
    for (const int64_t extent : tensor.extents) mix(static_cast<uint64_t>(extent));
  }
  return hash;
}

}  // namespace tarsia
