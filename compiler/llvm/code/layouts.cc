#include "compiler/llvm/code/layouts.h"

#include <algorithm>

#include "support/extents.h"

namespace tarsia::compiler {

LayoutId Layouts::Add(TileLayout layout) {
  const auto found = std::find(layouts_.begin(), layouts_.end(), layout);
  if (found != layouts_.end()) return static_cast<LayoutId>(found - layouts_.begin());
  layouts_.push_back(std::move(layout));
  return static_cast<LayoutId>(layouts_.size() - 1);
}

int64_t Layouts::ElementCount(LayoutId layout) const {
  int64_t n = 1;
  for (const int64_t extent : layouts_[layout].shape()) n *= extent;
  return n;
}

llvm::Value* Layouts::ThreadIndex(LayoutId layout, int dim) {
  llvm::Value*& known = thread_index_[{layout, dim}];
  if (known != nullptr) return known;
  const FunctionBuilder::EntryScope scope(f_);
  llvm::Value* sum = f_.Int32(0);
  int64_t stride = f_.threads();
  for (const RegLayout::Digit& digit : layouts_[layout].reg().spatial()) {
    stride /= digit.extent;
    if (digit.dim != dim) continue;
    llvm::Value* part = b_.CreateUDiv(f_.Thread(), f_.Int32(stride));
    if (stride * digit.extent < f_.threads()) part = b_.CreateURem(part, f_.Int32(digit.extent));
    sum = b_.CreateAdd(sum, b_.CreateMul(part, f_.Int32(digit.stride)));
  }
  known = sum;
  return known;
}

llvm::Value* Layouts::ElementIndex(LayoutId layout, int64_t slot, int dim) {
  const int64_t offset = layouts_[layout].SlotOffset(slot)[Size(dim)];
  return b_.CreateAdd(ThreadIndex(layout, dim), f_.Int32(offset));
}

llvm::Value* Layouts::IsElement(LayoutId layout, int64_t slot) {
  const TileLayout& tile = layouts_[layout];
  llvm::Value* holds = nullptr;
  for (int d = 0; d < tile.rank(); ++d) {
    if (!tile.PaddedAlong(d)) continue;
    llvm::Value* extent = f_.Int32(tile.shape()[Size(d)]);
    holds = f_.And(holds, b_.CreateICmpULT(ElementIndex(layout, slot, d), extent));
  }
  return holds;
}

llvm::Value* Layouts::IsFirstHolder(LayoutId layout) {
  if (!layouts_[layout].replicated()) return nullptr;
  llvm::Value*& known = first_holder_[layout];
  if (known != nullptr) return known;
  const FunctionBuilder::EntryScope scope(f_);
  int64_t stride = f_.threads();
  for (const RegLayout::Digit& digit : layouts_[layout].reg().spatial()) {
    stride /= digit.extent;
    if (digit.dim != RegLayout::kReplication) continue;
    llvm::Value* part =
        b_.CreateURem(b_.CreateUDiv(f_.Thread(), f_.Int32(stride)), f_.Int32(digit.extent));
    known = f_.And(known, b_.CreateICmpEQ(part, f_.Int32(0)));
  }
  return known;
}

LinearIndex Layouts::Linear(LayoutId layout, int64_t slot) {
  Extents strides(layouts_[layout].shape().size());
  RowMajorStrides(layouts_[layout].shape(), strides.data());
  return Strided(layout, slot, strides);
}

LinearIndex Layouts::Strided(LayoutId layout, int64_t slot, const Extents& strides) {
  const TileLayout& tile = layouts_[layout];
  const Extents offset = tile.SlotOffset(slot);
  llvm::Value*& thread = linear_thread_[{layout, strides}];
  const bool known = thread != nullptr;
  if (!known) thread = f_.Int32(0);
  const FunctionBuilder::EntryScope scope(f_);
  LinearIndex out;
  for (int d = tile.rank() - 1; d >= 0; --d) {
    const int64_t stride = strides[Size(d)];
    out.slot += offset[Size(d)] * stride;
    if (!known) {
      thread = b_.CreateAdd(thread, b_.CreateMul(ThreadIndex(layout, d), f_.Int32(stride)));
    }
  }
  out.thread = thread;
  return out;
}

llvm::Value* Layouts::LinearValue(LayoutId layout, int64_t slot) {
  const LinearIndex index = Linear(layout, slot);
  return b_.CreateAdd(index.thread, f_.Int32(index.slot));
}

}  // namespace tarsia::compiler
