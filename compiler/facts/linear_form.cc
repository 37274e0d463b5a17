#include "compiler/facts/linear_form.h"

#include <algorithm>
#include <numeric>

namespace tarsia::compiler {
namespace {

uint64_t AbsoluteValue(int64_t x) {
  return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}

// a * x + b * y, if it fits.
bool MultiplyAdd(int64_t a, int64_t x, int64_t b, int64_t y, int64_t* out) {
  int64_t left = 0;
  int64_t right = 0;
  if (__builtin_mul_overflow(a, x, &left) || __builtin_mul_overflow(b, y, &right)) return false;
  return !__builtin_add_overflow(left, right, out);
}

}  // namespace

LinearForm LinearForm::Constant(int64_t constant) {
  LinearForm out;
  out.constant_ = constant;
  return out;
}

LinearForm LinearForm::Of(uint32_t symbol, int64_t factor) {
  LinearForm out;
  if (factor != 0) out.terms_.push_back({symbol, factor});
  return out;
}

int64_t LinearForm::Factor(uint32_t symbol) const {
  const auto at = std::lower_bound(terms_.begin(), terms_.end(), symbol,
                                   [](const Term& t, uint32_t s) { return t.symbol < s; });
  return at != terms_.end() && at->symbol == symbol ? at->factor : 0;
}

uint64_t LinearForm::FactorDivisor() const {
  uint64_t out = 0;
  for (const Term& term : terms_) out = std::gcd(out, AbsoluteValue(term.factor));
  return out;
}

uint64_t LinearForm::Divisor() const { return std::gcd(FactorDivisor(), AbsoluteValue(constant_)); }

std::optional<LinearForm> LinearForm::Combine(int64_t a, const LinearForm& x, int64_t b,
                                              const LinearForm& y) {
  LinearForm out;
  if (!MultiplyAdd(a, x.constant_, b, y.constant_, &out.constant_)) return std::nullopt;
  out.terms_.reserve(x.terms_.size() + y.terms_.size());
  auto i = x.terms_.begin();
  auto j = y.terms_.begin();
  while (i != x.terms_.end() || j != y.terms_.end()) {
    const bool left = j == y.terms_.end() || (i != x.terms_.end() && i->symbol <= j->symbol);
    const bool right = i == x.terms_.end() || (j != y.terms_.end() && j->symbol <= i->symbol);
    Term term{left ? i->symbol : j->symbol, 0};
    if (!MultiplyAdd(a, left ? i->factor : 0, b, right ? j->factor : 0, &term.factor)) {
      return std::nullopt;
    }
    if (term.factor != 0) out.terms_.push_back(term);
    if (left) ++i;
    if (right) ++j;
  }
  return out;
}

LinearForm LinearForm::MapEach(int64_t (*map)(int64_t, int64_t), int64_t n) const {
  LinearForm out = Constant(map(constant_, n));
  for (const Term& term : terms_) {
    const int64_t factor = map(term.factor, n);
    if (factor != 0) out.terms_.push_back({term.symbol, factor});
  }
  return out;
}

LinearForm LinearForm::FloorDividedEach(int64_t n) const { return MapEach(FloorDivide, n); }
LinearForm LinearForm::RemainderEach(int64_t n) const { return MapEach(FloorModulo, n); }

}  // namespace tarsia::compiler
