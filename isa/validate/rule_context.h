// The functions for the rules of the validator (isa/validate/<family>.cc). Internal to isa/.
//
// A rule receives an instruction whose operands already have the right kinds and element types
// (that follows from isa.def) and checks the rest: how operands agree, and the types of the
// results. Comparisons have three outcomes while constants are open: only certain errors are
// reported, the rest is decided when the kernel is specialised.
#ifndef TARSIA_ISA_VALIDATE_RULE_CONTEXT_H_
#define TARSIA_ISA_VALIDATE_RULE_CONTEXT_H_

#include "isa/validate/annotations.h"
#include "isa/validate/attributes.h"
#include "isa/validate/context.h"
#include "isa/validate/expressions.h"
#include "isa/validate/operands.h"
#include "isa/validate/results.h"
#include "isa/validate/scopes.h"
#include "isa/validate/shared_memory.h"
#include "isa/validate/tile_layouts.h"
#include "isa/validate/value_types.h"

namespace tarsia {

struct RuleContext {
  KernelContext& context;  // errors, and the types of values
  const Kernel& kernel;    // the kernel as written
  ExprPool& pool;          // its expressions
  Expressions& expressions;
  const Scopes& scopes;
  Operands& operands;
  Attributes& attributes;
  Annotations& annotations;
  TileLayouts& layouts;
  Results& results;
  SharedMemory& shared_memory;
};

// One function per row of isa.def, in isa/validate/<family>.cc.
#define VALIDATE(name) \
  void Validate##name([[maybe_unused]] RuleContext& check, [[maybe_unused]] const Inst& inst)
#define INST(name, ...) VALIDATE(name);
#include "isa/isa.def"
#undef INST

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_RULE_CONTEXT_H_
