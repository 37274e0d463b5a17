// Plans as bytes: all that a launch needs, so that another process loads the plan without a
// compiler. Only the build that wrote a plan loads it. All numbers are little endian; a text has
// its size, in 8 bytes, before it.
//
//   8 bytes  "tarsiaP" 1, the version of the format
//   16       XXH3-128 (canonical form) of all that follows
//   text     the version of the library
//   text     the build (runtime/build_id.h)
//   8        n, and n times a text: the targets of the images; none: a plan of the device cpu
//   text     the name of the device that the plan was made for
//   8        the limit of the workspace; 0: none
//   text     the kernel with its constants as bytecode, with debug locations
//   8        n, and n times 4 bytes and two texts: the kinds, names and values of the constants
//   n images: 8 bytes m, m texts: the passes that were left out; three texts: the compiled kernel
//            (compiler/compiled/kernel_codec.h), the machine code (may be empty), the log of ptxas
#ifndef TARSIA_RUNTIME_PLANS_PLAN_BLOB_H_
#define TARSIA_RUNTIME_PLANS_PLAN_BLOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.h"
#include "runtime/devices/device.h"
#include "runtime/devices/kernel_image.h"
#include "support/result.h"

namespace tarsia::runtime {

// A constant of a plan, whose value is not in the program.
struct PlanConstant {
  uint32_t kind = 0;  // tarsia_constant_kind
  std::string name;
  std::string value;
};

// What a plan consists of besides its device.
struct PlanParts {
  std::string device;
  uint64_t workspace_limit = 0;
  std::vector<PlanConstant> constants;
  std::shared_ptr<const KernelImage> image;  // null: the device runs the program as it is
};

// Machine code is made if it is not there yet and an assembler is found. Errors: the program has no
// bytecode.
Result<std::string> EncodePlan(const Program& program, const PlanParts& parts);

// The bytes with this version and build before `rest`, the part behind the build, and the header:
// for tests.
std::string SealPlan(std::string_view rest);

// A plan that was read, for one device.
struct DecodedPlan {
  Program program;
  PlanParts parts;
};

// Treats the bytes as hostile, except that the code of the images is that of their writer. Errors:
// no plan, or a damaged one; one of another version, of another build, or for other targets than
// that of the device, each with what was found and what is wanted. Needs no compiler. Thread-safe.
Result<DecodedPlan> DecodePlan(std::string_view bytes, const Device& device);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_PLANS_PLAN_BLOB_H_
