// Numbers the values of a kernel anew after its code has changed.
#ifndef TARSIA_ISA_RENUMBER_H_
#define TARSIA_ISA_RENUMBER_H_

#include "isa/module.h"

namespace tarsia {

// Numbers the values in the order in which the code defines them, after the parameters, and drops
// those that it does not define. Every value in use must have a definition.
void RenumberValues(Module& module, Kernel& kernel);

}  // namespace tarsia

#endif  // TARSIA_ISA_RENUMBER_H_
