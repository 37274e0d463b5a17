// The layouts of register tiles, and code that says which element a slot of a thread holds.
#ifndef TARSIA_COMPILER_LLVM_CODE_LAYOUTS_H_
#define TARSIA_COMPILER_LLVM_CODE_LAYOUTS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "compiler/layout_plan.h"
#include "compiler/llvm/code/function_builder.h"

namespace tarsia::compiler {

// The row-major number of an element: the sum of a part that depends on the thread (i32) and a part
// that depends on the slot.
struct LinearIndex {
  llvm::Value* thread = nullptr;
  int64_t slot = 0;
};

class Layouts {
 public:
  Layouts(FunctionBuilder& function, const std::vector<TileLayout>& layouts)
      : f_(function), b_(function.b()), layouts_(layouts.begin(), layouts.end()) {}

  // References stay valid.
  [[nodiscard]] const TileLayout& operator[](LayoutId id) const { return layouts_[id]; }
  // The number of a layout that may be new.
  LayoutId Add(TileLayout layout);
  // Elements of the true shape.
  [[nodiscard]] int64_t ElementCount(LayoutId layout) const;

  // i32: the part of an element's index along `dim` that depends on the thread.
  llvm::Value* ThreadIndex(LayoutId layout, int dim);
  // i32: the index of the slot's element along `dim`.
  llvm::Value* ElementIndex(LayoutId layout, int64_t slot, int dim);
  // i1, or null for always: whether the slot's element is within the true shape.
  llvm::Value* IsElement(LayoutId layout, int64_t slot);
  // i1, or null for always: whether this thread is the first of those that hold its elements.
  llvm::Value* IsFirstHolder(LayoutId layout);
  // The row-major number of the slot's element in the true shape; of padding any number.
  LinearIndex Linear(LayoutId layout, int64_t slot);
  // The sum of its indices times these strides.
  LinearIndex Strided(LayoutId layout, int64_t slot, const Extents& strides);
  llvm::Value* LinearValue(LayoutId layout, int64_t slot);

 private:
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  std::deque<TileLayout> layouts_;
  // Values of the entry block.
  std::map<std::pair<LayoutId, int>, llvm::Value*> thread_index_;
  std::map<std::pair<LayoutId, Extents>, llvm::Value*> linear_thread_;
  std::map<LayoutId, llvm::Value*> first_holder_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_LAYOUTS_H_
