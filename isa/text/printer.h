// Module to text: canonical, and Parse(Print(m)) equals m up to locations.
#ifndef TARSIA_ISA_TEXT_PRINTER_H_
#define TARSIA_ISA_TEXT_PRINTER_H_

#include <string>

#include "isa/module.h"
#include "layout/text/lexer.h"

namespace tarsia {

std::string Print(const Module& module);

// The canonical text of `source` with its comments and its grouping by blank lines. Empty exactly
// if the text has errors, which are reported. Idempotent.
std::optional<std::string> Format(const SourceFile& source, Diagnostics& diagnostics);

// One instruction (the head of a block, without its body) as text, for messages and traces.
std::string PrintInst(const Module& module, const Kernel& kernel, const Inst& inst);

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_PRINTER_H_
