// Small programs for one warp, whose tiles have at most 1,024 elements and power-of-two extents.
#ifndef TARSIA_TESTS_COSTS_SMALL_PROGRAMS_H_
#define TARSIA_TESTS_COSTS_SMALL_PROGRAMS_H_

#include <span>
#include <string>
#include <string_view>

#include "isa/program.h"

namespace tarsia::costs {

struct SmallProgram {
  std::string_view name;
  std::string_view body;  // views %x, %y and others of it are made by the text itself
};

std::span<const SmallProgram> SmallPrograms();
// The whole text: a kernel of one warp with the pointers %x, %y, %z and %w.
std::string TextOf(const SmallProgram& program);
// Ends the test program if the text is wrong.
Program Compiled(const SmallProgram& program);

}  // namespace tarsia::costs

#endif  // TARSIA_TESTS_COSTS_SMALL_PROGRAMS_H_
