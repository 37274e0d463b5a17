// The rounding mode that an instruction's modifiers name.
#ifndef TARSIA_PTX_EXEC_ROUND_H_
#define TARSIA_PTX_EXEC_ROUND_H_

#include "ptx/machine/numeric.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

// To nearest, ties to even, if none is named.
inline RoundMode RoundingOf(const Inst& inst) {
  if (inst.Has(Mod::kRz) || inst.Has(Mod::kRzi)) return RoundMode::kZero;
  if (inst.Has(Mod::kRm) || inst.Has(Mod::kRmi)) return RoundMode::kDown;
  if (inst.Has(Mod::kRp) || inst.Has(Mod::kRpi)) return RoundMode::kUp;
  return inst.Has(Mod::kRna) ? RoundMode::kAway : RoundMode::kNearest;
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_EXEC_ROUND_H_
