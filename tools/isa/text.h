// The reference of the instructions, made from the table isa/isa.def: cards, docs/isa.md, and the
// grammar for editors.
#ifndef TARSIA_TOOLS_ISA_TEXT_H_
#define TARSIA_TOOLS_ISA_TEXT_H_

#include <string>

#include "isa/instruction.h"

namespace tarsia::tools {

// Its form: "%value = load source[index, ..] [cache default|..] : [shape]".
std::string Signature(const InstRow& row);
// "a register tile of any type".
std::string OperandText(const OperandRow& operand);
// The form of an attribute: "keepdims", "axis N", "rounding nearest|toward_zero|stochastic".
std::string AttributeText(Attr attr);
// What `: type` must say; empty if it must not be written.
std::string AnnotationText(Annotation annotation);

// "2^-22 of the result or 2^-22, for |b| up to 2^126"; empty if the row has no `fast` form.
std::string FastErrorText(const InstRow& row);

// The output of `tarsia isa MNEMONIC`.
std::string IsaCard(const InstRow& row);
// One line per instruction, by family.
std::string IsaList();
std::string IsaJson();
std::string IsaMarkdown();
std::string IsaGrammar();
// The operations of graphs: docs/graph-operations.md, from isa/graph/ops.def.
std::string GraphMarkdown();

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_ISA_TEXT_H_
