// The kernels of `cholesky` and `triangular_solve`. All of them read and write the result where it
// is in memory.
#include "planner/emit_solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "planner/matrix_product.h"

namespace tarsia {
namespace {

constexpr int64_t kSubPanel = 16;  // columns that are substituted one by one
constexpr double kSubPanels = kPanel / double{kSubPanel};
constexpr int64_t kRightTile = 64;  // right-hand sides of a block
constexpr double kPivotPrice = 8;
constexpr double kDivisionPrice = 4;

// A kernel that needs more positions is written again, or not at all.
int Limited(int position) { return std::min(position, kMaxRank - 1); }

std::string PlaceText(int rank, const std::vector<std::pair<int, std::string>>& at) {
  std::vector<std::string> out(static_cast<size_t>(rank), "0");
  for (const auto& [position, index] : at) {
    if (position < rank) out[static_cast<size_t>(position)] = index;
  }
  return fmt::format("[{}]", fmt::join(out, ", "));
}

}  // namespace

std::vector<int64_t> TilesOfPanels(const Meaning& meaning, const KernelRequest& request) {
  const Solve& solve = *meaning.SolveOf(meaning.NodeOf(request.stores[0].first));
  std::vector<int64_t> tiles(request.axes.size(), 1);
  size_t longest = tiles.size();
  for (size_t i = 0; i < tiles.size(); ++i) {
    const uint32_t axis = request.axes[i];
    if (meaning.HasAxis(solve.matrix, axis)) continue;
    const bool longer = longest == tiles.size() ||
                        meaning.axis(axis).extent > meaning.axis(request.axes[longest]).extent;
    if (longer) longest = i;
  }
  if (longest == tiles.size()) return tiles;
  const uint32_t axis = request.axes[longest];
  const int64_t extent = std::max<int64_t>(meaning.axis(axis).extent, 1);
  tiles[longest] =
      std::min(kRightTile, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))));
  const auto range = request.ranges.find(axis);
  if (range != request.ranges.end()) {
    tiles[longest] = std::min(tiles[longest], range->second & -range->second);
  }
  return tiles;
}

size_t PositionsOfPanels(const Meaning& meaning, const KernelRequest& request) {
  const Solve& solve = *meaning.SolveOf(meaning.NodeOf(request.stores[0].first));
  return solve.factors && request.kind != KernelKind::kFactor ? 3 : 2;
}

SolveEmitter::SolveEmitter(Emitter& emitter, uint32_t value, const KernelTensor& result)
    : e_(emitter),
      solve_(*emitter.meaning_.SolveOf(emitter.meaning_.NodeOf(value))),
      result_(result),
      type_(result.dtype),
      extent_(emitter.meaning_.axis(solve_.columns).extent),
      low_(fmt::format("%{}_low", emitter.meaning_.axis(solve_.columns).name)),
      high_(fmt::format("%{}_high", emitter.meaning_.axis(solve_.columns).name)) {}

double SolveEmitter::panels() const {
  const int64_t count = (extent_ + kPanel - 1) / kPanel;
  return static_cast<double>(count);
}

// ---- parts ------------------------------------------------------------------------------------

AxisIndex SolveEmitter::Along(uint32_t axis, int64_t tile, int position, std::string base) {
  Dimension dimension;
  dimension.axis = axis;
  dimension.extent = e_.meaning_.axis(axis).extent;
  dimension.tile = tile;
  dimension.position = Limited(position);
  dimension.base = std::move(base);
  dimension.depth = e_.scopes().size() - 1;
  e_.dimensions_.push_back(std::move(dimension));
  return {static_cast<int>(e_.dimensions_.size()) - 1, 0};
}

int SolveEmitter::AddPositions(int count) {
  const int first = e_.scope().positions;
  e_.scope().positions += count;
  e_.most_positions_ = std::max(e_.most_positions_, first + count);
  return first;
}

std::string SolveEmitter::AddTiles(const std::string& count, double average) {
  const std::string block = e_.NewName();
  const std::string out = e_.NewName();
  e_.Line(fmt::format("{} = block.x", block));
  e_.Line(fmt::format("{} = mov {} / ({}) : i64", out, block, e_.grid_.text));
  e_.grid_.text += " * " + count;
  e_.scope().times *= average;
  return out;
}

void SolveEmitter::OpenLoop(const std::string& head, double trips) {
  Scope body;
  body.times = e_.scope().times * trips;
  body.positions = e_.scope().positions;
  body.elements = e_.scope().elements;
  e_.Open(std::move(body), head);
}

