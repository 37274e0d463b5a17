// Adds the transfers of inputs and outputs to the launches of a plan. Internal to planner/.
#ifndef TARSIA_PLANNER_TRANSFERS_H_
#define TARSIA_PLANNER_TRANSFERS_H_

#include "planner/plan.h"

namespace tarsia {

// The plan has its buffers, and only launches. An input is loaded before the launch that reads it
// first, an output is stored behind the last launch that uses it. Of those with two buffers, each
// chunk is; it is loaded while the launches of the chunk before it run. Then finds the lifetimes of
// all buffers.
void AddTransfers(Plan* plan);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_TRANSFERS_H_
