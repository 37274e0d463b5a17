// The flow graph of a function: where the ways of each branch meet again, which is the immediate
// post-dominator of the branch's basic block (K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast
// Dominance Algorithm", on the reversed graph), unless threads do nothing there but end.
#include <algorithm>
#include <vector>

#include "ptx/parse/parser.h"

namespace tarsia::ptx {
namespace {

bool EndsBlock(const Inst& inst) {
  return inst.op == Op::kBra || inst.op == Op::kBrx || inst.op == Op::kRet ||
         inst.op == Op::kExit || inst.op == Op::kTrap;
}

// Basic blocks are numbered in the order of the code; the last number is the end of the function.
class FlowGraph {
 public:
  explicit FlowGraph(const Function& function) : function_(function) {
    FindBlocks();
    successors_.resize(Count() + 1);
    predecessors_.resize(Count() + 1);
    for (uint32_t block = 0; block < Count(); ++block) ConnectBlock(block);
  }

  [[nodiscard]] uint32_t Count() const { return static_cast<uint32_t>(starts_.size()); }
  [[nodiscard]] uint32_t End() const { return Count(); }
  [[nodiscard]] uint32_t BlockOf(uint32_t inst) const { return block_of_[inst]; }
  [[nodiscard]] uint32_t StartOf(uint32_t block) const {
    return block == End() ? kNowhere : starts_[block];
  }

  // The immediate post-dominator of each block; End() where it is only the end.
  [[nodiscard]] std::vector<uint32_t> PostDominators() const {
    const std::vector<uint32_t> order = Order();
    std::vector<uint32_t> rank(Count() + 1, 0);  // the end has the highest
    for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    constexpr uint32_t kUnknown = UINT32_MAX;
    std::vector<uint32_t> idom(Count() + 1, kUnknown);
    idom[End()] = End();
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = order.size(); i-- > 0;) {
        const uint32_t block = order[i];
        if (block == End()) continue;
        uint32_t best = kUnknown;
        for (const uint32_t next : successors_[block]) {
          if (idom[next] == kUnknown) continue;
          best = best == kUnknown ? next : Meet(best, next, idom, rank);
        }
        if (best != kUnknown && best != idom[block]) {
          idom[block] = best;
          changed = true;
        }
      }
    }
    // An instruction from which the end is never reached has no meeting point.
    for (uint32_t& block : idom) block = block == kUnknown ? End() : block;
    return idom;
  }

 private:
  void FindBlocks() {
    const std::vector<Inst>& code = function_.code;
    std::vector<bool> leader(code.size() + 1, false);
    if (!code.empty()) leader[0] = true;
    for (size_t i = 0; i < code.size(); ++i) {
      if (!EndsBlock(code[i])) continue;
      leader[i + 1] = true;
      if (code[i].op == Op::kBra && code[i].target < code.size()) leader[code[i].target] = true;
    }
    for (const auto& table : function_.tables) {
      for (const uint32_t target : table) {
        if (target < code.size()) leader[target] = true;
      }
    }
    block_of_.resize(code.size());
    for (uint32_t i = 0; i < code.size(); ++i) {
      if (leader[i]) starts_.push_back(i);
      block_of_[i] = static_cast<uint32_t>(starts_.size() - 1);
    }
  }

  void Connect(uint32_t from, uint32_t to) {
    successors_[from].push_back(to);
    predecessors_[to].push_back(from);
  }

  void ConnectTo(uint32_t block, uint32_t inst) {
    Connect(block, inst < function_.code.size() ? block_of_[inst] : End());
  }

  void ConnectBlock(uint32_t block) {
    const uint32_t end =
        block + 1 < Count() ? starts_[block + 1] : static_cast<uint32_t>(function_.code.size());
    const Inst& last = function_.code[end - 1];
    const bool falls = !EndsBlock(last) || last.guarded;
    if (falls) ConnectTo(block, end);
    if (!EndsBlock(last)) return;
    if (last.op == Op::kBra) {
      ConnectTo(block, last.target);
    } else if (last.op == Op::kBrx) {
      for (const uint32_t target : function_.tables[last.table]) ConnectTo(block, target);
    } else {
      Connect(block, End());
    }
  }

  // Blocks from which the end can be reached, in postorder of the reversed graph.
  [[nodiscard]] std::vector<uint32_t> Order() const {
    std::vector<uint32_t> order;
    std::vector<bool> seen(Count() + 1, false);
    std::vector<std::pair<uint32_t, size_t>> stack = {{End(), 0}};
    seen[End()] = true;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next < predecessors_[block].size()) {
        const uint32_t to = predecessors_[block][next++];
        if (!seen[to]) {
          seen[to] = true;
          stack.emplace_back(to, 0);
        }
        continue;
      }
      order.push_back(block);
      stack.pop_back();
    }
    return order;
  }

  static uint32_t Meet(uint32_t a, uint32_t b, const std::vector<uint32_t>& idom,
                       const std::vector<uint32_t>& rank) {
    while (a != b) {
      while (rank[a] < rank[b]) a = idom[a];
      while (rank[b] < rank[a]) b = idom[b];
    }
    return a;
  }

  const Function& function_;
  std::vector<uint32_t> starts_;
  std::vector<uint32_t> block_of_;
  std::vector<std::vector<uint32_t>> successors_;
  std::vector<std::vector<uint32_t>> predecessors_;
};

}  // namespace

namespace {

// Whether threads that come to an instruction end there, and do nothing else: who goes there need
// not wait for others, nor others for them.
bool Leaves(const Function& function, uint32_t at) {
  const std::vector<Inst>& code = function.code;
  for (size_t steps = 0; at < code.size() && steps < code.size(); ++steps) {
    const Inst& inst = code[at];
    if (inst.guarded) return false;
    if (inst.op == Op::kExit) return true;
    if (inst.op == Op::kRet) return function.entry;
    if (inst.op != Op::kBra) return false;
    at = inst.target;
  }
  return false;
}

}  // namespace

void FindJoins(Function* function) {
  if (function->code.empty()) return;
  const FlowGraph graph(*function);
  const std::vector<uint32_t> joins = graph.PostDominators();
  for (uint32_t i = 0; i < function->code.size(); ++i) {
    Inst& inst = function->code[i];
    if (inst.op == Op::kBra || inst.op == Op::kBrx) {
      inst.join = graph.StartOf(joins[graph.BlockOf(i)]);
      if (Leaves(*function, inst.join)) inst.join = kNowhere;
    }
  }
}

}  // namespace tarsia::ptx
