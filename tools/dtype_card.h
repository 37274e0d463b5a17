// What there is to know of an element type, as rows of text: `tarsia dtype NAME` prints them.
#ifndef TARSIA_TOOLS_DTYPE_CARD_H_
#define TARSIA_TOOLS_DTYPE_CARD_H_

#include <string>
#include <string_view>
#include <vector>

#include "dtypes/dtype.h"

namespace tarsia::tools {

// A fact of a type: its name in words, and what it is.
struct Fact {
  std::string_view name;
  std::string text;
};

// The facts that the kind of the type has, in the order to show them. A number stands as an exact
// decimal where that is short, and beside it as a power of two where it is one.
std::vector<Fact> FactsOf(DType type);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_DTYPE_CARD_H_
