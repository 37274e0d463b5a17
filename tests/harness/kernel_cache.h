// Kernels prepared for the devices ptx:TARGET, once per process for each text: tests launch one
// program many times. All PTX made here is passed to tests/harness/assembly.h.
#ifndef TARSIA_TESTS_HARNESS_KERNEL_CACHE_H_
#define TARSIA_TESTS_HARNESS_KERNEL_CACHE_H_

#include <memory>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "isa/program.h"
#include "runtime/devices/device.h"

namespace tarsia::harness {

struct CachedKernel {
  std::string error;  // rendered: the compiler refuses the program
  std::string fault;  // the emulator does not know the code
  std::shared_ptr<runtime::Device> device;
  std::unique_ptr<runtime::LoadedKernel> kernel;  // null after an error or a fault
  std::string body;  // the PTX without the lines that name its version and target
};

// `without`: passes of the compiler to leave out. Single-threaded, as tests are.
std::shared_ptr<const CachedKernel> LoadCached(const Program& program, const SourceFile& source,
                                               compiler::Target target,
                                               const std::vector<std::string>& without = {});

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_KERNEL_CACHE_H_
