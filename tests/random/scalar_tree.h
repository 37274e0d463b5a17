// Random scalar expressions, their text, and what docs/syntax.md says that they are worth: computed
// here from that document alone, with nothing of the library's own evaluation.
#ifndef TARSIA_TESTS_RANDOM_SCALAR_TREE_H_
#define TARSIA_TESTS_RANDOM_SCALAR_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "tests/random/rng.h"

namespace tarsia {

enum class ScalarType : uint8_t { kInt, kBool, kFloat };

// A number of an expression: the member that `type` says counts.
struct ScalarNumber {
  ScalarType type = ScalarType::kInt;
  int64_t i = 0;
  bool b = false;
  double f = 0;

  static ScalarNumber Int(int64_t x) { return {ScalarType::kInt, x, false, 0}; }
  static ScalarNumber Bool(bool x) { return {ScalarType::kBool, 0, x, 0}; }
  static ScalarNumber Float(double x) { return {ScalarType::kFloat, 0, false, x}; }
};

// What an expression of that type is worth where it stands for a scalar of a type `dtype`: the
// code. An integer that follows from scalars keeps its low bits.
uint64_t RoundTo(const ScalarNumber& number, DType dtype);
// The reverse: what a scalar is in an expression.
ScalarNumber NumberOf(DType dtype, uint64_t code);

// A scalar that expressions may read.
struct ScalarVariable {
  std::string name;  // without '%'
  ScalarNumber number;
};

struct ScalarTree {
  enum class Kind : uint8_t { kLiteral, kVariable, kOperation };
  Kind kind = Kind::kLiteral;
  ScalarNumber number;    // kLiteral, kVariable
  std::string name;       // of the variable, of the operator, or of the function
  bool keywords = false;  // the arguments of the function are given by name, the last one first
  std::vector<ScalarTree> children;
};

class ScalarTreeWriter {
 public:
  // Reads the variables as they are when a tree is made. With `closed` trees read none.
  ScalarTreeWriter(Rng& rng, const std::vector<ScalarVariable>& variables, bool closed)
      : rng_(rng), variables_(variables), closed_(closed) {}
  ScalarTree Make(ScalarType type, int depth);

 private:
  ScalarTree Leaf(ScalarType type);
  ScalarTree IntTree(int depth);
  ScalarTree BoolTree(int depth);
  ScalarTree FloatTree(int depth);
  ScalarTree Comparison(int depth);
  double FloatLiteral();

  Rng& rng_;
  const std::vector<ScalarVariable>& variables_;
  const bool closed_;
};

ScalarTree Literal(const ScalarNumber& number);
ScalarTree Operation(std::string name, std::vector<ScalarTree> children);

std::string TextOf(const ScalarTree& tree);
bool ReadsScalars(const ScalarTree& tree);
// In 64 bits that wrap. `error`, if not null, becomes true where an operation that constants are
// not allowed is computed: overflow of integers, division by zero.
ScalarNumber ValueOf(const ScalarTree& tree, bool* error = nullptr);

// An integer that makes trouble, or a small one.
int64_t TroublesomeInt(Rng& rng);

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_SCALAR_TREE_H_