AxisIndices SolveEmitter::At(const AxisIndex& rows, const AxisIndex& columns) const {
  AxisIndices out = e_.home_;
  out[solve_.columns] = columns;
  if (solve_.factors) out[solve_.rows] = rows;
  return out;
}

TileValue SolveEmitter::Matrix(const AxisIndex& rows, const AxisIndex& columns) {
  if (solve_.factors) return Load(At(rows, columns));
  AxisIndices indices = e_.home_;
  indices[solve_.rows] = rows;
  indices[solve_.columns] = columns;
  return e_.Value(solve_.matrix, indices);
}

TileValue SolveEmitter::Products(const TileValue& a, const TileShape& of_a, const TileValue& b,
                                 const TileShape& of_b, int position) {
  position = Limited(position);
  auto product = MatrixProduct::Find(of_a, of_b, 1u << position);
  if (!product) return e_.Across("reduce.sum", Op("mul", {a, b}), 1u << position);
  product->Begin(e_.writer(), type_);
  product->Add(e_.writer(), a, b);
  return product->Sums(e_.writer());
}

TileValue SolveEmitter::Shared(const TileShape& shape) {
  return e_.Make(fmt::format("alloc.shared : {} {}", DTypeName(type_), e_.ShapeText(shape)), type_,
                 shape);
}

TileValue SolveEmitter::LoadShared(const TileValue& shared, const Places& at) {
  TileShape shape = shared.shape;
  for (const auto& [position, index] : at) shape[Limited(position)] = 1;
  return e_.Make(
      fmt::format("load {}{} : {}", shared.name, PlaceText(e_.rank(), at), e_.ShapeText(shape)),
      type_, shape);
}

void SolveEmitter::StoreShared(const TileValue& shared, const TileValue& tile, const Places& at) {
  TileShape shape = shared.shape;
  for (const auto& [position, index] : at) shape[Limited(position)] = 1;
  const TileValue whole = e_.Broadcast(tile, shape);
  e_.Line(fmt::format("store {}{}, {}", shared.name, PlaceText(e_.rank(), at), whole.name));
  e_.Pay(shape, 1);
}

// ---- kernels ----------------------------------------------------------------------------------

void SolveEmitter::EmitAll(Emitter& emitter) {
  for (const auto& [v, tensor] : emitter.request_.stores) {
    SolveEmitter solve(emitter, v, tensor);
    switch (emitter.request_.kind) {
      case KernelKind::kBegin:
        solve.EmitBegin();
        break;
      case KernelKind::kFactor:
        solve.EmitFactor();
        break;
      case KernelKind::kSubstitute:
        solve.EmitSubstitute();
        break;
      case KernelKind::kUpdate:
        solve.EmitUpdate();
        break;
      case KernelKind::kValues:
      case KernelKind::kPartial:
      case KernelKind::kFinish:
      case KernelKind::kMerge:
        break;
    }
  }
}

// What is solved, at the place of the result.
void SolveEmitter::EmitBegin() {
  AxisIndices indices = e_.home_;
  TileValue out;
  if (solve_.factors) {
    const TileValue row = e_.IndexOf(indices.at(solve_.rows));
    const TileValue column = e_.IndexOf(indices.at(solve_.columns));
    const TileValue below = e_.Op("ge", {row, column}, kBoolType);
    out = Op("select", {below, e_.Value(solve_.right, indices), Number("0")});
  } else {
    indices[solve_.rows] = indices.at(solve_.columns);
    out = e_.Value(solve_.right, indices);
  }
  e_.Line("sync");  // the result may take the memory of what another thread reads
  e_.Store(result_, out, e_.home_);
}

