#include "runtime/graphs/chunk_runs.h"

#include <algorithm>

#include "dtypes/bits.h"

namespace tarsia::runtime {
namespace {

// An axis of the tensor: the indices of the chunk, and what one of them is apart, in elements.
struct Axis {
  int64_t low = 0, high = 0;
  int64_t outside = 1, inside = 1;
};

std::vector<Axis> AxesOf(const PlanTensor& tensor, const PlanBuffer& buffer,
                         std::span<const StepRange> ranges) {
  std::vector<Axis> out(tensor.axes.size());
  int64_t outside = 1;
  int64_t inside = 1;
  for (size_t i = tensor.axes.size(); i-- > 0;) {
    out[i] = {0, tensor.extents[i], outside, inside};
    for (const StepRange& range : ranges) {
      if (range.axis != buffer.axes[i]) continue;
      out[i].low = range.low;
      out[i].high = range.high;
    }
    outside *= tensor.extents[i];
    inside *= buffer.extents[i];
  }
  return out;
}

}  // namespace

Status ForEachRun(const PlanTensor& tensor, const PlanBuffer& buffer,
                  std::span<const StepRange> ranges,
                  const std::function<Status(const ChunkRun&)>& use) {
  if (tensor.bytes == 0) return OkStatus();
  const std::vector<Axis> axes = AxesOf(tensor, buffer, ranges);
  // The axes from `inner` on are contiguous together, for all of them behind it are whole.
  size_t inner = axes.size();
  int64_t run = 1;
  while (inner > 0) {
    const Axis& axis = axes[--inner];
    run *= axis.high - axis.low;
    if (axis.high - axis.low != tensor.extents[inner]) break;
  }
  std::vector<int64_t> at;
  for (size_t i = 0; i < inner; ++i) at.push_back(axes[i].low);
  const uint64_t bits = tensor.dtype.bits;
  while (true) {
    int64_t outside = inner < axes.size() ? axes[inner].low * axes[inner].outside : 0;
    int64_t inside = 0;
    for (size_t i = 0; i < inner; ++i) {
      outside += at[i] * axes[i].outside;
      inside += (at[i] - axes[i].low) * axes[i].inside;
    }
    TARSIA_CHECK(
        use({static_cast<uint64_t>(outside) * bits / 8, static_cast<uint64_t>(inside) * bits / 8,
             BytesForBits(static_cast<uint64_t>(run) * bits)}));
    size_t i = inner;
    while (i > 0 && ++at[i - 1] == axes[i - 1].high) {
      --i;
      at[i] = axes[i].low;
    }
    if (i == 0) return OkStatus();
  }
}

}  // namespace tarsia::runtime
