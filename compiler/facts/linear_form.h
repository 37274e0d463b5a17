// Sums of symbols: c + a1 * s1 + a2 * s2 + .., over the integers, without wrapping. What the
// symbols stand for is kept elsewhere (relations.h).
#ifndef TARSIA_COMPILER_FACTS_LINEAR_FORM_H_
#define TARSIA_COMPILER_FACTS_LINEAR_FORM_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace tarsia::compiler {

class LinearForm {
 public:
  struct Term {
    uint32_t symbol = 0;
    int64_t factor = 0;  // never 0
    friend auto operator<=>(const Term&, const Term&) = default;
  };

  LinearForm() = default;  // 0
  static LinearForm Constant(int64_t constant);
  static LinearForm Of(uint32_t symbol, int64_t factor = 1);

  // By symbol, each once.
  [[nodiscard]] const std::vector<Term>& terms() const { return terms_; }
  [[nodiscard]] int64_t constant() const { return constant_; }
  [[nodiscard]] bool IsConstant() const { return terms_.empty(); }
  // The factor of a symbol; 0 if it is not in the sum.
  [[nodiscard]] int64_t Factor(uint32_t symbol) const;
  // The greatest common divisor of the factors; 0 if there are none.
  [[nodiscard]] uint64_t FactorDivisor() const;
  // The same with the constant: it divides every value of the sum; 0 for the sum 0.
  [[nodiscard]] uint64_t Divisor() const;

  // a * x + b * y; nothing if a number of it does not fit in 64 bits.
  static std::optional<LinearForm> Combine(int64_t a, const LinearForm& x, int64_t b,
                                           const LinearForm& y);
  // The sum with every number divided by n > 0 and rounded down.
  [[nodiscard]] LinearForm FloorDividedEach(int64_t n) const;
  // The sum with every number replaced by its remainder, 0 to n - 1.
  [[nodiscard]] LinearForm RemainderEach(int64_t n) const;

  friend auto operator<=>(const LinearForm&, const LinearForm&) = default;

 private:
  // The sum with every number x replaced by map(x, n).
  [[nodiscard]] LinearForm MapEach(int64_t (*map)(int64_t, int64_t), int64_t n) const;

  std::vector<Term> terms_;
  int64_t constant_ = 0;
};

// Rounded down, for n > 0.
constexpr int64_t FloorDivide(int64_t x, int64_t n) { return x / n - (x % n < 0 ? 1 : 0); }
constexpr int64_t FloorModulo(int64_t x, int64_t n) { return x % n + (x % n < 0 ? n : 0); }

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_FACTS_LINEAR_FORM_H_
