// The way out of SSA: which values share a variable.
#ifndef TARSIA_COMPILER_TILE_VARIABLES_H_
#define TARSIA_COMPILER_TILE_VARIABLES_H_

#include <utility>
#include <vector>

#include "compiler/tile/form.h"

namespace tarsia::compiler::tile {

// One copy that is needed where a value moves to another variable; both are variables.
struct Copy {
  uint32_t to = 0;
  uint32_t from = 0;
};

struct Variables {
  std::vector<uint32_t> of;  // the variable of a value
  // The variables that must exist before an operation (by operation), because they get their first
  // value inside of its regions and are used outside of these.
  std::vector<std::vector<uint32_t>> declared_before;
};

// Values of one variable of the author stay together, and so do a carried value's init, argument,
// yield and result, where their live ranges allow it. For a form that a pass left as Build made it,
// these are the variables of its program. A variable is numbered by one of its values.
Variables AssignVariables(const Form& form);

// The copies of values in pairs (to, from) that do not share a variable. They happen at once.
std::vector<Copy> CopiesOf(const Variables& variables, const std::vector<ValueId>& to, size_t first,
                           const std::vector<ValueId>& from);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_VARIABLES_H_
