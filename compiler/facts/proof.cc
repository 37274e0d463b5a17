#include "compiler/facts/proof.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace tarsia::compiler {
namespace {

// Products beyond this are taken as unbounded, so that sums of them cannot overflow.
constexpr __int128 kLargest = static_cast<__int128>(1) << 100;

// Adds a bound of one term to that of a sum.
void AddBound(__int128 bound, bool low, __int128* sum) {
  const __int128 unbounded = low ? -Interval::kUnbounded : Interval::kUnbounded;
  const bool beyond = bound > kLargest || bound < -kLargest;
  *sum = beyond || *sum == unbounded ? unbounded : *sum + bound;
}

// goal - c with a symbol eliminated that both have with the same sign: goal >= 0 follows from
// c >= 0 and from the result >= 0. With goal multiplied by k, a remainder up to k - 1 may be added.
std::optional<LinearForm> Eliminated(const LinearForm& goal, const LinearForm& c, uint32_t symbol) {
  const int64_t in_goal = goal.Factor(symbol);
  const int64_t in_c = c.Factor(symbol);
  if (in_c == 0 || (in_goal < 0) != (in_c < 0)) return std::nullopt;
  if (in_goal == INT64_MIN || in_c == INT64_MIN) return std::nullopt;
  const int64_t divisor = std::gcd(in_goal, in_c);
  const int64_t k = std::abs(in_c) / divisor;
  const int64_t l = std::abs(in_goal) / divisor;
  const auto difference = LinearForm::Combine(k, goal, -l, c);
  if (!difference) return std::nullopt;
  return LinearForm::Combine(1, *difference, 1, LinearForm::Constant(k - 1));
}

}  // namespace

Interval IntervalOf(const LinearForm& form, const std::vector<SymbolRange>& ranges) {
  Interval out{form.constant(), form.constant()};
  for (const LinearForm::Term& term : form.terms()) {
    const SymbolRange& range = ranges[term.symbol];
    const __int128 a = static_cast<__int128>(term.factor) * range.lo;
    const __int128 b = static_cast<__int128>(term.factor) * range.hi;
    AddBound(std::min(a, b), true, &out.lo);
    AddBound(std::max(a, b), false, &out.hi);
  }
  return out;
}

LinearForm Tightened(const LinearForm& form) {
  const uint64_t divisor = form.FactorDivisor();
  if (divisor <= 1 || divisor > INT64_MAX) return form;
  return form.FloorDividedEach(static_cast<int64_t>(divisor));
}

bool Proof::NonNegative(const LinearForm& form) {
  for (int depth = 0; depth <= kMaxDepth; ++depth) {
    steps_ = kMaxSteps;
    if (Search(form, depth)) return true;
    if (steps_ <= 0) break;
  }
  return false;
}

bool Proof::Search(const LinearForm& sum, int depth) {
  const LinearForm goal = Tightened(sum);
  if (IntervalOf(goal, ranges_).lo >= 0) return true;
  if (depth == 0) return false;
  for (auto term = goal.terms().rbegin(); term != goal.terms().rend(); ++term) {
    for (const LinearForm& c : known_) {
      if (--steps_ <= 0) return false;
      const auto next = Eliminated(goal, c, term->symbol);
      if (!next) continue;
      if (Search(*next, depth - 1)) return true;
    }
  }
  return false;
}

}  // namespace tarsia::compiler
