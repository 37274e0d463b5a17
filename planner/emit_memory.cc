// Loads and stores: views of tensors whose dimensions are those of the kernel's tiles.
#include <fmt/format.h>

#include <algorithm>

#include "planner/emitter.h"

namespace tarsia {
namespace {

constexpr double kAccessPrice = 2;  // of an element, in additions

}  // namespace

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

std::string Emitter::ParamOf(const KernelTensor& tensor, bool write) {
  const auto found = std::find_if(params_.begin(), params_.end(), [&](const KernelParam& param) {
    return param.kind == KernelParam::Kind::kTensor && param.id == tensor.buffer;
  });
  if (found != params_.end()) {
    (write ? found->written : found->read) = true;
    return param_names_.at(tensor.buffer);
  }
  params_.push_back({KernelParam::Kind::kTensor, tensor.buffer, write, !write});
  param_types_[tensor.buffer] = tensor.dtype.bits < 8 ? kU8 : tensor.dtype;
  return param_names_[tensor.buffer] = "%" + tensor.name;
}

std::string Emitter::ViewOf(const KernelTensor& tensor, const std::vector<int>& positions) {
  std::vector<int64_t> shape(rank(), 1);
  std::vector<int64_t> strides(rank(), 1);
  std::vector<int64_t> extents = tensor.extents;
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
  const std::string view = fmt::format("view {} : global<{}>[{}]{}", param_names_.at(tensor.buffer),
                                       DTypeName(tensor.dtype), fmt::join(shape, ", "), layout);
  const auto [found, made] = view_names_.try_emplace(view);
  if (made) {
    found->second = NewName();
    views_ += fmt::format("  {} = {}\n", found->second, view);
  }
  return found->second;
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
    at[position] = std::move(text);
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

TileValue Emitter::Load(const KernelTensor& tensor, const AxisIndices& indices,
                        std::string_view part) {
  ParamOf(tensor, false);
  const std::vector<int> positions = Place(tensor, indices, tensor.parts > 0);
  const std::string view = ViewOf(tensor, positions);
  TileValue out{NewName(), tensor.dtype, ShapeOf(indices)};
  Line(fmt::format("{} = load {}{} : {}", out.name, view,
                   Position(tensor, positions, indices, part), ShapeText(out.shape)));
  Pay(out.shape, kAccessPrice);
  return out;
}

void Emitter::Store(const KernelTensor& tensor, const TileValue& tile, const AxisIndices& indices,
                    std::string_view part) {
  ParamOf(tensor, true);
  const std::vector<int> positions = Place(tensor, indices, tensor.parts > 0);
  const std::string view = ViewOf(tensor, positions);
  const TileValue whole = Broadcast(Cast(tile, tensor.dtype), ShapeOf(indices));
  Line(fmt::format("store {}{}, {}", view, Position(tensor, positions, indices, part), whole.name));
  Pay(whole.shape, kAccessPrice);
}

}  // namespace tarsia
