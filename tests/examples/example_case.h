// What the tests of example programs share: random tensors, and the check of a case.
#ifndef TARSIA_TESTS_EXAMPLES_EXAMPLE_CASE_H_
#define TARSIA_TESTS_EXAMPLES_EXAMPLE_CASE_H_

#include <cstdint>
#include <string>

#include "tests/harness/case.h"
#include "tests/harness/run_case.h"
#include "tests/harness/tensor.h"

namespace tarsia::example_test {

// The code of a value that the type must hold exactly.
uint64_t Code(DType type, double value);

// Multiples of `step` from -steps * step to steps * step, which the type must hold exactly.
harness::Tensor RandomValues(DType type, harness::Shape shape, int steps, double step,
                             uint64_t seed);

// Random codes of an integer type, all of its width.
harness::Tensor RandomCodes(DType type, harness::Shape shape, uint64_t seed);

// The value of element [row, column] of a matrix, or of element [column] of row 0.
double At(const harness::Tensor& x, int64_t row, int64_t column);

// A case of the program examples/NAME; inputs and outputs are yet to be added.
harness::Case ExampleCase(const std::string& name, const std::string& title,
                          std::vector<Binding> constants);

// Runs the case on every witness, and shows that deliberate faults in each output of the
// interpreter are rejected: tiles of `tile_rows` x `tile_columns` that were never written, and
// wrong elements. Expects all of that; returns the result.
harness::CaseResult Check(const harness::Case& c, int64_t tile_rows, int64_t tile_columns);

}  // namespace tarsia::example_test

#endif  // TARSIA_TESTS_EXAMPLES_EXAMPLE_CASE_H_
