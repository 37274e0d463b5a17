// Problems as cases of the example programs.
#ifndef TARSIA_TESTS_MATMUL_RUN_PROBLEM_H_
#define TARSIA_TESTS_MATMUL_RUN_PROBLEM_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/harness/run_case.h"
#include "tests/matmul/problem.h"

namespace tarsia::matmul {

// The constants of the program: tile sizes, and the layout of the weights.
struct Shape {
  int64_t bm = 16;
  int64_t bn = 128;
  int64_t bk = 64;
  std::string pack = {};  // a memory layout; empty: row-major bits
  // Another program than the one of the weights, and its own constants.
  std::string program = {};
  std::vector<Binding> more = {};
};

// One program for any m, for a problem's spec and a shape.
class Matmul {
 public:
  Matmul(const Spec& spec, const Shape& shape);
  // Whether the program could be made; if not, a failure has been reported.
  [[nodiscard]] bool ok() const { return made_.program.has_value(); }

  [[nodiscard]] const Program& program() const { return *made_.program; }  // where ok()
  [[nodiscard]] harness::Case CaseOf(const Problem& p) const;
  // Runs the problem on every witness and shows that its comparison rejects faults in the output.
  void Check(const Problem& p,
             harness::Case::Compiled compiled = harness::Case::Compiled::kAll) const;
  // Whether a witness computes the expected result of the problem.
  [[nodiscard]] bool Holds(const Problem& p) const;

 private:
  Shape shape_;
  SourceFile source_;
  std::vector<Binding> constants_;
  harness::Made made_;
};

// Whether the compiled kernels run every problem of a type; for the other types, which share their
// code, only a few, or all with TARSIA_LONG.
bool IsRepresentative(DType w);
// Every integer and float of at most 8 bits.
std::vector<DType> WeightTypes();
// The packed order made for a type of activations.
std::string PackedOrder(DType x);

}  // namespace tarsia::matmul

#endif  // TARSIA_TESTS_MATMUL_RUN_PROBLEM_H_