// Column by column: each divides by the root of its pivot, and its products are subtracted from the
// columns behind it. The tile is symmetric, so that a column is a row of it as well. A pivot that
// is not above 0 becomes a NaN, which goes on to all behind it.
void SolveEmitter::EmitFactor() {
  const int row = AddPositions(2);
  const int column = row + 1;
  const AxisIndex rows = Along(solve_.rows, kPanel, row, low_);
  const AxisIndex columns = Along(solve_.columns, kPanel, column, low_);
  e_.scope().times *= panels();
  const TileValue lower = Load(At(rows, columns));
  const TileValue turned = Load(At(columns, rows));
  const TileValue row_number = e_.Iota(Limited(row), kPanel, kI32);
  const TileValue column_number = e_.Iota(Limited(column), kPanel, kI32);
  const TileValue below = e_.Op("ge", {row_number, column_number}, kBoolType);
  const TileValue rest = Op("select", {below, lower, turned});
  const TileValue work = Shared(rest.shape);
  const TileValue made = Shared(rest.shape);
  StoreShared(made, rest, {});
  const std::string c = e_.NewName();
  OpenLoop(fmt::format("for {}: i64 = 0 to {} - {} {{", c, high_, low_), kPanel);
  StoreShared(work, rest, {});
  e_.Line("sync");
  const TileValue pivot = LoadShared(work, {{row, c}, {column, c}});
  const TileValue good = e_.Op("gt", {pivot, Number("0")}, kBoolType);
  const TileValue nan = e_.Fill("nan", type_, TileWriter::UnitShape());
  const TileValue root = Op("select", {good, e_.Op("sqrt", {pivot}, type_, kPivotPrice), nan});
  const TileValue left =
      e_.Op("div", {LoadShared(work, {{column, c}}), root}, type_, kDivisionPrice);
  const TileValue right = e_.Op("div", {LoadShared(work, {{row, c}}), root}, type_, kDivisionPrice);
  // An expression takes the type of the tile beside it; a name has one of its own.
  const std::string number = fmt::format("{} + 0", c);
  const TileValue own = e_.Op("eq", {row_number, TileWriter::Literal(number, kI32)}, kBoolType);
  StoreShared(made, Op("select", {own, root, left}), {{column, c}});
  Op("fma", {Op("neg", {left}), right, rest}, rest.name);
  e_.Line("sync");
  e_.Close();
  const TileValue out = Op("select", {below, LoadShared(made, {}), Number("0")});
  e_.Store(result_, out, At(rows, columns));
}

// The solved axis by parts of the panel: the products of those before it are subtracted from each,
// which then is solved index by index.
void SolveEmitter::EmitSubstitute() {
  SubPanel part;
  if (solve_.factors) {
    const int position = AddPositions(1);
    const std::string count =
        fmt::format("max(ceildiv({} - {}, {}), 1)", extent_, high_, kRightTile);
    const std::string tile = AddTiles(count, panels() / 2 * kPanel / kRightTile);
    const std::string base = e_.NewName();
    e_.Line(fmt::format("{} = mov {} + {} * {} : i64", base, high_, tile, kRightTile));
    part.rows = Along(solve_.rows, kRightTile, position, base);
  }
  part.solved = AddPositions(2);
  part.inner = part.solved + 1;
  e_.scope().times *= panels();
  part.panel = Along(solve_.columns, kPanel, part.inner, low_);
  part.number = e_.Iota(Limited(part.inner), kPanel, kI32);
  TileShape shape = e_.ShapeOf(At(part.rows, part.panel));
  shape[Limited(part.inner)] = 1;
  shape[Limited(part.solved)] = kSubPanel;
  part.work = Shared(shape);
  part.made = Shared(shape);
  part.first = e_.NewName();
  std::string head =
      fmt::format("for {}: i64 = {} to {} step {} {{", part.first, low_, high_, kSubPanel);
  if (solve_.upper) {
    const std::string last = e_.NewName();
    e_.Line(fmt::format("{} = mov {} + (ceildiv({} - {}, {}) - 1) * {} : i64", last, low_, high_,
                        low_, kSubPanel, kSubPanel));
    head = fmt::format("for {}: i64 = {} to {} - 1 step -{} {{", part.first, last, low_, kSubPanel);
  }
  OpenLoop(head, kSubPanels);
  SubstitutePart(part);
  e_.Close();
}

// What the panel has solved before the part; zero in place of the rest.
TileValue SolveEmitter::Solved(const TileValue& tile, const SubPanel& part) {
  const auto keep = [&](const TileValue& of, std::string_view mnemonic, const std::string& bound) {
    const TileValue holds =
        e_.Op(mnemonic, {part.number, TileWriter::Literal(bound, kI32)}, kBoolType);
    return Op("select", {holds, of, Number("0")});
  };
  if (!solve_.upper) return keep(tile, "lt", fmt::format("{} - {}", part.first, low_));
  const TileValue out = keep(tile, "ge", fmt::format("{} + {} - {}", part.first, kSubPanel, low_));
  return keep(out, "lt", fmt::format("{} - {}", high_, low_));
}

