// From a program to a kernel on a device: the only part of devices that needs the compiler.
#include "runtime/devices/code.h"
#include "runtime/devices/device.h"

namespace tarsia::runtime {

Result<std::unique_ptr<LoadedKernel>> Device::Load(const Program& program,
                                                   const LoadOptions& options) {
  const std::optional<compiler::Target> target = CodeTarget();
  if (!target) return LoadImage(program, nullptr, options);
  compiler::CompileOptions compile;
  compile.without = options.without;
  TARSIA_TRY(std::shared_ptr<const Code> code, Code::Make(program, *target, compile, options.stop));
  return LoadImage(program, std::move(code), options);
}

}  // namespace tarsia::runtime
