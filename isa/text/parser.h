// Text to Module. Grammar: docs/syntax.md.
#ifndef TARSIA_ISA_TEXT_PARSER_H_
#define TARSIA_ISA_TEXT_PARSER_H_

#include <optional>
#include <string_view>
#include <vector>

#include "isa/module.h"
#include "layout/text/lexer.h"

namespace tarsia {

// Reports every independent error; returns a module exactly if there was none. `comments`, if
// given, receives the comments in order (for the formatter); they point into the text.
std::optional<Module> Parse(const SourceFile& source, Diagnostics& diagnostics,
                            std::vector<Comment>* comments = nullptr);

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_PARSER_H_
