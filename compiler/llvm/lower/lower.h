// One function for each row of isa.def, in the file of its family: a row without one does not link.
#ifndef TARSIA_COMPILER_LLVM_LOWER_LOWER_H_
#define TARSIA_COMPILER_LLVM_LOWER_LOWER_H_

#include "compiler/llvm/lower/emitter.h"

namespace tarsia::compiler {

using LowerFunction = Status (*)(Emitter&);

#define LOWER(name) Status Lower##name([[maybe_unused]] Emitter& e)

#define INST(name, ...) LOWER(name);
#include "isa/isa.def"
#undef INST

LowerFunction LoweringOf(Opcode opcode);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_LOWER_LOWER_H_
