// The host's side of launching a compiled kernel, the same on every device that runs one: checking
// the arguments, packing parameters, laying out the workspace, and reading the kernel's report
// buffer (compiler/report_buffer.h).
#ifndef TARSIA_RUNTIME_DEVICES_COMPILED_LAUNCH_H_
#define TARSIA_RUNTIME_DEVICES_COMPILED_LAUNCH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "launch/launch_template.h"
#include "runtime/devices/device.h"
#include "runtime/devices/kernel_image.h"
#include "runtime/devices/workspace_plan.h"

namespace tarsia::runtime {

// The data that a device needs for a launch. Lives on the stack: a launch allocates nothing.
struct CompiledLaunch {
  std::array<int64_t, 3> grid = {1, 1, 1};
  WorkspaceLayout workspace;
  size_t parameter_bytes = 0;
  std::array<uint8_t, compiler::kMaxParameterBytes>
      parameter_room;  // only the first of them are used

  CompiledLaunch() {}  // NOLINT(modernize-use-equals-default): leaves parameter_room uninitialised
  [[nodiscard]] std::span<const uint8_t> parameters() const {
    return {parameter_room.data(), parameter_bytes};
  }
  [[nodiscard]] bool Empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

class CompiledProgram {
 public:
  // Errors: those of WorkspacePlan::Make.
  static Result<CompiledProgram> Make(const Program& program,
                                      std::shared_ptr<const KernelImage> image,
                                      uint64_t workspace_limit);

  [[nodiscard]] const std::shared_ptr<const KernelImage>& image() const { return image_; }
  [[nodiscard]] const compiler::CompiledKernel& kernel() const { return image_->kernel(); }
  [[nodiscard]] const Program& program() const { return program_; }

  // Checks everything that can be checked without the device.
  Status Prepare(const LaunchRequest& request, CompiledLaunch* out) const;
  // The work of the device before the kernel, on the same stream.
  Status FillBeforeLaunch(Device& device, const CompiledLaunch& launch,
                          const LaunchRequest& request) const;
  Result<uint64_t> WorkspaceBytes(std::span<const uint64_t> scalars) const;
  // Fills the parts that must be zero and writes an empty report, using only fills.
  Status InitWorkspace(Device& device, std::span<const uint64_t> scalars, DevicePointer workspace,
                       uint64_t bytes, StreamHandle stream) const;
  // Reads the report of finished launches and empties it. Lines of `print` go to the sink in the
  // order in which the blocks wrote them; the failure that stopped the program is the error.
  Status ReadReport(Device& device, const CompiledLaunch& launch,
                    const LaunchRequest& request) const;
  void AddOverlaps(std::span<const launch::Argument> args,
                   std::vector<launch::Finding>* findings) const {
    launch_.AddOverlaps(program_, args, findings);
  }

 private:
  CompiledProgram(const Program& program, std::shared_ptr<const KernelImage> image,
                  launch::LaunchTemplate launch, WorkspacePlan workspace)
      : program_(program),
        image_(std::move(image)),
        launch_(std::move(launch)),
        workspace_(std::move(workspace)) {}
  Status CheckWritable(std::span<const launch::Argument> args) const;
  Status CheckWorkspace(const CompiledLaunch& launch, DevicePointer workspace) const;
  void PackParameters(std::span<const launch::Argument> args, DevicePointer workspace,
                      CompiledLaunch* launch) const;
  Status WriteEmptyReport(Device& device, DevicePointer workspace, StreamHandle stream) const;
  // An entry that an instruction wrote to the report buffer; points into its bytes.
  struct Entry {
    uint64_t record = 0;
    uint64_t block = 0;  // linear
    const uint8_t* elements = nullptr;
  };
  std::vector<Entry> ReadEntries(const std::vector<uint8_t>& bytes) const;
  void Print(const std::vector<Entry>& entries, const std::array<int64_t, 3>& grid,
             const launch::LineSink& sink) const;
  Status FailureOf(uint64_t failure, const std::vector<Entry>& entries,
                   const std::array<int64_t, 3>& grid) const;

  Program program_;
  std::shared_ptr<const KernelImage> image_;
  launch::LaunchTemplate launch_;
  WorkspacePlan workspace_;
};

// Refuses options that only the interpreter supports. `device` is the name of the device for the
// error.
Status CheckOptions(const vm::LaunchOptions& options, std::string_view device);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_COMPILED_LAUNCH_H_
