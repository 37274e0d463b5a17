#include "compiler/llvm/minimal_cut.h"

#include <algorithm>

namespace tarsia::compiler {
namespace {

constexpr int kNoEdge = -1;

}  // namespace

int MinimalCut::AddValue(int64_t weight) {
  const int value = values_++;
  by_node_.resize(by_node_.size() + 2);
  AddEdge(In(value), Out(value), weight);
  return value;
}

void MinimalCut::AddEdge(int from, int to, int64_t most) {
  const auto number = static_cast<int>(edges_.size());
  edges_.push_back({from, to, most});
  edges_.push_back({to, from, 0});
  by_node_[Size(from)].push_back(number);
  by_node_[Size(to)].push_back(number + 1);
}

// Fills the shortest way from the source to the sink that is not full.
bool MinimalCut::Augment() {
  std::vector<int> by(by_node_.size(), kNoEdge);  // the edge to a node
  const auto reached = [&](int node) -> int& { return by[Size(node)]; };
  std::vector<int> queue = {kSource};
  for (size_t i = 0; i < queue.size() && reached(kSink) == kNoEdge; ++i) {
    for (const int edge : From(queue[i])) {
      const int to = At(edge).to;
      if (At(edge).left == 0 || to == kSource || reached(to) != kNoEdge) continue;
      reached(to) = edge;
      queue.push_back(to);
    }
  }
  if (reached(kSink) == kNoEdge) return false;
  int64_t more = kUnlimited;
  for (int node = kSink; node != kSource; node = At(reached(node)).from) {
    more = std::min(more, At(reached(node)).left);
  }
  for (int node = kSink; node != kSource; node = At(reached(node)).from) {
    At(reached(node)).left -= more;
    At(reached(node) ^ 1).left += more;
  }
  return true;
}

std::vector<int> MinimalCut::Solve() {
  while (Augment()) {
  }
  // The nodes from which more could come to the sink: the cut lies at their edge.
  std::vector<bool> open(by_node_.size());
  std::vector<int> ahead = {kSink};
  open[kSink] = true;
  while (!ahead.empty()) {
    const int node = ahead.back();
    ahead.pop_back();
    for (const int edge : From(node)) {
      const Edge& back = At(edge ^ 1);
      if (back.left == 0 || open[Size(back.from)]) continue;
      open[Size(back.from)] = true;
      ahead.push_back(back.from);
    }
  }
  std::vector<int> out;
  for (int value = 0; value < values_; ++value) {
    if (open[Size(Out(value))] && !open[Size(In(value))]) {
      out.push_back(value);
    }
  }
  return out;
}

}  // namespace tarsia::compiler
