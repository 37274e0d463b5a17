// From a program to PTX: the passes, places in shared memory, code. Thread-safe.
//
// The code is that of the program after the last pass. A launch checks its arguments against the
// program that the caller gave (launch/launch_template.h); all that it needs besides is in
// CompiledKernel, by parameter and in expressions of parameters.
#ifndef TARSIA_COMPILER_COMPILE_H_
#define TARSIA_COMPILER_COMPILE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/report_buffer.h"
#include "compiler/target.h"
#include "isa/program.h"
#include "isa/tile_size.h"
#include "support/result.h"
#include "support/stop.h"

namespace tarsia::compiler {

struct CompileOptions {
  bool line_info = true;      // `.loc` lines that name the source
  bool keep_llvm_ir = false;  // CompiledKernel::llvm_ir
  // Names of passes to leave out, which only make code faster (compiler/pass.h, CheckOptional).
  std::vector<std::string> without;
};

// A parameter of the entry and its place in the parameter bytes.
struct KernelParameter {
  enum class Kind : uint8_t {
    kPointer,    // a device address
    kScalar,     // a code of `type` in its container
    kWorkspace,  // hidden, one for each of CompiledKernel::workspace in order: its address
    kReport,     // hidden: address of a report buffer (report_buffer.h)
  };
  Kind kind = Kind::kScalar;
  DType type;              // of the scalar, or of the elements pointed to
  uint32_t offset = 0;     // bytes
  uint32_t bytes = 0;      // 8 for addresses
  uint32_t alignment = 1;  // pointers: the required alignment of the address
};

// Global memory that the kernel needs besides its parameters: scratch of `alloc.global`.
struct Workspace {
  std::string name;  // of the tile, and the place of its type, for messages
  Location location;
  bool zeroed = false;  // zero before the first launch; the kernel leaves it zero
  TileSize size;        // follows from the parameters
};
inline constexpr uint64_t kWorkspaceAlignment = 256;
// The most bytes of all parameters together, on any target.
inline constexpr uint64_t kMaxParameterBytes = 32764;

// A step of a compilation and how long it took.
struct CompileStep {
  std::string_view name;  // a literal: of a pass, or `program`, `plan`, `emit`, `llvm`
  std::chrono::nanoseconds time{};
};

struct CompiledKernel {
  std::string name;  // of the entry
  std::string ptx;
  std::string llvm_ir;                      // if requested: before optimisation
  int threads = 0;                          // per block, along x
  uint64_t shared_bytes = 0;                // dynamic, set at launch; there is no static part
  std::vector<KernelParameter> parameters;  // those of the kernel, then hidden ones
  uint64_t parameter_bytes = 0;
  std::vector<Workspace> workspace;
  std::vector<ReportRecord> records;
  std::vector<CompileStep> steps;  // in their order
};

// Errors: a tile, a thread or a block exceeds a limit; they name the line. A valid program has no
// other errors.
//
// `stop`, if it is not null and active, can cancel the compilation; then the call returns at once
// with an error. A running pass of LLVM continues to its end in a separate thread, which then frees
// the compilation. The process ends only after that, unless it calls std::_Exit.
Result<CompiledKernel> Compile(const Program& program, Target target,
                               const CompileOptions& options = {}, StopCheck* stop = nullptr);
// The error of Compile after a cancellation by `stop`.
Diagnostic StoppedCompilation(const Program& program, const StopCheck& stop);
// The version of the LLVM that is loaded: "19.1.7".
std::string LlvmVersion();
// The number of cancelled compilations that are still running.
int AbandonedCompilations();

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_COMPILE_H_
