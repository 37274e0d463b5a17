/* Memory of a device for the C programs of this folder. */
#ifndef TARSIA_TESTS_CAPI_MEMORY_H_
#define TARSIA_TESTS_CAPI_MEMORY_H_

#include <stdint.h>

#include "tests/capi/check.h"

static inline void* Allocate(tarsia_device* device, uint64_t bytes) {
  void* memory = NULL;
  CHECK_OK(tarsia_memory_alloc(device, bytes, &memory));
  CHECK((uintptr_t)memory % 256 == 0);
  return memory;
}

/* A copy of the bytes on the device. */
static inline void* Upload(tarsia_device* device, const void* data, uint64_t bytes) {
  void* const memory = Allocate(device, bytes);
  CHECK_OK(tarsia_memory_write(device, memory, data, bytes, NULL));
  return memory;
}

#endif /* TARSIA_TESTS_CAPI_MEMORY_H_ */
