#include "compiler/facts/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "layout/text/arithmetic.h"

namespace tarsia::compiler {
namespace {

constexpr int kMaxSplits = 4;
// More is forgotten, so that proofs and scopes of long programs stay short.
constexpr size_t kMaxKnown = 256;
constexpr size_t kMaxMade = 1024;

int64_t Clamped(__int128 x) {
  return static_cast<int64_t>(
      std::clamp<__int128>(x, static_cast<__int128>(INT64_MIN), static_cast<__int128>(INT64_MAX)));
}

std::optional<LinearForm> Sum(const LinearForm& x, int64_t factor, const LinearForm& y) {
  return LinearForm::Combine(1, x, factor, y);
}

}  // namespace

// ---- symbols --------------------------------------------------------------------------------

LinearForm Relations::NewSymbol(const Facts& facts, std::string name) {
  if (facts.IsExact()) return LinearForm::Constant(facts.lo);
  if (facts.multiple == 0) return LinearForm();
  const bool divides = facts.multiple > 1 && facts.multiple <= INT64_MAX;
  const int64_t unit = divides ? static_cast<int64_t>(facts.multiple) : 1;
  SymbolRange range{FloorDivide(facts.lo, unit) + (facts.lo % unit != 0 ? 1 : 0),
                    FloorDivide(facts.hi, unit)};
  range.hi = std::max(range.lo, range.hi);
  const auto symbol = static_cast<uint32_t>(names_.size());
  names_.push_back(divides ? fmt::format("({} / {})", name, unit) : std::move(name));
  state_.ranges.resize(names_.size());
  state_.ranges[symbol] = range;
  return LinearForm::Of(symbol, unit);
}

LinearForm Relations::Canonical(const LinearForm& x) const {
  LinearForm out = x;
  if (state_.equal.empty()) return out;
  for (const LinearForm::Term& term : x.terms()) {
    const auto value = state_.equal.find(term.symbol);
    if (value == state_.equal.end()) continue;
    const auto without = Sum(out, -1, LinearForm::Of(term.symbol, term.factor));
    const auto with = without ? Sum(*without, term.factor, value->second) : std::nullopt;
    if (with) out = *with;
  }
  return out;
}

const LinearForm* Relations::Made(const Key& key) const {
  const auto at = state_.made.find(key);
  return at == state_.made.end() ? nullptr : &at->second;
}

LinearForm Relations::Opaque(const Key& key, const Facts& facts) {
  if (const LinearForm* made = Made(key)) return *made;
  LinearForm out = NewSymbol(facts, NameOf(key));
  if (state_.made.size() < kMaxMade) state_.made.emplace(key, out);
  return out;
}

// ---- arithmetic -----------------------------------------------------------------------------

bool Relations::FitsIn64Bits(const LinearForm& x) {
  const Interval by_range = IntervalOf(x, state_.ranges);
  if (by_range.lo >= INT64_MIN && by_range.hi <= INT64_MAX) return true;
  return ProvesLessEqual(LinearForm::Constant(INT64_MIN), x) &&
         ProvesLessEqual(x, LinearForm::Constant(INT64_MAX));
}

LinearForm Relations::Checked(Op op, const LinearForm& x, const LinearForm& y,
                              const std::optional<LinearForm>& sum, const Facts& facts) {
  if (sum && FitsIn64Bits(*sum)) return *sum;
  return Opaque({op, x, y}, facts);
}

LinearForm Relations::Add(const LinearForm& x, const LinearForm& y) {
  return Checked(Op::kAdd, x, y, Sum(x, 1, y), FactsOf(x) + FactsOf(y));
}

LinearForm Relations::Subtract(const LinearForm& x, const LinearForm& y) {
  return Checked(Op::kSubtract, x, y, Sum(x, -1, y), FactsOf(x) - FactsOf(y));
}

LinearForm Relations::Multiply(const LinearForm& x, const LinearForm& y) {
  const LinearForm a = Canonical(x);
  const LinearForm b = Canonical(y);
  std::optional<LinearForm> product;
  if (b.IsConstant()) product = LinearForm::Combine(b.constant(), a, 0, b);
  if (a.IsConstant()) product = LinearForm::Combine(a.constant(), b, 0, a);
  return Checked(Op::kMultiply, a, b, product, FactsOf(a) * FactsOf(b));
}

// floor(x / n) of x as an integer that does not wrap, for n > 1; it fits in 64 bits.
LinearForm Relations::Floor(const LinearForm& x, int64_t n) {
  const LinearForm whole = x.FloorDividedEach(n);
  LinearForm rest = x.RemainderEach(n);
  if (rest.IsConstant()) return whole;
  // floor((d * h + c) / (d * m)) is floor((h + floor(c / d)) / m).
  const uint64_t divisor = std::gcd(rest.FactorDivisor(), static_cast<uint64_t>(n));
  rest = rest.FloorDividedEach(static_cast<int64_t>(divisor));
  const int64_t m = n / static_cast<int64_t>(divisor);
  const Interval range = IntervalOf(rest, state_.ranges);
  const __int128 beyond = static_cast<__int128>(1) << 63;
  if (range.lo < -beyond || range.hi >= beyond) {
    return Opaque({Op::kFloor, x, LinearForm::Constant(n)}, {});
  }
  const Key key{Op::kFloor, rest, LinearForm::Constant(m)};
  const bool is_new = Made(key) == nullptr;
  const LinearForm quotient =
      Opaque(key, Facts::Between(FloorDivide(static_cast<int64_t>(range.lo), m),
                                 FloorDivide(static_cast<int64_t>(range.hi), m)));
  const auto remainder = Sum(rest, -m, quotient);
  if (is_new && remainder) {
    AssumeNonNegative(*remainder);
    AssumeLess(*remainder, LinearForm::Constant(m), 1);
  }
  const auto sum = Sum(whole, 1, quotient);
  return sum ? *sum : Opaque({Op::kFloor, x, LinearForm::Constant(n)}, {});
}

LinearForm Relations::TruncatedQuotient(const LinearForm& x, int64_t n) {
  if (n == 1) return x;
  if (IsMultipleOf(x, n)) return x.FloorDividedEach(n);
  const Facts quotient = Quotient(FactsOf(x), Facts::Exactly(n));
  const LinearForm number = LinearForm::Constant(n);
  if (ProvesLessEqual(LinearForm(), x)) return Floor(x, n);
  const Key key{Op::kDivide, x, number};
  const bool is_new = Made(key) == nullptr;
  const LinearForm out = Opaque(key, quotient);
  const auto remainder = Sum(x, -n, out);
  if (is_new && remainder) {
    AssumeLess(LinearForm::Constant(-n), *remainder, 1);
    AssumeLess(*remainder, number, 1);
  }
  return out;
}

LinearForm Relations::Divide(const LinearForm& x, const LinearForm& y) {
  const LinearForm a = Canonical(x);
  const LinearForm b = Canonical(y);
  if (a.IsConstant() && b.IsConstant()) {
    return LinearForm::Constant(WrapDivide(a.constant(), b.constant()));
  }
  if (b.IsConstant() && b.constant() > 0) return TruncatedQuotient(a, b.constant());
  return Opaque({Op::kDivide, a, b}, Quotient(FactsOf(a), FactsOf(b)));
}

LinearForm Relations::Modulo(const LinearForm& x, const LinearForm& y) {
  const LinearForm a = Canonical(x);
  const LinearForm b = Canonical(y);
  if (a.IsConstant() && b.IsConstant()) {
    return LinearForm::Constant(WrapModulo(a.constant(), b.constant()));
  }
  if (b.IsConstant() && b.constant() > 0) {
    const auto rest = Sum(a, -b.constant(), TruncatedQuotient(a, b.constant()));
    if (rest) return *rest;
  }
  return Opaque({Op::kModulo, a, b}, Remainder(FactsOf(a), FactsOf(b)));
}

LinearForm Relations::CeilDivide(const LinearForm& x, const LinearForm& y) {
  const LinearForm a = Canonical(x);
  const LinearForm b = Canonical(y);
  if (a.IsConstant() && b.IsConstant()) {
    return LinearForm::Constant(WrapCeilDivide(a.constant(), b.constant()));
  }
  if (b.IsConstant() && b.constant() > 0) {
    if (b.constant() == 1) return a;
    const auto up = Sum(a, 1, LinearForm::Constant(b.constant() - 1));
    if (up) return Floor(*up, b.constant());
  }
  return Opaque({Op::kCeilDivide, a, b}, {});
}

LinearForm Relations::MinOrMax(Op op, const LinearForm& x, const LinearForm& y) {
  const LinearForm a = Canonical(x);
  const LinearForm b = Canonical(y);
  const bool is_min = op == Op::kMin;
  if (ProvesLessEqual(a, b)) return is_min ? a : b;
  if (ProvesLessEqual(b, a)) return is_min ? b : a;
  const Key key{op, std::min(a, b), std::max(a, b)};
  if (const LinearForm* made = Made(key)) return *made;
  Facts facts = is_min ? Smaller(FactsOf(a), FactsOf(b)) : Larger(FactsOf(a), FactsOf(b));
  facts.multiple = 1;  // the symbol stands for the value itself
  const LinearForm out = Opaque(key, facts);
  if (out.IsConstant()) return out;
  state_.choices.push_back({out.terms()[0].symbol, a, b});
  for (const LinearForm& side : {a, b}) {
    AssumeLessEqual(is_min ? out : side, is_min ? side : out);
  }
  return out;
}

LinearForm Relations::Min(const LinearForm& x, const LinearForm& y) {
  return MinOrMax(Op::kMin, x, y);
}

LinearForm Relations::Max(const LinearForm& x, const LinearForm& y) {
  return MinOrMax(Op::kMax, x, y);
}

LinearForm Relations::Truncated(const LinearForm& x, DType type) {
  const Facts range = Facts::OfType(type);
  const Facts facts = FactsOf(x);
  if (facts.lo >= range.lo && facts.hi <= range.hi) return x;
  if (ProvesLessEqual(LinearForm::Constant(range.lo), x) &&
      ProvesLessEqual(x, LinearForm::Constant(range.hi))) {
    return x;
  }
  const LinearForm key = LinearForm::Constant(type.bits * 2 + (type.IsSigned() ? 1 : 0));
  return Opaque({Op::kTruncated, Canonical(x), key}, compiler::Truncated(facts, type));
}

// ---- what is made known ---------------------------------------------------------------------

void Relations::AssumeLess(const LinearForm& x, const LinearForm& y, int64_t margin) {
  const auto difference = Sum(Canonical(y), -1, Canonical(x));
  const auto sum = difference ? Sum(*difference, -1, LinearForm::Constant(margin)) : std::nullopt;
  if (sum) AssumeNonNegative(*sum);
}

void Relations::AssumeNonNegative(const LinearForm& x) {
  const LinearForm form = Tightened(Canonical(x));
  if (IntervalOf(form, state_.ranges).lo >= 0) return;
  if (form.terms().size() != 1) {
    const auto& known = state_.known;
    if (known.size() >= kMaxKnown) return;
    if (!form.IsConstant() && std::find(known.begin(), known.end(), form) == known.end()) {
      state_.known.push_back(form);
    }
    return;
  }
  // s + k >= 0 or -s + k >= 0.
  const LinearForm::Term& term = form.terms()[0];
  if (term.factor != 1 && term.factor != -1) return;
  SymbolRange& range = state_.ranges[term.symbol];
  if (term.factor > 0) {
    range.lo = std::max(range.lo, Clamped(-static_cast<__int128>(form.constant())));
    range.hi = std::max(range.lo, range.hi);
  } else {
    range.hi = std::min(range.hi, form.constant());
    range.lo = std::min(range.lo, range.hi);
  }
}

void Relations::AssumeEqual(const LinearForm& x, const LinearForm& y) {
  const auto difference = Sum(Canonical(x), -1, Canonical(y));
  if (!difference) return;
  LinearForm zero = *difference;
  const uint64_t divisor = zero.FactorDivisor();
  if (divisor > 1 && divisor <= INT64_MAX) {
    const auto n = static_cast<int64_t>(divisor);
    if (zero.constant() % n != 0) return;
    zero = zero.FloorDividedEach(n);
  }
  for (const LinearForm::Term& term : zero.terms()) {
    if (term.factor != 1 && term.factor != -1) continue;
    // zero = factor * s + rest, so that s = -factor * rest.
    const auto rest = Sum(zero, -1, LinearForm::Of(term.symbol, term.factor));
    const auto value = rest ? LinearForm::Combine(-term.factor, *rest, 0, {}) : std::nullopt;
    if (value) return Substitute(term.symbol, *value);
  }
  AssumeNonNegative(zero);
  if (const auto negative = LinearForm::Combine(-1, zero, 0, {})) AssumeNonNegative(*negative);
}

// The symbol is this sum from now on, also in what is known.
void Relations::Substitute(uint32_t symbol, const LinearForm& value) {
  const SymbolRange range = state_.ranges[symbol];
  state_.equal[symbol] = value;
  for (auto& [other, sum] : state_.equal) sum = Canonical(sum);
  for (Choice& choice : state_.choices) {
    choice.first = Canonical(choice.first);
    choice.second = Canonical(choice.second);
  }
  AssumeLessEqual(LinearForm::Constant(range.lo), value);
  AssumeLessEqual(value, LinearForm::Constant(range.hi));
  const std::vector<LinearForm> known = std::exchange(state_.known, {});
  for (const LinearForm& form : known) AssumeNonNegative(form);
}

// ---- proofs ---------------------------------------------------------------------------------

bool Relations::ProvesLessEqual(const LinearForm& x, const LinearForm& y, int64_t margin) {
  const auto difference = Sum(Canonical(y), -1, Canonical(x));
  const auto goal = difference ? Sum(*difference, -1, LinearForm::Constant(margin)) : std::nullopt;
  return goal && ProvesNonNegative(*goal, kMaxSplits);
}

bool Relations::ProvesNonNegative(const LinearForm& x, int splits) {
  return Proof(state_.ranges, state_.known).NonNegative(x) || ProvesByChoice(x, splits);
}

// Both for the one and for the other sum that a minimum or maximum may be.
bool Relations::ProvesByChoice(const LinearForm& x, int splits) {
  if (splits == 0) return false;
  for (const Choice& choice : state_.choices) {
    const int64_t factor = x.Factor(choice.symbol);
    if (factor == 0) continue;
    const auto rest = Sum(x, -1, LinearForm::Of(choice.symbol, factor));
    const auto first = rest ? Sum(*rest, factor, choice.first) : std::nullopt;
    const auto second = rest ? Sum(*rest, factor, choice.second) : std::nullopt;
    return first && second && ProvesNonNegative(*first, splits - 1) &&
           ProvesNonNegative(*second, splits - 1);
  }
  return false;
}

bool Relations::IsMultipleOf(const LinearForm& x, int64_t n) const {
  return n > 0 && Canonical(x).Divisor() % static_cast<uint64_t>(n) == 0;
}

Facts Relations::FactsOf(const LinearForm& x) const {
  const LinearForm form = Canonical(x);
  if (form.IsConstant()) return Facts::Exactly(form.constant());
  Interval range = IntervalOf(form, state_.ranges);
  // With one known c >= 0: form <= form + k * c for any k > 0, and form >= form - k * c.
  for (const LinearForm& c : state_.known) {
    for (const LinearForm::Term& term : c.terms()) {
      const int64_t factor = form.Factor(term.symbol);
      if (factor == 0 || factor == INT64_MIN || factor % term.factor != 0) continue;
      const auto sum = Sum(form, -(factor / term.factor), c);
      if (!sum) continue;
      const Interval other = IntervalOf(*sum, state_.ranges);
      if (factor / term.factor > 0) {
        range.lo = std::max(range.lo, other.lo);
      } else {
        range.hi = std::min(range.hi, other.hi);
      }
    }
  }
  Facts out;
  out.lo = Clamped(range.lo);
  out.hi = std::max(out.lo, Clamped(range.hi));
  if (out.lo == out.hi) return Facts::Exactly(out.lo);
  out.multiple = std::max<uint64_t>(1, form.Divisor());
  return out;
}

// ---- scopes and text ------------------------------------------------------------------------

Relations::Mark Relations::Here() const { return {state_}; }

void Relations::Return(Mark mark) {
  state_ = std::move(mark.state);
  state_.ranges.resize(names_.size());
}

std::string Relations::NameOf(const Key& key) const {
  const auto& [op, x, y] = key;
  const std::string a = Text(x);
  const std::string b = Text(y);
  switch (op) {
    case Op::kAdd:
      return fmt::format("({} + {})", a, b);
    case Op::kSubtract:
      return fmt::format("({} - {})", a, b);
    case Op::kMultiply:
      return fmt::format("({}) * ({})", a, b);
    case Op::kDivide:
    case Op::kFloor:
      return fmt::format("({} / {})",
                         x.terms().size() == 1 && x.constant() == 0 ? a : "(" + a + ")", b);
    case Op::kModulo:
      return fmt::format("(({}) % {})", a, b);
    case Op::kCeilDivide:
      return fmt::format("ceildiv({}, {})", a, b);
    case Op::kMin:
      return fmt::format("min({}, {})", a, b);
    case Op::kMax:
      return fmt::format("max({}, {})", a, b);
    case Op::kTruncated:
      break;
  }
  return fmt::format("low bits of ({})", a);
}

std::string Relations::Text(const LinearForm& x) const {
  std::string out;
  for (const LinearForm::Term& term : x.terms()) {
    if (!out.empty()) out += term.factor < 0 ? " - " : " + ";
    const bool minus = term.factor < 0;
    if (minus && out.empty()) out += "-";
    const uint64_t size = minus ? uint64_t{0} - static_cast<uint64_t>(term.factor)
                                : static_cast<uint64_t>(term.factor);
    out += size == 1 ? names_[term.symbol] : fmt::format("{} * {}", size, names_[term.symbol]);
  }
  if (out.empty()) return fmt::format("{}", x.constant());
  if (x.constant() > 0) out += fmt::format(" + {}", x.constant());
  if (x.constant() < 0)
    out += fmt::format(" - {}", uint64_t{0} - static_cast<uint64_t>(x.constant()));
  return out;
}

}  // namespace tarsia::compiler
