// Makes the repetition of elementwise operands explicit, so that nothing after it knows of any: the
// interpreter and the compiler see operands of one shape.
//
//   %c = add %a, %b                      for %a of [16, 8] and %b of [8] becomes
//
//   %b_1 = unsqueeze %b axes [0]
//   %b_2 = broadcast %b_1 : [16, 8]
//   %c = add %a, %b_2
#ifndef TARSIA_ISA_BROADCASTS_H_
#define TARSIA_ISA_BROADCASTS_H_

#include <vector>

#include "isa/module.h"
#include "isa/validate.h"

namespace tarsia {

// The constants of the kernel must be substituted, and its shapes checked. `types` is by value.
// Returns whether there was anything to repeat; values are then renumbered.
bool InsertBroadcasts(Module& module, Kernel& kernel, const std::vector<ValueType>& types);

}  // namespace tarsia

#endif  // TARSIA_ISA_BROADCASTS_H_
