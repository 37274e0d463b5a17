// What is known of integers and between them: each is a sum of symbols, symbols have ranges, and
// sums are known not to be negative or to be equal. a < b is proven on the difference b - a.
//
// A value is a sum only where its 64-bit arithmetic is proven not to wrap; otherwise it is a symbol
// of its own. Divisors lie in the factors: a symbol that is a multiple of 16 is 16 times another
// one. Quotients, remainders, minima and maxima are symbols with relations to their operands; the
// same operation on the same operands is the same symbol.
#ifndef TARSIA_COMPILER_FACTS_RELATIONS_H_
#define TARSIA_COMPILER_FACTS_RELATIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "compiler/facts/facts.h"
#include "compiler/facts/linear_form.h"
#include "compiler/facts/proof.h"
#include "dtypes/dtype.h"

namespace tarsia::compiler {

// Not thread-safe.
class Relations {
 public:
  // An integer of which only this is known. The name is for people.
  LinearForm NewSymbol(const Facts& facts, std::string name);

  // The arithmetic of scalar expressions (layout/text/arithmetic.h) on 64-bit integers: it wraps,
  // quotients are rounded to zero, x / 0 = -1, x % 0 = x.
  LinearForm Add(const LinearForm& x, const LinearForm& y);
  LinearForm Subtract(const LinearForm& x, const LinearForm& y);
  LinearForm Multiply(const LinearForm& x, const LinearForm& y);
  LinearForm Divide(const LinearForm& x, const LinearForm& y);
  LinearForm Modulo(const LinearForm& x, const LinearForm& y);
  LinearForm CeilDivide(const LinearForm& x, const LinearForm& y);
  LinearForm Min(const LinearForm& x, const LinearForm& y);
  LinearForm Max(const LinearForm& x, const LinearForm& y);
  // Cut to the low bits of an integer type.
  LinearForm Truncated(const LinearForm& x, DType type);

  // Adds a relation. If it contradicts what is known, it is ignored or makes anything provable.
  void AssumeLessEqual(const LinearForm& x, const LinearForm& y) { AssumeLess(x, y, 0); }
  void AssumeLess(const LinearForm& x, const LinearForm& y) { AssumeLess(x, y, 1); }
  void AssumeEqual(const LinearForm& x, const LinearForm& y);

  // Whether a relation is proven for all values of the symbols that satisfy every known relation.
  // False: not proven.
  bool ProvesLessEqual(const LinearForm& x, const LinearForm& y, int64_t margin = 0);
  bool ProvesLess(const LinearForm& x, const LinearForm& y) { return ProvesLessEqual(x, y, 1); }
  [[nodiscard]] bool IsMultipleOf(const LinearForm& x, int64_t n) const;
  // A range and a divisor of the value.
  [[nodiscard]] Facts FactsOf(const LinearForm& x) const;

  // A scope: Return forgets the relations and the operations that were added since Here. Values
  // that were made in between must not be used any more.
  struct Mark;
  [[nodiscard]] Mark Here() const;
  void Return(Mark mark);

  // "64 * %bx + 3".
  [[nodiscard]] std::string Text(const LinearForm& x) const;

 private:
  enum class Op : uint8_t {
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kCeilDivide,
    kFloor,
    kMin,
    kMax,
    kTruncated
  };
  using Key = std::tuple<Op, LinearForm, LinearForm>;
  // A symbol that is one of two sums.
  struct Choice {
    uint32_t symbol = 0;
    LinearForm first;
    LinearForm second;
  };
  struct State {
    std::vector<SymbolRange> ranges;  // by symbol
    std::vector<LinearForm> known;    // not negative
    std::map<uint32_t, LinearForm> equal;
    std::vector<Choice> choices;
    std::map<Key, LinearForm> made;
  };

  [[nodiscard]] LinearForm Canonical(const LinearForm& x) const;
  void AssumeLess(const LinearForm& x, const LinearForm& y, int64_t margin);
  void AssumeNonNegative(const LinearForm& x);
  void Substitute(uint32_t symbol, const LinearForm& value);
  bool ProvesNonNegative(const LinearForm& x, int splits);
  bool ProvesByChoice(const LinearForm& x, int splits);
  [[nodiscard]] bool FitsIn64Bits(const LinearForm& x);
  // The result of an operation: made before, or a new symbol of which `facts` are known.
  const LinearForm* Made(const Key& key) const;
  LinearForm Opaque(const Key& key, const Facts& facts);
  LinearForm Checked(Op op, const LinearForm& x, const LinearForm& y,
                     const std::optional<LinearForm>& sum, const Facts& facts);
  LinearForm Floor(const LinearForm& x, int64_t n);
  LinearForm TruncatedQuotient(const LinearForm& x, int64_t n);
  LinearForm MinOrMax(Op op, const LinearForm& x, const LinearForm& y);
  [[nodiscard]] std::string NameOf(const Key& key) const;

  State state_;
  std::vector<std::string> names_;  // by symbol
};

struct Relations::Mark {
  State state;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_FACTS_RELATIONS_H_
