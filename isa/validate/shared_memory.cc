#include "isa/validate/shared_memory.h"

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
      alignment = std::max<int64_t>(alignment, layout->Alignment());
    }
  }
  if (place && (*place < 0 || *place > kMaxSharedPlace || *place % alignment != 0)) {
    context_.Error(diag::kSharedPlace, kernel.AttrLocation(inst, Attr::kAt), alignment,
                   kMaxSharedPlace, *place);
    return;
  }
  const int64_t end =
      place ? *place + bytes : (now_ + alignment - 1) / alignment * alignment + bytes;
  if (!place) now_ = end;
  if (end > peak_) {
    peak_ = end;
    peak_location_ = kernel.LocationOf(inst);
  }
}

void SharedMemory::CheckPeak() {
  const TargetLimits* limits = context_.limits();
  if (limits == nullptr || peak_ <= limits->shared_bytes) return;
  context_.Error(diag::kSharedMemory, peak_location_, peak_, limits->name, limits->shared_bytes);
}

}  // namespace tarsia
