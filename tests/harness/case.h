// A case: a program, its inputs, and its expected results. It is written once and run unchanged by
// every witness (tests/harness/witness.h).
#ifndef TARSIA_TESTS_HARNESS_CASE_H_
#define TARSIA_TESTS_HARNESS_CASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/specialise.h"
#include "tests/harness/expectation.h"
#include "tests/harness/tensor.h"

namespace tarsia::harness {

// A value for a scalar parameter: a code of the parameter's type.
struct ScalarInput {
  std::string name;
  uint64_t code = 0;
};

// The contents of a pointer parameter before the launch: a tensor of the type and shape of the
// kernel's view, stored in the layout of the view; or, if `raw`, plain bytes.
struct Input {
  std::string name;
  Tensor value;
  bool raw = false;
  std::vector<uint8_t> bytes = {};
};

// The contents of a pointer parameter after the launch. One that is also an input is read and
// written.
struct Output {
  std::string name;
  Expectation expected;
};

struct Case {
  std::string title;  // for messages
  std::string where;  // file:line of the case, if it has one
  SourceFile source;
  std::string kernel;  // empty: the only one
  std::vector<Binding> constants;
  std::vector<ScalarInput> scalars;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  // If not empty, specialisation or launch must fail with a message that contains it.
  std::string error;
  // Ids of the findings that a checking witness must report, and no others. A program with a
  // finding has undefined behaviour, so only checking witnesses compare its outputs.
  std::vector<std::string> findings;
  // If not empty, all lines that must be printed.
  std::vector<std::string> lines;
  // Which of the compiling witnesses run it. kOneInTurn: one, chosen by the program, so that many
  // programs use all of them. With TARSIA_LONG set, all of them.
  enum class Compiled : uint8_t { kAll, kOneInTurn, kNone };
  Compiled compiled = Compiled::kAll;
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_CASE_H_
