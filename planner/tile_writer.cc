#include "planner/tile_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tarsia {
void TileWriter::Line(const std::string& text) {
  scope().text.append(2 * scopes_.size(), ' ').append(text).append("\n");
}

void TileWriter::Open(Scope body, std::string head) {
  body.head = std::move(head);
  scopes_.push_back(std::move(body));
}

void TileWriter::Close() {
  const Scope body = std::move(scopes_.back());
  scopes_.pop_back();
  Line(body.head);
  scope().text += body.text;
  Line("}");
}

void TileWriter::AtDepth(size_t depth, const std::function<void()>& write) {
  std::vector<Scope> waiting;
  for (; scopes_.size() > depth + 1; scopes_.pop_back()) {
    waiting.push_back(std::move(scopes_.back()));
  }
  write();
  for (; !waiting.empty(); waiting.pop_back()) scopes_.push_back(std::move(waiting.back()));
}

TileShape TileWriter::UnitShape() {
  TileShape out{};
  out.fill(1);
  return out;
}

std::string TileWriter::ShapeText(const TileShape& shape) const {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.begin() + rank_, ", "));
}

TileValue TileWriter::Op(std::string_view mnemonic, const std::vector<TileValue>& operands,
                         DType result, double price, std::string_view into) {
  TileValue out{into.empty() ? NewName() : std::string(into), result, UnitShape()};
  std::vector<std::string> names;
  for (const TileValue& operand : operands) {
    names.push_back(operand.name);
    if (operand.IsLiteral()) continue;
    for (int i = 0; i < kMaxRank; ++i) out.shape[i] = std::max(out.shape[i], operand.shape[i]);
  }
  Line(fmt::format("{} = {} {}", out.name, mnemonic, fmt::join(names, ", ")));
  Pay(out.shape, price);
  return out;
}

TileValue TileWriter::Fill(std::string_view literal, DType dtype, const TileShape& shape) {
  TileValue out{NewName(), dtype, shape};
  Line(fmt::format("{} = fill {} : {} {}", out.name, literal, DTypeName(dtype), ShapeText(shape)));
  return out;
}

TileValue TileWriter::Cast(const TileValue& tile, DType dtype) {
  if (tile.dtype == dtype) return tile;
  TileValue out{NewName(), dtype, tile.shape};
  Line(fmt::format("{} = cast {} : {}", out.name, tile.name, DTypeName(dtype)));
  Pay(out.shape, 1);
  return out;
}

TileValue TileWriter::CastWrapped(const TileValue& tile, DType dtype) {
  if (tile.dtype == dtype) return tile;
  return Make(fmt::format("cast {} wrap : {}", tile.name, DTypeName(dtype)), dtype, tile.shape);
}

TileValue TileWriter::Broadcast(const TileValue& tile, const TileShape& shape) {
  if (tile.shape == shape) return tile;
  TileValue out{NewName(), tile.dtype, shape};
  Line(fmt::format("{} = broadcast {} : {}", out.name, tile.name, ShapeText(shape)));
  return out;
}

TileValue TileWriter::Iota(int position, int64_t extent, DType dtype) {
  TileValue out{NewName(), dtype, UnitShape()};
  out.shape[position] = extent;
  Line(fmt::format("{} = iota axis {} : {} {}", out.name, position, DTypeName(dtype),
                   ShapeText(out.shape)));
  return out;
}

void TileWriter::Pay(const TileShape& shape, double price) {
  for (const int64_t extent : shape) price *= static_cast<double>(extent);
  cost_ += price * scope().times;
}

TileValue TileWriter::Make(std::string_view text, DType dtype, const TileShape& shape) {
  TileValue out{NewName(), dtype, shape};
  Line(fmt::format("{} = {}", out.name, text));
  Pay(shape, 1);
  return out;
}

TileValue TileWriter::Swap(const TileValue& tile, int a, int b) {
  if (tile.shape[a] == 1 && tile.shape[b] == 1) return tile;
  std::vector<int> order(rank_);
  std::iota(order.begin(), order.end(), 0);
  TileShape shape = tile.shape;
  std::swap(shape[a], shape[b]);
  if (std::max(a, b) < rank_) std::swap(order[a], order[b]);
  return Make(fmt::format("permute {} order [{}]", tile.name, fmt::join(order, ", ")), tile.dtype,
              shape);
}

std::array<TileValue, 2> TileWriter::TopK(const TileValue& tile, int64_t count, int position,
                                          bool smallest) {
  constexpr double kSelectionPrice = 4;
  TileValue best{NewName(), tile.dtype, tile.shape};
  best.shape[position] = count;
  const TileValue index{NewName(), kI32, best.shape};
  Line(fmt::format("{}, {} = topk {}, {} axis {}{}", best.name, index.name, tile.name, count,
                   position, smallest ? " smallest" : ""));
  Pay(tile.shape, kSelectionPrice);
  return {best, index};
}

TileValue TileWriter::Across(std::string_view mnemonic, const TileValue& tile, uint32_t positions) {
  std::vector<int> axes;
  TileValue out = tile;
  for (int i = 0; i < kMaxRank; ++i) {
    if ((positions >> i & 1) == 0 || tile.shape[i] == 1) continue;
    axes.push_back(i);
    out.shape[i] = 1;
  }
  if (axes.empty()) return tile;
  out.name = NewName();
  Line(fmt::format("{} = {} {} axes [{}] keepdims", out.name, mnemonic, tile.name,
                   fmt::join(axes, ", ")));
  Pay(tile.shape, 1);
  return out;
}

}  // namespace tarsia
