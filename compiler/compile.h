// From a program to PTX: infer layouts, plan shared memory, generate code. Thread-safe.
#ifndef TARSIA_COMPILER_COMPILE_H_
#define TARSIA_COMPILER_COMPILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/report_buffer.h"
#include "compiler/target.h"
#include "isa/program.h"
#include "support/result.h"
#include "support/stop.h"

namespace tarsia::compiler {

struct CompileOptions {
  bool line_info = true;      // `.loc` lines that name the source
  bool keep_llvm_ir = false;  // CompiledKernel::llvm_ir
};

// A parameter of the entry, as it lies in the parameter bytes.
struct KernelParameter {
  enum class Kind : uint8_t {
    kPointer,    // a device address
    kScalar,     // a code of `type` in its container
    kWorkspace,  // hidden, one for each of CompiledKernel::workspace in order: its address
    kReport,     // hidden: address of a report buffer (report_buffer.h)
  };
  Kind kind = Kind::kScalar;
  DType type;              // of the scalar, or of what is pointed to
  uint32_t offset = 0;     // bytes
  uint32_t bytes = 0;      // 8 for addresses
  uint32_t alignment = 1;  // pointers: what the address must be a multiple of
};

// Global memory that the kernel wants besides its parameters: scratch of `alloc.global`.
struct Workspace {
  uint32_t value = 0;   // of alloc.global
  bool zeroed = false;  // zero before the first launch; the kernel leaves it zero
};
inline constexpr uint64_t kWorkspaceAlignment = 256;
// The most that all parameters together may take, on any target.
inline constexpr uint64_t kMaxParameterBytes = 32764;

struct CompiledKernel {
  std::string name;  // of the entry
  std::string ptx;
  std::string llvm_ir;        // if asked for: before optimisation
  std::string layouts;        // what was inferred, and why
  int threads = 0;            // a block, along x
  uint64_t shared_bytes = 0;  // dynamic, to be given at launch; there is no static part
  std::vector<KernelParameter> parameters;  // those of the kernel, then hidden ones
  uint64_t parameter_bytes = 0;
  std::vector<Workspace> workspace;
  std::vector<ReportRecord> records;
};

// Errors name the line: what a tile, a thread or a block cannot hold. A program that validates
// compiles or is refused so.
//
// `stop`, if it is not null and has anything to ask, may end the compilation; then the call returns
// at once, with an error that says so. A pass of LLVM that is at work goes on in a thread of its
// own to its end, where all of the compilation is freed. The process ends only after that, unless
// it leaves by std::_Exit.
Result<CompiledKernel> Compile(const Program& program, Target target,
                               const CompileOptions& options = {}, StopCheck* stop = nullptr);
// What Compile says where `stop` has ended it.
Diagnostic StoppedCompilation(const Program& program, const StopCheck& stop);
// How many compilations that nobody wants any more are still at work.
int UnwantedCompilations();

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_COMPILE_H_
