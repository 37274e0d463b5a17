// Which values to keep so that others can be computed of them.
#ifndef TARSIA_COMPILER_LLVM_MINIMAL_CUT_H_
#define TARSIA_COMPILER_LLVM_MINIMAL_CUT_H_

#include <cstdint>
#include <vector>

#include "support/extents.h"

namespace tarsia::compiler {

// Values with weights, each of which is computed of others or is a root. `Solve` finds those of the
// least weight in all of which the ones that are wanted can be computed: a minimal cut, by the
// shortest augmenting paths (Edmonds and Karp, 1972).
class MinimalCut {
 public:
  // Returns its number: 0, 1, ..
  int AddValue(int64_t weight);
  // The value is computed of nothing: it, or what is computed of it, is kept.
  void AddRoot(int value) { AddEdge(kSource, In(value), kUnlimited); }
  void AddNeed(int value, int of) { AddEdge(Out(of), In(value), kUnlimited); }
  void AddWanted(int value) { AddEdge(Out(value), kSink, kUnlimited); }

  // The values to keep; of several solutions the one with the least left to compute. Once.
  std::vector<int> Solve();

 private:
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;
  static constexpr int64_t kUnlimited = int64_t{1} << 40;
  // A value has two nodes, and an edge of its weight between them.
  static int In(int value) { return 2 * value + 2; }
  static int Out(int value) { return 2 * value + 3; }

  // Edges come in pairs, 2 i and 2 i + 1, each of which is the way back of the other.
  struct Edge {
    int from = 0;
    int to = 0;
    int64_t left = 0;  // of what it can carry
  };
  void AddEdge(int from, int to, int64_t most);
  [[nodiscard]] Edge& At(int edge) { return edges_[Size(edge)]; }
  [[nodiscard]] const std::vector<int>& From(int node) const { return by_node_[Size(node)]; }
  bool Augment();

  int values_ = 0;
  std::vector<Edge> edges_;
  std::vector<std::vector<int>> by_node_{2};  // the edges from it
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_MINIMAL_CUT_H_
