// What differs between the GPUs of a generation, and how many blocks they hold.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_MODEL_H_
#define TARSIA_TESTS_EMULATED_DRIVER_MODEL_H_

#include "tests/emulated_driver/kernel.h"
#include "tests/emulated_driver/machine.h"

namespace tarsia::emulated {

// Sizes as NVIDIA's tuning guides give them.
struct Model {
  int multiprocessors;
  int threads;        // a multiprocessor
  int shared_memory;  // likewise, bytes
  int l2_bytes;
};
Model ModelOf(int capability);

// How many blocks of a function a multiprocessor holds, by threads and shared memory: registers are
// the machine code's, and there is none.
uint32_t BlocksPerMultiprocessor(const Settings& settings, const Function& function,
                                 uint64_t threads, uint64_t dynamic_shared);
// How many clusters of so many blocks the device holds. The blocks of one run on neighbouring
// multiprocessors, of which 16 are taken to be neighbours.
uint32_t ClustersOfDevice(const Settings& settings, uint32_t blocks_per_multiprocessor,
                          uint64_t cluster);

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_MODEL_H_
