// The plan of a kernel as bytes: all that a launch needs, so that another process loads the plan
// without a compiler. The blob is one of sealed_plan.h, with the contents
//
//   text     the name of the device that the plan was made for
//   8        the limit of the workspace; 0: none
//   8        n, and n times 4 bytes and two texts: the kinds, names and values of the constants
//   ..       the kernel
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

// Errors: those of WriteKernel.
Result<std::string> EncodePlan(const Program& program, const PlanParts& parts);

// A plan that was read, for one device.
struct DecodedPlan {
  Program program;
  PlanParts parts;
};

// Errors: those of OpenPlan and ReadKernel. Thread-safe.
Result<DecodedPlan> DecodePlan(std::string_view bytes, const Device& device);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_PLANS_PLAN_BLOB_H_
