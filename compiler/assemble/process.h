// Programs run as processes of their own. The process that this library is in may have other
// threads that start children, may ignore the end of its children, or wait for all of them.
#ifndef TARSIA_COMPILER_ASSEMBLE_PROCESS_H_
#define TARSIA_COMPILER_ASSEMBLE_PROCESS_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "support/result.h"
#include "support/stop.h"

namespace tarsia::compiler {

// Far beyond what a tool takes for any kernel that is made here.
inline constexpr std::chrono::milliseconds kToolLimit = std::chrono::minutes(5);

struct ProcessOutput {
  // 128 + the signal's number if a signal ended it. Nothing where nobody can know: the parent
  // ignores SIGCHLD, or waited for the child elsewhere. Then what the program has made tells.
  std::optional<int> exit_code;
  std::string out;
  std::string err;
};

// Runs a program with arguments (no shell), waits until it ends, and returns what it printed till
// then; children that it leaves behind are not waited for. It is ended by force at the limit, and
// when `stop` (may be null) says so. Errors: it could not be started, the limit, `stop`.
// Thread-safe.
Result<ProcessOutput> RunProcess(const std::string& path, const std::vector<std::string>& arguments,
                                 std::chrono::milliseconds limit = kToolLimit,
                                 StopCheck* stop = nullptr);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_PROCESS_H_
