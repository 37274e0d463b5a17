// From a draft to a module with one graph. Internal to isa/.
#ifndef TARSIA_ISA_REWRITE_WRITE_DRAFT_H_
#define TARSIA_ISA_REWRITE_WRITE_DRAFT_H_

#include <vector>

#include "isa/module.h"
#include "isa/rewrite/draft.h"

namespace tarsia::rewrite {

// The graph of the nodes that outputs need, in statements: what is used several times and what
// reduces has a name. `graph` has the inputs and the outputs, `outputs` their values in the draft.
Module WriteDraft(Draft draft, const ConcreteGraph& graph, const std::vector<ValueId>& outputs);

}  // namespace tarsia::rewrite

#endif  // TARSIA_ISA_REWRITE_WRITE_DRAFT_H_
