// The host's side of launching a compiled kernel, the same on every device that runs one: checking
// the arguments, packing parameters, laying out the workspace, and reading what the kernel left in
// its report buffer (compiler/report_buffer.h).
#ifndef TARSIA_RUNTIME_COMPILED_LAUNCH_H_
#define TARSIA_RUNTIME_COMPILED_LAUNCH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/code.h"
#include "runtime/device.h"

namespace tarsia::runtime {

// Where the parts of a workspace lie. All offsets are multiples of compiler::kWorkspaceAlignment.
struct WorkspaceLayout {
  struct Area {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool zeroed = false;
  };
  std::vector<Area> areas;  // by CompiledKernel::workspace
  bool has_report = false;
  uint64_t report = 0;       // offset of the report buffer
  uint64_t report_room = 0;  // bytes of entries that it holds
  uint64_t bytes = 0;        // of all
};

// What a device needs to know to launch.
struct CompiledLaunch {
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<uint8_t> parameters;
  WorkspaceLayout workspace;
  [[nodiscard]] bool Empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

class CompiledProgram {
 public:
  // Errors: those of compiler::Compile.
  static Result<CompiledProgram> Make(const Program& program, compiler::Target target);

  [[nodiscard]] const std::shared_ptr<const Code>& code() const { return code_; }
  [[nodiscard]] const compiler::CompiledKernel& kernel() const { return code_->kernel(); }
  [[nodiscard]] const Program& program() const { return program_; }

  // Checks everything that can be checked without the device.
  Result<CompiledLaunch> Prepare(const LaunchRequest& request) const;
  Result<WorkspaceLayout> LayOutWorkspace(const std::vector<uint64_t>& scalars) const;
  // The bytes of an empty report buffer up to its entries.
  static compiler::ReportHeader EmptyReport(const WorkspaceLayout& layout);
  // Fills what must be zero, and writes an empty report, on any device.
  Status InitWorkspace(Device& device, const std::vector<uint64_t>& scalars,
                       DevicePointer workspace, StreamHandle stream) const;
  // Reads the report of launches that are done and empties it. Lines of `print` go to the sink, in
  // the order in which the blocks wrote them; what stopped the program is the error.
  Status ReadReport(Device& device, const CompiledLaunch& launch,
                    const LaunchRequest& request) const;

 private:
  CompiledProgram(const Program& program, std::shared_ptr<const Code> code)
      : program_(program), code_(std::move(code)) {}
  Status CheckPointers(const vm::LaunchArgs& args) const;
  Status PackParameters(const vm::LaunchArgs& args, DevicePointer workspace,
                        CompiledLaunch* launch) const;
  // What an instruction left in the report buffer; points into its bytes.
  struct Entry {
    uint64_t record = 0;
    uint64_t block = 0;  // linear
    const uint8_t* elements = nullptr;
  };
  std::vector<Entry> ReadEntries(const std::vector<uint8_t>& bytes) const;
  void Print(const std::vector<Entry>& entries, const std::array<int64_t, 3>& grid,
             const vm::LineSink& sink) const;
  Status FailureOf(uint64_t failure, const std::vector<Entry>& entries,
                   const std::array<int64_t, 3>& grid) const;

  Program program_;
  std::shared_ptr<const Code> code_;
};

// Options that only the interpreter has are refused. `device` names the one that lacks them.
Status CheckOptions(const vm::LaunchOptions& options, std::string_view device);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_COMPILED_LAUNCH_H_
