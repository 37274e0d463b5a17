// Checks one kernel, before or after its constants are known. Internal to isa/.
#ifndef TARSIA_ISA_VALIDATE_CHECK_KERNEL_H_
#define TARSIA_ISA_VALIDATE_CHECK_KERNEL_H_

#include <optional>
#include <vector>

#include "isa/module.h"
#include "isa/specialise.h"
#include "isa/validate.h"

namespace tarsia {

// The results of the check.
struct KernelFacts {
  std::vector<ValueType> types;      // by value
  std::optional<int64_t> warps;      // if they are known
  std::optional<int64_t> registers;  // if there is a bound, and it is known
};

// Reports every independent error of the kernel, which belongs to the module. `limits` is null
// while constants are open. Adds expressions to the module's pool.
KernelFacts CheckKernel(Module& module, const Kernel& kernel, const TargetLimits* limits,
                        Diagnostics& diagnostics);

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_CHECK_KERNEL_H_
