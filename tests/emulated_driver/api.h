// The exported functions: those of runtime/cuda/driver.def and client.def under the driver's names.
// A row without a definition does not link.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_API_H_
#define TARSIA_TESTS_EMULATED_DRIVER_API_H_

#include "runtime/cuda/driver_types.h"
#include "tests/emulated_driver/kernel.h"
#include "tests/emulated_driver/machine.h"

namespace tarsia::emulated {

using namespace tarsia::cuda;  // the names of the tables

#define DRIVER(name, symbol, parameters) \
  CuResult name parameters __asm__(symbol) __attribute__((visibility("default")));
#include "runtime/cuda/driver.def"
#include "tests/emulated_driver/client.def"
#undef DRIVER

// The names of the functions, for counting calls.
namespace symbols {
#define DRIVER(name, symbol, parameters) inline constexpr const char* k##name = symbol;
#include "runtime/cuda/driver.def"
#include "tests/emulated_driver/client.def"
#undef DRIVER
}  // namespace symbols

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_API_H_
