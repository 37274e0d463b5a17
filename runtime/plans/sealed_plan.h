// Plans as bytes: what the blobs of all kinds of plans have in common. Only the build that wrote a
// plan loads it. All numbers are little endian; a text has its size, in 8 bytes, before it.
//
//   7 bytes  "tarsiaP", a plan of a kernel, or "tarsiaM", of a quantised matmul
//   1        3, the version of the format
//   16       XXH3-128 (canonical form) of all that follows
//   text     the version of the library
//   text     the build (runtime/build_id.h)
//   ..       the contents (plan_blob.h, matmul/matmul_blob.h), in which a kernel is
//     text   the kernel with its constants as bytecode, with debug locations
//     8      n, and n images; none: the plan is one of the device cpu. An image is
//       text   the target
//       8      m, and m texts: the passes that were left out
//       text   the compiled kernel (compiler/compiled/kernel_codec.h)
//       text   the machine code (may be empty)
//       text   the log of ptxas
#ifndef TARSIA_RUNTIME_PLANS_SEALED_PLAN_H_
#define TARSIA_RUNTIME_PLANS_SEALED_PLAN_H_

#include <memory>
#include <string>
#include <string_view>

#include "isa/program.h"
#include "runtime/devices/device.h"
#include "runtime/devices/kernel_image.h"
#include "support/byte_codec.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tarsia::runtime {

enum class PlanKind : char { kKernel = 'P', kMatmul = 'M' };

// The blob of these contents.
std::string SealPlan(PlanKind kind, std::string_view contents);
// Its contents. Errors: no plan of this kind, or a damaged one; one of another version or build,
// with what was found and what is wanted.
Result<std::string_view> OpenPlan(PlanKind kind, std::string_view bytes);
// The error of a damaged plan.
Diagnostic DamagedPlan(std::string_view what);

struct StoredKernel {
  Program program;
  std::shared_ptr<const KernelImage> image;  // null: the device runs the program as it is
};

// Machine code is made if it is not there yet and an assembler is found. Errors: the program has no
// bytecode.
Status WriteKernel(const Program& program, const KernelImage* image, ByteSink* out);
// Treats the bytes as hostile, except that the code of images is that of their writer. Errors:
// damage; no image for the device. Needs no compiler.
Result<StoredKernel> ReadKernel(ByteSource* in, const Device& device);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_PLANS_SEALED_PLAN_H_
