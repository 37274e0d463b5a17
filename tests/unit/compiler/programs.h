// Programs for tests of the compiler, from text.
#ifndef TARSIA_TESTS_UNIT_COMPILER_PROGRAMS_H_
#define TARSIA_TESTS_UNIT_COMPILER_PROGRAMS_H_

#include <string>
#include <vector>

#include "isa/program.h"
#include "isa/specialise.h"

namespace tarsia::compiler {

// The first kernel of a correct text; ends the test program on errors.
Program MakeProgram(const std::string& text, const std::vector<Binding>& constants = {});

}  // namespace tarsia::compiler

#endif  // TARSIA_TESTS_UNIT_COMPILER_PROGRAMS_H_
