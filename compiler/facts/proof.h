// Proofs that a sum of symbols is not negative, from the ranges of symbols and from other sums that
// are not negative.
//
// A search with a fixed number of steps, the same on every run: to prove f >= 0, either the ranges
// show it, or a known c >= 0 that shares a symbol is subtracted so that the symbol vanishes, and
// the difference is proven. It finds no proof that needs more; what it proves is true of all
// integers.
#ifndef TARSIA_COMPILER_FACTS_PROOF_H_
#define TARSIA_COMPILER_FACTS_PROOF_H_

#include <cstdint>
#include <vector>

#include "compiler/facts/linear_form.h"

namespace tarsia::compiler {

struct SymbolRange {
  int64_t lo = INT64_MIN;
  int64_t hi = INT64_MAX;
};

// The least and the largest value of a sum by the ranges of its symbols; kUnbounded and beyond
// stand for anything larger.
struct Interval {
  static constexpr __int128 kUnbounded = static_cast<__int128>(1) << 120;
  __int128 lo = 0;
  __int128 hi = 0;
};
Interval IntervalOf(const LinearForm& form, const std::vector<SymbolRange>& ranges);

class Proof {
 public:
  // `known`: sums that are not negative. Both outlive the proof.
  Proof(const std::vector<SymbolRange>& ranges, const std::vector<LinearForm>& known)
      : ranges_(ranges), known_(known) {}

  // Whether form >= 0 is proven.
  bool NonNegative(const LinearForm& form);

 private:
  bool Search(const LinearForm& sum, int depth);

  static constexpr int kMaxDepth = 5;
  static constexpr int kMaxSteps = 6000;  // visits of a known sum
  const std::vector<SymbolRange>& ranges_;
  const std::vector<LinearForm>& known_;
  int steps_ = 0;
};

// The same condition form >= 0 with factors that have no common divisor: over the integers,
// d * h + k >= 0 is h + floor(k / d) >= 0.
LinearForm Tightened(const LinearForm& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_FACTS_PROOF_H_
