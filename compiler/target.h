// The target GPUs: one table, from which names, limits and errors follow.
#ifndef TARSIA_COMPILER_TARGET_H_
#define TARSIA_COMPILER_TARGET_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "isa/specialise.h"
#include "support/result.h"

namespace tarsia::compiler {

enum class Target : uint8_t {
  kSm80,   // A100
  kSm89,   // Ada
  kSm90a,  // Hopper, with wgmma; its code runs only there
};

struct TargetRow {
  Target target = Target::kSm80;
  std::string_view name;     // of .target, and of LLVM's CPU
  int capability = 0;        // 80 for compute capability 8.0
  int ptx_version = 0;       // 84 for `.version 8.4`: the least for the code we emit
  int64_t shared_bytes = 0;  // of a block, at most
  int max_warps = 32;        // of a block
};

std::span<const TargetRow> AllTargets();
const TargetRow& Row(Target target);
// By name ("sm_90a"); the error lists the known ones.
Result<Target> FindTarget(std::string_view name);
// The limits of specialisation for the target.
TargetLimits LimitsOf(Target target);

// Of a block, besides its own shared memory (CUDA C++ Programming Guide, compute capability 8.x and
// 9.0).
inline constexpr int64_t kReservedSharedBytes = 1024;
// How many blocks of `bytes` of shared memory a multiprocessor holds at a time, of which each may
// have at most `shared_bytes`.
constexpr int64_t BlocksInSharedMemory(int64_t shared_bytes, int64_t bytes) {
  return (shared_bytes + kReservedSharedBytes) / (bytes + kReservedSharedBytes);
}

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_TARGET_H_
