// The devices that `tarsia reduce` is to use.
#ifndef TARSIA_TOOLS_REDUCE_DEVICE_LIST_H_
#define TARSIA_TOOLS_REDUCE_DEVICE_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "tools/reduce/world.h"

namespace tarsia::tools {

// `cuda:all` is every GPU; a list has commas. Of several processes on one machine, each takes
// another GPU for `cuda` and for "", the default device. Errors: an empty list, no GPU, several
// devices for one of several processes.
Result<std::vector<std::string>> DevicesOf(std::string_view text, const ProcessRank& process);

// CPU threads for each of the processes on this machine: all of those that it may use, divided
// among them unless each has its own.
uint32_t ThreadsOf(const ProcessRank& process);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_DEVICE_LIST_H_
