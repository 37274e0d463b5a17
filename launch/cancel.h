// Launches that their caller cancelled.
#ifndef TARSIA_LAUNCH_CANCEL_H_
#define TARSIA_LAUNCH_CANCEL_H_

#include "isa/program.h"
#include "support/result.h"
#include "support/stop.h"

namespace tarsia::launch {

// An error if the launch of a program was cancelled. `stop` may be null.
Status CheckNotStopped(const Program& program, const StopCheck* stop);

}  // namespace tarsia::launch

#endif  // TARSIA_LAUNCH_CANCEL_H_
