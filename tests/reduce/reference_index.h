// Walks through the indices of a tensor. Internal to tests/reduce.
#ifndef TARSIA_TESTS_REDUCE_REFERENCE_INDEX_H_
#define TARSIA_TESTS_REDUCE_REFERENCE_INDEX_H_

#include "tests/reduce/reference.h"

namespace tarsia::reduce_test {

template <typename Use>
void ReferenceGraph::ForEach(const std::vector<uint32_t>& axes, Index index, const Use& use) const {
  int64_t count = 1;
  for (const uint32_t axis : axes) count *= graph_.axes()[axis].extent;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t a = axes.size(); a-- > 0;) {
      const int64_t extent = graph_.axes()[axes[a]].extent;
      index[axes[a]] = rest % extent;
      rest /= extent;
    }
    use(index, static_cast<size_t>(i));
  }
}

}  // namespace tarsia::reduce_test

#endif  // TARSIA_TESTS_REDUCE_REFERENCE_INDEX_H_
