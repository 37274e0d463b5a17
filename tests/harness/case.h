// A case: a program, what it is given, and what must come out. It is written once and run by every
// witness that exists (tests/harness/witness.h), with no change.
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

// What a pointer parameter holds before the launch: a tensor of the type and shape of the kernel's
// view of it, put into memory in the order that the view names; or, if `raw`, bytes as they are.
struct Input {
  std::string name;
  Tensor value;
  bool raw = false;
  std::vector<uint8_t> bytes = {};
};

// What a pointer parameter holds after it. One that is also an input is read and written.
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
  // finding has no meaning, so that its outputs are then compared by checking witnesses only.
  std::vector<std::string> findings;
  // If not empty, all lines that must be printed.
  std::vector<std::string> lines;
  // Which of the witnesses that compile run it. One in turn: which follows from the program, so
  // that many programs spread over all. With TARSIA_LONG set it is all of them.
  enum class Compiled : uint8_t { kAll, kOneInTurn, kNone };
  Compiled compiled = Compiled::kAll;
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_CASE_H_
