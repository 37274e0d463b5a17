// `topk`: the k largest elements so far and their indices.
//
// Elements behind all others (NaN; of integers those that are the least number of the type) are
// never *known*: the state has no index for them. When all elements were seen, those that are
// missing are the elements with the lowest indices that are not known, so they need not be kept.
//
// In a loop the state lies along the position of the reduced axis, where a tile's best elements are
// found; in memory it lies along the axis of the chosen elements.
#include <fmt/format.h>

#include "planner/emit_reducer.h"

namespace tarsia {
namespace {

int64_t ElementsOf(const TileShape& shape) {
  int64_t out = 1;
  for (const int64_t extent : shape) out *= extent;
  return out;
}

}  // namespace

std::string ReducerEmitter::Shared(DType dtype, const TileShape& shape) {
  std::string name = writer_.NewName();
  writer_.Line(
      fmt::format("{} = alloc.shared : {} {}", name, DTypeName(dtype), writer_.ShapeText(shape)));
  return name;
}

// A position of a tile: `index` along one dimension, 0 along the others.
std::string ReducerEmitter::At(int position, const std::string& index) const {
  std::vector<std::string> at(writer_.rank(), "0");
  if (position < writer_.rank()) at[position] = index;
  return fmt::format("[{}]", fmt::join(at, ", "));
}

TileValue ReducerEmitter::Known(const TileValue& best, const TileValue& index) {
  if (type_.IsFloat()) return Test("ge", {index, TileWriter::Literal("0", index.dtype)});
  return Test("ne", {best, Number(Extreme(true))});
}

void ReducerEmitter::BeginTop(TileShape shape, const TileShape& narrow) {
  narrow_ = narrow;
  shape[place_.chosen] = 1;
  shape[place_.lane] = place_.count;
  state_.push_back(writer_.Fill(NothingYet(), type_, shape));
  state_.push_back(writer_.Fill(kNoIndex, kI64, shape));
}

void ReducerEmitter::StepTop(const TileValue& x, const TileValue* inside,
                             const std::string& number) {
  // The instruction tells 0 and -0 apart.
  TileValue element = type_.IsFloat() ? Op("add", {x, Number("0")}) : x;
  element = writer_.Broadcast(Masked(element, inside, NothingYet()), narrow_);
  const int64_t tile = narrow_[place_.lane];
  const auto [best, at] = writer_.TopK(element, place_.count, place_.lane);
  const TileValue known = Known(best, at);
  const std::string first = fmt::format("({}) * {}", number, tile);
  const TileValue index =
      writer_.Op("add", {writer_.Cast(at, kI64), TileWriter::Literal(first, kI64)}, kI64);
  const Tiles found = {
      Op("select", {known, best, Number(NothingYet())}),
      writer_.Op("select", {known, index, TileWriter::Literal(kNoIndex, kI64)}, kI64)};
  const Tiles next =
      place_.descending ? MergeAlongLane(found, state_) : MergeAlongLane(state_, found);
  Into(0, "mov", {next[0]});
  Into(1, "mov", {next[1]});
}

std::vector<TileValue> ReducerEmitter::MergeAlongLane(const Tiles& a, const Tiles& b) {
  // Both go to shared memory, one behind the other, the indices as one row.
  const TileShape shape = a[0].shape;
  TileShape both = shape;
  both[place_.lane] = 2 * place_.count;
  const int64_t size = ElementsOf(shape);
  const auto row = [&](const TileValue& tile) {
    return writer_.Make(fmt::format("reshape {} : [{}]", tile.name, size), tile.dtype, shape).name;
  };
  const std::string values = Shared(type_, both);
  writer_.Line(fmt::format("store {}{}, {}", values, At(0, "0"), a[0].name));
  writer_.Line(fmt::format("store {}{}, {}", values,
                           At(place_.lane, fmt::format("{}", place_.count)), b[0].name));
  const std::string indices = writer_.NewName();
  writer_.Line(fmt::format("{} = alloc.shared : i64 [{}]", indices, 2 * size));
  writer_.Line(fmt::format("store {}[0], {}", indices, row(a[1])));
  writer_.Line(fmt::format("store {}[{}], {}", indices, size, row(b[1])));
  writer_.Line("sync");
  const TileValue all = writer_.Make(
      fmt::format("load {}{} : {}", values, At(0, "0"), writer_.ShapeText(both)), type_, both);
  const auto [best, at] = writer_.TopK(all, place_.count, place_.lane);
  // The element's place in the row of indices: that of the first of its state, and its number.
  const std::string number = writer_.NewName();
  writer_.Line(fmt::format("{} = iota axis 0 : i32 [{}]", number, size));
  TileValue place =
      writer_.Make(fmt::format("reshape {} : {}", number, writer_.ShapeText(shape)), kI32, shape);
  const auto add = [&](std::string_view mnemonic, const TileValue& operand) {
    place = writer_.Op(mnemonic, {place, operand}, kI32);
  };
  add("sub", writer_.Iota(place_.lane, place_.count, kI32));
  add("add", at);
  const TileValue second =
      Test("ge", {at, TileWriter::Literal(fmt::format("{}", place_.count), kI32)});
  const std::string apart = fmt::format("{}", size - place_.count);
  add("add",
      writer_.Op("mul", {writer_.Cast(second, kI32), TileWriter::Literal(apart, kI32)}, kI32));
  const std::string taken = writer_.NewName();
  writer_.Line(fmt::format("{} = gather {}, {}", taken, indices, row(place)));
  const TileValue index =
      writer_.Make(fmt::format("reshape {} : {}", taken, writer_.ShapeText(shape)), kI64, shape);
  writer_.Line("sync");
  const TileValue known = Known(best, at);
  return {Op("select", {known, best, Number(NothingYet())}),
          writer_.Op("select", {known, index, TileWriter::Literal(kNoIndex, kI64)}, kI64)};
}

std::vector<TileValue> ReducerEmitter::CloseTop() {
  return {writer_.Swap(state_[0], place_.chosen, place_.lane),
          writer_.Swap(state_[1], place_.chosen, place_.lane)};
}

std::vector<TileValue> ReducerEmitter::MergeTop(const Tiles& a, const Tiles& b) {
  const auto turn = [&](const Tiles& state) {
    return Tiles{writer_.Swap(state[0], place_.chosen, place_.lane),
                 writer_.Swap(state[1], place_.chosen, place_.lane)};
  };
  return turn(MergeAlongLane(turn(a), turn(b)));
}

std::vector<TileValue> ReducerEmitter::FinishTop(const Tiles& state, DType result) {
  // With known indices J[0] < J[1] < .., the missing index number r is r + |{j: J[j] - j <= r}|.
  const TileShape& shape = state[1].shape;
  TileShape one = shape;
  one[place_.chosen] = 1;
  const auto number = [&](const std::string& text) { return TileWriter::Literal(text, kI64); };
  const auto op = [&](std::string_view mnemonic, const Tiles& operands) {
    return writer_.Op(mnemonic, operands, kI64);
  };
  const TileValue known = Test("ne", {state[1], number(std::string(kNoIndex))});
  const TileValue one_if_known = writer_.Cast(writer_.Cast(known, kI32), kI64);
  const TileValue count = writer_.Across("reduce.sum", one_if_known, 1u << place_.chosen);
  const TileValue slot = writer_.Iota(place_.chosen, place_.count, kI64);
  const TileValue rank = writer_.Broadcast(op("sub", {slot, count}), shape);
  const auto [sorted, unused] = writer_.TopK(state[1], place_.count, place_.chosen, true);
  const std::string shared = Shared(kI64, shape);
  writer_.Line(fmt::format("store {}{}, {}", shared, At(0, "0"), sorted.name));
  writer_.Line("sync");
  const TileValue index = op("mov", {rank});
  const std::string j = writer_.NewName();
  Scope body;
  body.times = writer_.scope().times * static_cast<double>(place_.count);
  writer_.Open(std::move(body), fmt::format("for {}: i64 = 0 to {} {{", j, place_.count));
  const TileValue next = writer_.Make(
      fmt::format("load {}{} : {}", shared, At(place_.chosen, j), writer_.ShapeText(one)), kI64,
      one);
  const TileValue before = Test("le", {op("sub", {next, number(j)}), rank});
  const TileValue more = writer_.Cast(writer_.Cast(before, kI32), kI64);
  writer_.Op("add", {index, more}, kI64, 1, index.name);
  writer_.Close();
  writer_.Line("sync");
  return {writer_.Cast(state[0], result), op("select", {known, state[1], index})};
}

}  // namespace tarsia
