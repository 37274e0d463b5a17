// From PTX to machine code: by ptxas as a process, or where it is not found by the library of
// compiler/assemble/library.h.
#ifndef TARSIA_COMPILER_ASSEMBLE_ASSEMBLE_H_
#define TARSIA_COMPILER_ASSEMBLE_ASSEMBLE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/assemble/process.h"
#include "compiler/target.h"
#include "support/result.h"

namespace tarsia::compiler {

// What ptxas says of one kernel; bytes a thread but for shared memory, which is a block's.
struct KernelResources {
  std::string name;
  int registers = 0;
  int64_t stack_bytes = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t shared_bytes = 0;  // static
  int barriers = 0;
};

struct Assembled {
  std::string cubin;
  std::vector<KernelResources> kernels;  // in the order of ptxas
  std::vector<std::string> warnings;     // a line each, as ptxas prints it

  // The kernel's row, or null.
  [[nodiscard]] const KernelResources* Find(std::string_view name) const;
};

// Assembles a module of any number of kernels: a call costs about 0.1 s, so put many into one. The
// folder that the environment variable TARSIA_CUBIN_CACHE names keeps results by a hash of the
// text, the target and the assembler. Errors: neither ptxas (says where it was looked for)
// nor the library, PTX that is refused (the messages), ptxas beyond the limit of time, or `stop`
// (may be null), which ends ptxas but not the library. Thread-safe.
Result<Assembled> Assemble(std::string_view ptx, Target target,
                           std::chrono::milliseconds limit = kToolLimit, StopCheck* stop = nullptr);

// One PTX text of several of one target: one header, then their bodies. Names must differ.
std::string JoinPtx(const std::vector<std::string>& modules);

// Reads what `ptxas -v` prints. For Assemble, and for logs from elsewhere.
void ParsePtxasLog(std::string_view log, Assembled& out);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_ASSEMBLE_H_
