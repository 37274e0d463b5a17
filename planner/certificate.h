// The certificate of a plan: what a reader, or the checker of planner/check, needs in order to see
// that the peak is below the limit.
#ifndef TARSIA_PLANNER_CERTIFICATE_H_
#define TARSIA_PLANNER_CERTIFICATE_H_

#include <string>

#include "planner/plan.h"

namespace tarsia {

// JSON:
//   {"limit": bytes or null, "limit_kind": "total|scratch", "peak": bytes,
//    "buffers": [{"name", "offset", "size", "first", "last", "kind": "input|output|scratch"}, ..],
//    "steps": [{"kernel", "reads": [name, ..], "writes": [name, ..], "ranges": {axis: [a, b]}},
//    ..]}
//
// `first` and `last` are steps. `offset` is null where the limit does not count the buffer. A range
// is without its end. Instead of `kernel`, the transfer of an input has `load` and that of an
// output `store`, with the name of the tensor; its ranges say which part of the tensor is in the
// buffer, which holds no more than that.
//
// The plan of one of several ranks has "share": {"axis", "rank", "ranks", "range": [a, b]}: kernels
// that have the axis cover only that range. A step with `merge` in place of `kernel` takes the
// buffers in `receives` from other ranks, and merges them into those in `writes`, which all ranks
// then have alike.
std::string CertificateText(const Plan& plan, const ConcreteGraph& graph);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_CERTIFICATE_H_
