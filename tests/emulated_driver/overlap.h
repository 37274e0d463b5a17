// Kernels of a stream that may each begin before the previous one has ended (programmatic dependent
// launch). One runs at a time: the next one begins as soon as it may, runs until it waits for the
// previous one, and continues when that has ended. So without a wait it does not see the last
// writes of the previous one.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_OVERLAP_H_
#define TARSIA_TESTS_EMULATED_DRIVER_OVERLAP_H_

#include <span>

#include "tests/emulated_driver/work.h"

namespace tarsia::emulated {

// Returns the error of the first kernel that fails; no later one begins.
cuda::CuResult RunOverlapped(std::span<const KernelAction> kernels);

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_OVERLAP_H_
