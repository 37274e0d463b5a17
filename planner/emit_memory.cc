// Loads and stores: views of tensors whose dimensions are those of the kernel's tiles.
#include <fmt/format.h>

#include <algorithm>

#include "planner/emitter.h"
#include "support/extents.h"

namespace tarsia {
namespace {

constexpr double kAccessPrice = 2;  // of an element, in additions
constexpr double kGatherPrice = 8;

}  // namespace

std::string KernelMemory::ParamOf(const KernelTensor& tensor, bool write) {
  const auto found = std::find_if(params.begin(), params.end(), [&](const KernelParam& param) {
    return param.kind == KernelParam::Kind::kTensor && param.id == tensor.buffer;
  });
  if (found != params.end()) {
    if (tensor.replaced) found->replaced = tensor.replaced;
    (write ? found->written : found->read) = true;
    return names.at(tensor.buffer);
  }
  params.push_back({KernelParam::Kind::kTensor, tensor.buffer, write, !write, tensor.replaced});
  types[tensor.buffer] = tensor.dtype.bits < 8 ? kU8 : tensor.dtype;
  return names[tensor.buffer] = "%" + tensor.name;
}

std::string KernelMemory::NameOf(const std::string& view, TileWriter& writer) {
  const auto [found, fresh] = made.try_emplace(view);
  if (fresh) {
    found->second = writer.NewName();
    views += fmt::format("  {} = {}\n", found->second, view);
  }
  return found->second;
}

// The dimension of the tile for each dimension in memory: that of its axis, or, for an axis whose
// index is a number, one in which the tile has extent 1, in the order of memory where possible.
std::vector<int> Emitter::Place(const KernelTensor& tensor, const AxisIndices& indices, bool part) {
  std::vector<int> out;
  uint32_t taken = 0;
  if (part) out.push_back(AxisIndex::kNumber);
  for (const uint32_t axis : tensor.axes) {
    const int dimension = indices.at(axis).dimension;
    out.push_back(dimension == AxisIndex::kNumber ? AxisIndex::kNumber
                                                  : dimensions_[dimension].position);
    if (out.back() != AxisIndex::kNumber) taken |= 1u << out.back();
  }
  int before = -1;
  for (int& position : out) {
    if (position == AxisIndex::kNumber) {
      int next = before + 1;
      while ((taken >> next & 1) != 0) ++next;
      if (next >= rank()) {  // none is free behind the one before
        next = 0;
        while ((taken >> next & 1) != 0) ++next;
      }
      position = next;
      taken |= 1u << next;
      most_positions_ = std::max(most_positions_, next + 1);
    }
    before = position;
  }
  return out;
}

std::string Emitter::ViewOf(const KernelTensor& tensor, const std::vector<int>& positions) {
  std::string& name = memory_.seen[{tensor.buffer, positions}];
  if (!name.empty()) return name;
  std::vector<int64_t> shape(rank(), 1);
  std::vector<int64_t> strides(rank(), 1);
  std::vector<int64_t> extents(tensor.extents.begin(), tensor.extents.end());
  if (tensor.parts > 0) extents.insert(extents.begin(), tensor.parts);
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    if (positions[i] >= rank()) continue;  // the kernel is made again with more dimensions
    shape[positions[i]] = extents[i];
    strides[positions[i]] = stride;
    stride *= extents[i];
  }
  std::string layout;
  if (stride != 0 && !std::is_sorted(positions.begin(), positions.end())) {
    layout = fmt::format(" strided(shape=[{}], strides=[{}])", fmt::join(shape, ", "),
                         fmt::join(strides, ", "));
  }
  const std::string view =
      fmt::format("view {} : global<{}>[{}]{}", memory_.names.at(tensor.buffer),
                  DTypeName(tensor.dtype), fmt::join(shape, ", "), layout);
  return name = memory_.NameOf(view, writer());
}

