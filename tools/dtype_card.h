// The facts of an element type as rows of text; `tarsia dtype NAME` prints them.
#ifndef TARSIA_TOOLS_DTYPE_CARD_H_
#define TARSIA_TOOLS_DTYPE_CARD_H_

#include <string>
#include <string_view>
#include <vector>

#include "dtypes/dtype.h"

namespace tarsia::tools {

// A fact of a type: its name and its value.
struct Fact {
  std::string_view name;
  std::string text;
};

// The facts of the type's kind, in order of display. A number is an exact decimal if that is short,
// followed by its power of two if it is one.
std::vector<Fact> FactsOf(DType type);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_DTYPE_CARD_H_
