// Kernels of a stream of which each may begin before the one before it has ended (programmatic
// dependent launch), one of them running at any time: the next one begins as soon as it may, runs
// until it waits for the one before it, and goes on when that has ended. So it sees nothing of what
// that writes at its end, unless it waits.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_OVERLAP_H_
#define TARSIA_TESTS_EMULATED_DRIVER_OVERLAP_H_

#include <span>

#include "tests/emulated_driver/work.h"

namespace tarsia::emulated {

// The error of the first kernel that has one, behind which none begins.
cuda::CuResult RunOverlapped(std::span<const KernelAction> kernels);

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_OVERLAP_H_