void SolveEmitter::SubstitutePart(const SubPanel& part) {
  const AxisIndex own = Along(solve_.columns, kSubPanel, part.solved, part.first);
  TileShape square = TileWriter::UnitShape();
  square[Limited(part.solved)] = kSubPanel;
  square[Limited(part.inner)] = kPanel;
  const TileValue a = Solved(Matrix(own, part.panel), part);
  const TileValue x = Solved(Load(At(part.rows, part.panel)), part);
  const TileValue products =
      Products(a, square, x, e_.ShapeOf(At(part.rows, part.panel)), part.inner);
  const TileValue rest = Op("sub", {Load(At(part.rows, own)), products});
  StoreShared(part.made, rest, {});
  const std::string c = e_.NewName();
  const std::string end = fmt::format("min({} + {}, {})", part.first, kSubPanel, high_);
  OpenLoop(solve_.upper
               ? fmt::format("for {}: i64 = {} - 1 to {} - 1 step -1 {{", c, end, part.first)
               : fmt::format("for {}: i64 = {} to {} {{", c, part.first, end),
           kSubPanel);
  StoreShared(part.work, rest, {});
  e_.Line("sync");
  const Places at = {{part.solved, fmt::format("{} - {}", c, part.first)}};
  const AxisIndex column = Along(solve_.columns, 1, part.inner, c);
  const AxisIndex row = Along(solve_.rows, 1, part.solved, c);
  const TileValue made =
      e_.Op("div", {LoadShared(part.work, at), Matrix(row, column)}, type_, kDivisionPrice);
  StoreShared(part.made, made, at);
  Op("fma", {Op("neg", {Matrix(own, column)}), made, rest}, rest.name);
  e_.Line("sync");
  e_.Close();
  e_.Store(result_, LoadShared(part.made, {}), At(part.rows, own));
  e_.Line("sync");
}

void SolveEmitter::EmitUpdate() {
  const std::string before = fmt::format("({} / {})", low_, kPanel);
  const std::string behind = fmt::format("ceildiv({} - {}, {})", extent_, high_, kPanel);
  const std::string count = fmt::format("max({}, 1)", solve_.upper ? before : behind);
  const double tiles = (panels() - 1) / 2;
  if (solve_.factors) return EmitUpdateOfFactor(count);
  const std::string tile = AddTiles(count, tiles);
  e_.scope().times *= panels();
  const int row = AddPositions(2);
  const std::string base = e_.NewName();
  e_.Line(solve_.upper ? fmt::format("{} = mov {} - ({} + 1) * {} : i64", base, low_, tile, kPanel)
                       : fmt::format("{} = mov {} + {} * {} : i64", base, high_, tile, kPanel));
  const AxisIndex panel = Along(solve_.columns, kPanel, row + 1, low_);
  const AxisIndex own = Along(solve_.columns, kPanel, row, base);
  TileShape square = TileWriter::UnitShape();
  square[Limited(row)] = square[Limited(row + 1)] = kPanel;
  TileValue a = Matrix(own, panel);
  if (solve_.upper && extent_ % kPanel != 0) {
    const TileValue number = e_.Iota(Limited(row + 1), kPanel, kI32);
    const std::string end = fmt::format("{} - {}", high_, low_);
    const TileValue inside = e_.Op("lt", {number, TileWriter::Literal(end, kI32)}, kBoolType);
    a = Op("select", {inside, a, Number("0")});
  }
  Subtract(a, square, {}, panel, {}, own, row + 1);
}

// Of the tiles behind the panel those on and below the diagonal.
void SolveEmitter::EmitUpdateOfFactor(const std::string& count) {
  const std::string tile = AddTiles(fmt::format("{0} * {0}", count), (panels() - 1) * panels() / 6);
  e_.scope().times *= panels();
  const int row = AddPositions(3);
  const std::string down = e_.NewName();
  const std::string right = e_.NewName();
  e_.Line(fmt::format("{} = mov {} / {} : i64", down, tile, count));
  e_.Line(fmt::format("{} = mov {} % {} : i64", right, tile, count));
  OpenLoop(fmt::format("if {} >= {} {{", down, right), 1);
  const auto base = [&](const std::string& number) {
    return fmt::format("{} + {} * {}", high_, number, kPanel);
  };
  const AxisIndex panel = Along(solve_.columns, kPanel, row + 2, low_);
  const AxisIndex rows = Along(solve_.rows, kPanel, row, base(down));
  const AxisIndex columns = Along(solve_.columns, kPanel, row + 1, base(right));
  Subtract(Matrix(rows, panel), e_.ShapeOf(At(rows, panel)), columns, panel, rows, columns,
           row + 2);
  e_.Close();
}

// Of a tile of the result the products of a tile of the matrix, and of the panel in `with` rows.
void SolveEmitter::Subtract(const TileValue& a, const TileShape& of_a, const AxisIndex& with,
                            const AxisIndex& panel, const AxisIndex& rows, const AxisIndex& columns,
                            int inner) {
  const AxisIndices solved = At(with, panel);
  const TileValue products = Products(a, of_a, Load(solved), e_.ShapeOf(solved), inner);
  const TileValue out = Op("sub", {Load(At(rows, columns)), products});
  e_.Line("sync");  // another thread may have read what this one writes
  e_.Store(result_, out, At(rows, columns));
}

}  // namespace tarsia
