// Problems as cases of the two example programs.
#ifndef TARSIA_TESTS_MATMUL_RUN_PROBLEM_H_
#define TARSIA_TESTS_MATMUL_RUN_PROBLEM_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/harness/run_case.h"
#include "tests/matmul/problem.h"

namespace tarsia::matmul {

// How the program is made from the text: tile sizes, and how the weights lie in memory.
struct Shape {
  int64_t bm = 16;
  int64_t bn = 128;
  int64_t bk = 64;
  std::string pack;  // a memory layout; empty: row-major bits
};

// One program for any m, as a problem's spec and a shape ask for it.
class Matmul {
 public:
  Matmul(const Spec& spec, const Shape& shape);
  // Not ok where the program could not be made; a failure has been reported then.
  [[nodiscard]] bool ok() const { return made_.program.has_value(); }

  [[nodiscard]] const Program& program() const { return *made_.program; }  // where ok()
  [[nodiscard]] harness::Case CaseOf(const Problem& p) const;
  // Runs the problem on every witness and shows that its comparison rejects faults in the output.
  void Check(const Problem& p,
             harness::Case::Compiled compiled = harness::Case::Compiled::kAll) const;
  // Whether any one witness gets the problem as it expects.
  [[nodiscard]] bool Holds(const Problem& p) const;

 private:
  Shape shape_;
  SourceFile source_;
  std::vector<Binding> constants_;
  harness::Made made_;
};

// Of these types the compiled kernels run every problem; of the others, which share their code, a
// few. With TARSIA_LONG set all of them do.
bool IsRepresentative(DType w);
// Every integer and float of at most 8 bits.
std::vector<DType> WeightTypes();
// The packed order made for a type of activations.
std::string PackedOrder(DType x);

}  // namespace tarsia::matmul

#endif  // TARSIA_TESTS_MATMUL_RUN_PROBLEM_H_
