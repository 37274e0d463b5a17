// The differences between the GPUs of a generation, and the number of resident blocks.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_MODEL_H_
#define TARSIA_TESTS_EMULATED_DRIVER_MODEL_H_

#include "tests/emulated_driver/kernel.h"
#include "tests/emulated_driver/machine.h"

namespace tarsia::emulated {

// Sizes from NVIDIA's tuning guides.
struct Model {
  int multiprocessors;
  int threads;        // per multiprocessor
  int shared_memory;  // per multiprocessor, bytes
  int l2_bytes;
};
Model ModelOf(int capability);

// The number of resident blocks of a function per multiprocessor, by threads and shared memory;
// registers are unknown, because there is no machine code.
uint32_t BlocksPerMultiprocessor(const Settings& settings, const Function& function,
                                 uint64_t threads, uint64_t dynamic_shared);
// The number of resident clusters of a size on the device. The blocks of a cluster run on
// neighbouring multiprocessors; groups of 16 are assumed to be neighbours.
uint32_t ClustersOfDevice(const Settings& settings, uint32_t blocks_per_multiprocessor,
                          uint64_t cluster);

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_MODEL_H_