std::string Emitter::Position(const KernelTensor& tensor, const std::vector<int>& positions,
                              const AxisIndices& indices, std::string_view part) const {
  std::vector<std::string> at(rank(), "0");
  const size_t first = tensor.parts > 0 ? 1 : 0;
  if (first == 1 && positions[0] < rank()) at[positions[0]] = part;
  for (size_t i = 0; i < tensor.axes.size(); ++i) {
    const AxisIndex index = indices.at(tensor.axes[i]);
    const int position = positions[first + i];
    if (position >= rank()) continue;
    std::string text = index.dimension == AxisIndex::kNumber ? fmt::format("{}", index.shift)
                                                             : dimensions_[index.dimension].base;
    if (index.dimension != AxisIndex::kNumber && index.shift != 0) {
      text += fmt::format(" + {}", index.shift);
    }
    if (tensor.chunked[i]) text += fmt::format(" - %{}_low", meaning_.axis(tensor.axes[i]).name);
    if (tensor.shared[i]) text += fmt::format(" - %{}_base", meaning_.axis(tensor.axes[i]).name);
    at[position] = std::move(text);
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

TileValue Emitter::Load(const KernelTensor& tensor, const AxisIndices& indices,
                        std::string_view part) {
  memory_.ParamOf(tensor, false);
  const bool gathers = std::any_of(tensor.axes.begin(), tensor.axes.end(), [&](uint32_t axis) {
    return indices.at(axis).dimension == AxisIndex::kTile;
  });
  if (gathers) return LoadGathered(tensor, indices);
  if (const auto staged = LoadStaged(tensor, indices)) return *staged;
  const std::vector<int> positions = Place(tensor, indices, tensor.parts > 0);
  const std::string view = ViewOf(tensor, positions);
  TileValue out{NewName(), tensor.dtype, ShapeOf(indices)};
  Line(fmt::format("{} = load {}{} : {}", out.name, view,
                   Position(tensor, positions, indices, part), ShapeText(out.shape)));
  Pay(out.shape, kAccessPrice);
  return out;
}

// One index into all elements of the tensor, in the order of memory; -1 reads as zero.
TileValue Emitter::LoadGathered(const KernelTensor& tensor, const AxisIndices& indices) {
  TileValue flat;
  TileValue inside;
  std::string scalar = "0";
  int64_t stride = 1;
  for (size_t i = tensor.axes.size(); i-- > 0; stride *= tensor.extents[i]) {
    const AxisIndex index = indices.at(tensor.axes[i]);
    const ConcreteAxis& axis = meaning_.axis(tensor.axes[i]);
    std::string at = fmt::format("{}", index.shift);
    if (index.HasDimension()) at += " + " + dimensions_[index.dimension].base;
    if (tensor.chunked[i]) at += fmt::format(" - %{}_low", axis.name);
    if (tensor.shared[i]) at += fmt::format(" - %{}_base", axis.name);
    scalar += fmt::format(" + ({}) * {}", at, stride);
    if (index.dimension == AxisIndex::kNumber) continue;
    TileValue part;
    if (index.HasDimension()) {
      const Dimension& dimension = dimensions_[index.dimension];
      part = Iota(dimension.position, dimension.tile, kI64);
    } else {
      part = index_tiles_[index.tile].value;
      const auto compare = [&](std::string_view mnemonic, int64_t end) {
        const TileValue holds =
            Op(mnemonic, {part, Literal(fmt::format("{}", end), kI64)}, kBoolType);
        inside = inside.name.empty() ? holds : Op("and", {inside, holds}, kBoolType);
      };
      compare("ge", -index.shift);
      compare("lt", axis.extent - index.shift);
    }
    part = Op("mul", {part, Literal(fmt::format("{}", stride), kI64)}, kI64);
    flat = flat.name.empty() ? part : Op("add", {flat, part}, kI64);
  }
  flat = Op("add", {flat, Literal(scalar, kI64)}, kI64);
  flat = Op("select", {inside, flat, Literal("-1", kI64)}, kI64);
  TileValue out{NewName(), tensor.dtype, ShapeOf(indices)};
  flat = Broadcast(flat, out.shape);
  const std::string view =
      memory_.NameOf(fmt::format("view {} : global<{}>[{}]", memory_.names.at(tensor.buffer),
                                 DTypeName(tensor.dtype), stride),
                     writer());
  const std::string row = NewName();
  const std::string taken = NewName();
  Line(fmt::format("{} = reshape {} : [{}]", row, flat.name, Product(out.shape)));
  Line(fmt::format("{} = gather {}, {}", taken, view, row));
  Line(fmt::format("{} = reshape {} : {}", out.name, taken, ShapeText(out.shape)));
  Pay(out.shape, kGatherPrice);
  return out;
}

void Emitter::Store(const KernelTensor& tensor, const TileValue& tile, const AxisIndices& indices,
                    std::string_view part) {
  memory_.ParamOf(tensor, true);
  const std::vector<int> positions = Place(tensor, indices, tensor.parts > 0);
  const std::string view = ViewOf(tensor, positions);
  const TileValue whole = Broadcast(Cast(tile, tensor.dtype), ShapeOf(indices));
  Line(fmt::format("store {}{}, {}", view, Position(tensor, positions, indices, part), whole.name));
  Pay(whole.shape, kAccessPrice);
}

}  // namespace tarsia
