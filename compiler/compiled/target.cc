#include "compiler/target.h"

#include <string>

#include "compiler/diagnostics.h"

namespace tarsia::compiler {
namespace {

// PTX 8.0 is the first with Hopper's instructions, 8.1 the first with conversions of 8-bit floats
// on sm_89 and with `red` of vectors, 8.4 the first with 8-bit floats in mma.sync.
constexpr TargetRow kRows[] = {
    {.target = Target::kSm80,
     .name = "sm_80",
     .capability = 80,
     .ptx_version = 80,
     .shared_bytes = int64_t{163} * 1024},
    {.target = Target::kSm89,
     .name = "sm_89",
     .capability = 89,
     .ptx_version = 84,
     .shared_bytes = int64_t{99} * 1024},
    {.target = Target::kSm90a,
     .name = "sm_90a",
     .capability = 90,
     .ptx_version = 81,
     .shared_bytes = int64_t{227} * 1024},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].target != static_cast<Target>(i)) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

std::span<const TargetRow> AllTargets() { return kRows; }

const TargetRow& Row(Target target) { return kRows[static_cast<size_t>(target)]; }

Result<Target> FindTarget(std::string_view name) {
  std::string known;
  for (const TargetRow& row : kRows) {
    if (row.name == name) return row.target;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return MakeDiagnostic(diag::kUnknownTarget, Location(), name, known);
}

TargetLimits LimitsOf(Target target) {
  const TargetRow& row = Row(target);
  return {.name = row.name, .shared_bytes = row.shared_bytes, .max_warps = row.max_warps};
}

}  // namespace tarsia::compiler
