// From PTX to machine code: with ptxas as a process, or, if it is not found, with the library of
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

// The report of ptxas on one kernel; bytes per thread, except shared memory, which is per block.
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
  std::vector<std::string> warnings;     // one line each, as ptxas prints it
  std::string log;                       // the whole output

  // The kernel's row, or null.
  [[nodiscard]] const KernelResources* Find(std::string_view name) const;
};

// Names the assembler that Assemble would use, with its version. Errors: there is none (with the
// places searched). Thread-safe.
Result<std::string> AssemblerIdentity();

// Assembles a module of any number of kernels: a call costs about 0.1 s, so put many into one.
// Errors: neither ptxas (with the places searched) nor the library, PTX that is refused (with the
// messages), ptxas exceeds the time limit, or `stop` (may be null), which ends ptxas but not the
// library. Thread-safe.
Result<Assembled> Assemble(std::string_view ptx, Target target,
                           std::chrono::milliseconds limit = kToolLimit, StopCheck* stop = nullptr);

// One PTX text of several of one target: one header, then their bodies. Names must differ.
std::string JoinPtx(const std::vector<std::string>& modules);

// Reads the output of `ptxas -v`, and adds what it says. For Assemble, and for other logs.
void ParsePtxasLog(std::string_view log, Assembled& out);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_ASSEMBLE_H_
