#include "isa/validate/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/limits.h"
#include "isa/validate/value_types.h"

namespace tarsia {
namespace {

// No device has so much.
constexpr int64_t kMaxSharedPlace = int64_t{1} << 20;

}  // namespace

void SharedMemory::Add(const Inst& inst, const ValueType& type, std::optional<int64_t> place) {
  const ExprPool& pool = context_.pool();
  const Kernel& kernel = context_.kernel();
  const auto dtype = pool.AsDType(type.dtype);
  const auto elements = Elements(pool, type.shape);
  if (!dtype || !elements || *elements > kMaxTileElements) return;
  int64_t bytes = (*elements * dtype->bits + 7) / 8;
  int64_t alignment = 16;
  const EvalValue* value = type.layout.none()
                               ? nullptr
                               : expressions_.TryEvaluate(type.layout, kernel.TypeLocation(inst));
  if (const auto* family = value != nullptr ? std::get_if<MemLayoutFamily>(value) : nullptr) {
    std::vector<int64_t> shape;
    for (const ExprId extent : pool.children(type.shape))
      shape.push_back(pool.AsInt(extent).value_or(0));
    if (Result<MemLayout> layout = Apply(*family, shape, *dtype); layout.ok()) {
      bytes = static_cast<int64_t>(layout->SizeBytes(dtype->bits));
      alignment = std::clamp(layout->Alignment(), alignment, kMostSharedAlignment);
    }
  }
  if (place && (*place < 0 || *place > kMaxSharedPlace || *place % alignment != 0)) {
    context_.Error(diag::kSharedPlace, kernel.AttrLocation(inst, Attr::kAt), alignment,
                   kMaxSharedPlace, *place);
    return;
  }
  const int64_t end =
      place ? *place + bytes : (now_ + alignment - 1) / alignment * alignment + bytes;
  const Tile tile{kernel.LocationOf(inst), bytes, end};
  if (end > peak_) {
    peak_ = end;
    live_at_peak_ = live_;
    live_at_peak_.push_back(tile);
  }
  if (place) return;
  now_ = end;
  live_.push_back(tile);
}

void SharedMemory::ShrinkTo(int64_t bytes) {
  now_ = bytes;
  while (!live_.empty() && live_.back().end > bytes) live_.pop_back();
}

void SharedMemory::CheckPeak() {
  const TargetLimits* limits = context_.limits();
  if (limits == nullptr || peak_ <= limits->shared_bytes) return;
  Diagnostic& error = context_.Error(diag::kSharedMemory, live_at_peak_.back().location, peak_,
                                     limits->name, limits->shared_bytes);
  if (live_at_peak_.size() == 1) return;  // the error is there
  constexpr size_t kMostNotes = 8;
  for (size_t i = 0; i < std::min(kMostNotes, live_at_peak_.size()); ++i) {
    const Tile& tile = live_at_peak_[i];
    error.notes.push_back({tile.location, fmt::format("this tile takes {} bytes", tile.bytes)});
  }
}

}  // namespace tarsia
