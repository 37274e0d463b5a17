// Runs programs as processes. The process of this library may have other threads that start
// children, may ignore the end of its children, or wait for all of them.
#ifndef TARSIA_COMPILER_ASSEMBLE_PROCESS_H_
#define TARSIA_COMPILER_ASSEMBLE_PROCESS_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "support/result.h"
#include "support/stop.h"

namespace tarsia::compiler {

// Much more than a tool needs for any kernel of the compiler.
inline constexpr std::chrono::milliseconds kToolLimit = std::chrono::minutes(5);

struct ProcessOutput {
  // 128 + the signal's number if a signal ended it. Empty if it is unknown, because the parent
  // ignores SIGCHLD, or waited for the child elsewhere. Then the output of the program decides.
  std::optional<int> exit_code;
  std::string out;
  std::string err;
};

// Runs a program with arguments (no shell), waits until it ends, and returns its output until then;
// does not wait for its children. Kills it at the limit, and if `stop` (may be null) requests it.
// Errors: it could not be started, the limit, `stop`. Thread-safe.
Result<ProcessOutput> RunProcess(const std::string& path, const std::vector<std::string>& arguments,
                                 std::chrono::milliseconds limit = kToolLimit,
                                 StopCheck* stop = nullptr);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_PROCESS_H_
