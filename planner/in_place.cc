// Outputs in the memory of inputs. The work that writes such an output runs behind all other works
// that read the input, and reads the input itself only at the elements that it writes.
#include <algorithm>
#include <functional>
#include <set>

#include "planner/works.h"

namespace tarsia {

// The output that a work writes in the memory of an input; null if it writes none there.
const Tensor* Works::InPlaceOf(const Work& work, size_t input_tensor) const {
  for (const auto& [v, tensor] : work.stores) {
    if (tensors_[tensor].in_place == input_tensor) return &tensors_[tensor];
  }
  return nullptr;
}

// Whether a work needs an input at other elements than those of its results: in a reduction over
// one of its axes, or at another index.
bool Works::ReadsElsewhere(const Work& work, uint32_t input) const {
  std::set<std::pair<uint32_t, bool>> seen;
  const std::vector<uint32_t>& axes = meaning_.value(input).axes;
  const auto has = [&](uint32_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  const auto elsewhere = [&](size_t n) {
    const auto moved = meaning_.MovedBy(n);
    const Reduction* const reduction = meaning_.ReductionOf(n);
    return std::any_of(moved.begin(), moved.end(), has) ||
           (reduction != nullptr &&
            std::any_of(reduction->axes.begin(), reduction->axes.end(), has));
  };
  const std::function<bool(uint32_t, bool, bool)> finds = [&](uint32_t v, bool other, bool own) {
    if (v == input) return other;
    if (meaning_.IsInput(v) || (!own && result_tensors_.count(v) != 0)) return false;
    if (!seen.emplace(v, other).second) return false;
    const size_t n = meaning_.NodeOf(v);
    const std::vector<uint32_t>& reads = meaning_.ReadsOf(n);
    return std::any_of(reads.begin(), reads.end(),
                       [&](uint32_t read) { return finds(read, other || elsewhere(n), false); });
  };
  return std::any_of(work.stores.begin(), work.stores.end(),
                     [&](const auto& store) { return finds(store.first, false, true); });
}

void Works::FindReaders() {
  for (size_t w = 0; w < works_.size(); ++w) {
    works_[w].readers.clear();
    for (const auto& [v, input] : input_tensors_) {
      if (InPlaceOf(works_[w], input) == nullptr) continue;
      for (size_t other = 0; other < works_.size(); ++other) {
        if (other != w && works_[other].reads.count(v) != 0) works_[w].readers.push_back(other);
      }
      const bool reads = works_[w].kind != KernelKind::kFinish && works_[w].reads.count(v) != 0;
      if (reads && ReadsElsewhere(works_[w], v)) feasible_ = false;
    }
  }
}

// Puts the works into an order in which each comes behind those that it needs and the readers of
// what it overwrites, as far as possible the one they have. False if there is none.
bool Works::Sort() {
  std::vector<size_t> order;
  std::vector<bool> done(works_.size());
  const auto is_ready = [&](size_t w) {
    const auto is_done = [&](size_t other) { return done[other]; };
    return !done[w] && std::all_of(works_[w].needs.begin(), works_[w].needs.end(), is_done) &&
           std::all_of(works_[w].readers.begin(), works_[w].readers.end(), is_done);
  };
  while (order.size() < works_.size()) {
    size_t next = 0;
    while (next < works_.size() && !is_ready(next)) ++next;
    if (next == works_.size()) return false;
    done[next] = true;
    order.push_back(next);
  }
  std::vector<Work> sorted;
  for (const size_t w : order) sorted.push_back(std::move(works_[w]));
  works_ = std::move(sorted);
  return true;
}

void Works::SortInPlace() {
  const bool any = std::any_of(tensors_.begin(), tensors_.end(),
                               [](const Tensor& tensor) { return tensor.in_place.has_value(); });
  if (!any) return;
  FindReaders();
  feasible_ = Sort() && feasible_;
  FindNeeds();
  if (feasible_) FindReaders();
}

}  // namespace tarsia
