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
  llvm::Value* sum = nullptr;
  int64_t stride = f_.threads();
  for (const RegLayout::Digit& digit : layouts_[layout].reg().spatial()) {
    stride /= digit.extent;
    if (digit.dim != dim) continue;
    llvm::Value* part = f_.Thread();
    if (stride != 1) part = b_.CreateUDiv(part, f_.Int32(stride));
    if (stride * digit.extent < f_.threads()) part = b_.CreateURem(part, f_.Int32(digit.extent));
    part = f_.Times(part, digit.stride);
    sum = sum == nullptr ? part : b_.CreateAdd(sum, part);
  }
  known = sum == nullptr ? f_.Int32(0) : sum;
  return known;
}

llvm::Value* Layouts::ElementIndex(LayoutId layout, int64_t slot, int dim) {
  const int64_t offset = layouts_[layout].SlotOffset(slot)[Size(dim)];
  return f_.Plus(ThreadIndex(layout, dim), offset);
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
  const FunctionBuilder::EntryScope scope(f_);
  LinearIndex out;
  for (int d = tile.rank() - 1; d >= 0; --d) {
    const int64_t stride = strides[Size(d)];
    out.slot += offset[Size(d)] * stride;
    if (known) continue;
    llvm::Value* part = f_.Times(ThreadIndex(layout, d), stride);
    thread = thread == nullptr ? part : b_.CreateAdd(thread, part);
  }
  if (thread == nullptr) thread = f_.Int32(0);
  out.thread = thread;
  return out;
}

llvm::Value* Layouts::LinearValue(LayoutId layout, int64_t slot) {
  const LinearIndex index = Linear(layout, slot);
  return f_.Plus(index.thread, index.slot);
}

}  // namespace tarsia::compiler
