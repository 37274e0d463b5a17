// What is known of the scalars of a program before any code is made: from their types, from what
// `assume` says and from what every launch checks.
#ifndef TARSIA_COMPILER_FACTS_SCALAR_FACTS_H_
#define TARSIA_COMPILER_FACTS_SCALAR_FACTS_H_

#include <vector>

#include "compiler/facts/facts.h"
#include "isa/program.h"

namespace tarsia::compiler {

struct ScalarFacts {
  std::vector<Facts> facts;         // by value
  std::vector<bool> assigned_once;  // by value: one instruction gives it, so facts of it stay true
};

ScalarFacts CollectScalarFacts(const Program& program);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_FACTS_SCALAR_FACTS_H_
