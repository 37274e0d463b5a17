// Modules of the emulated driver, and launches of their functions.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_KERNEL_H_
#define TARSIA_TESTS_EMULATED_DRIVER_KERNEL_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/emulated_driver/machine.h"

namespace tarsia::emulated {

// The largest block's shared memory on these GPUs, once a function has opted in.
uint64_t MaxSharedOptIn(int capability);

// Loads PTX text. On an error `log` says why. Machine code is refused like that for another GPU.
cuda::CuResult LoadModule(Machine& machine, Context& context, const void* image, std::string* log,
                          std::shared_ptr<Module>* module);

struct LaunchShape {
  ptx::Dim3 grid;
  ptx::Dim3 block;
  unsigned dynamic_shared = 0;
  ptx::Dim3 cluster{0, 0, 0};  // zeros: as the function requires
  bool cooperative = false;    // all blocks run at once
  bool programmatic = false;   // may begin before the previous kernel has ended
};

// The parameter bytes of a launch, from either form in which a caller passes them.
cuda::CuResult ReadParameters(const Function& function, void** parameters, void** extra,
                              std::vector<uint8_t>* out);
// The checks that a driver makes at once.
cuda::CuResult CheckShape(const Machine& machine, const Function& function,
                          const LaunchShape& shape);
// The launch as an operation of a stream.
KernelAction MakeLaunch(Machine& machine, const std::shared_ptr<Function>& function,
                        const LaunchShape& shape, std::vector<uint8_t> parameters);

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_KERNEL_H_
