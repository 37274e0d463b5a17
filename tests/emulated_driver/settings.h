// Environment variables of the emulated driver, read when it is loaded and at every reset, with
// defaults:
//
//   TARSIA_EMULATED_VERSION     the result of cuDriverGetVersion: 12040
//   TARSIA_EMULATED_DEVICES     the number of GPUs: 1
//   TARSIA_EMULATED_CAPABILITY  of all of them: 9.0
//   TARSIA_EMULATED_MEMORY      bytes of memory of each: 17179869184
//   TARSIA_EMULATED_LIMIT       instructions of warps before a launch times out: 500000000
//   TARSIA_EMULATED_LOCAL       so many functions, the first, say that they have 16 bytes of local
//                               memory, as if registers were too few: 0
//   TARSIA_EMULATED_REPORT      a file that findings are added to: none (they go to stderr)
//   TARSIA_EMULATED_TOLERATE    kinds of findings (ptx/table/findings.def) that are only reported,
//   as
//                               a GPU does not notice them, "uninitialised,race": none
//   TARSIA_EMULATED_FAULTS      calls that fail: none
//
//   faults = fault { "," fault }        fault = what "@" n [ "+" ] "=" code
//
// The n-th call of the function `what` ("cuMemAlloc_v2"; with "+" each from the n-th on) does
// nothing and returns the code, a number. `*` stands for any call but those that explain errors:
// "*@100+=999" is a GPU that is lost at the 100th call. `kernel` is the run of a kernel, not its
// launch: its error is returned by the next wait and stays in the context.
//
// A symbol that is missing cannot be a setting, as dlsym has to fail: CMakeLists.txt makes
// libraries that lack one.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_SETTINGS_H_
#define TARSIA_TESTS_EMULATED_DRIVER_SETTINGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/driver_types.h"

namespace tarsia::emulated {

struct Fault {
  std::string what;
  uint64_t nth = 1;
  bool onward = false;
  cuda::CuResult code = 0;
};

struct Settings {
  int version = 12040;
  int devices = 1;
  int major = 9;
  int minor = 0;
  uint64_t memory = uint64_t{1} << 34;
  uint64_t instruction_limit = 500'000'000;
  int local_functions = 0;
  std::string report;
  std::vector<std::string> tolerated;
  std::vector<Fault> faults;
  std::string problem;  // a problem in the environment; cuInit prints it and fails

  static Settings Read();
  [[nodiscard]] bool Tolerates(std::string_view finding) const;
};

// Counts calls and selects those that fail.
class FaultPlan {
 public:
  explicit FaultPlan(std::vector<Fault> faults) : faults_(std::move(faults)) {}
  // The code that this call of `what` must return, or success. `any`: it counts for `*` as well.
  cuda::CuResult Next(std::string_view what, bool any);

 private:
  std::vector<Fault> faults_;
  std::map<std::string, uint64_t, std::less<>> counts_;
};

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_SETTINGS_H_
