// What the blocks of one launch share.
#ifndef TARSIA_VM_LAUNCH_STATE_H_
#define TARSIA_VM_LAUNCH_STATE_H_

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "vm/interpreter.h"
#include "vm/plan.h"
#include "vm/shadow.h"

namespace tarsia::vm {

struct FreeMemory {
  void operator()(void* data) const { std::free(data); }
};

// Scratch of alloc.global, made by the first block that gets there.
struct GlobalScratch {
  Region region;
  std::shared_ptr<const AddressMap> map;
  std::unique_ptr<void, FreeMemory> memory;
  std::unique_ptr<Shadow> shadow;
};

class LaunchState {
 public:
  LaunchState(const Plan& p, const LaunchOptions& o)
      : plan(p), options(o), scratch(p.global.size()) {}

  const Plan& plan;
  const LaunchOptions& options;
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<Region> pointers;   // by parameter
  std::vector<uint64_t> scalars;  // by parameter
  std::vector<std::unique_ptr<Shadow>> shadows;

  std::mutex mutex;  // of `scratch`, and of the sinks
  std::vector<GlobalScratch> scratch;
  std::atomic<uint64_t> budget_used{0};
  // The lowest block that failed: blocks above it need not go on.
  std::atomic<int64_t> failed_block{INT64_MAX};

  // Only with --check, on one thread.
  void Report(const DiagInfo& info, const PlannedInst& at, const PlannedInst* other,
              const std::array<int64_t, 3>& block, Diagnostic diagnostic);
  std::vector<Finding> TakeFindings();
  uint32_t next_stamp = 0;

 private:
  using Key = std::tuple<const DiagInfo*, const PlannedInst*, const PlannedInst*>;
  std::map<Key, size_t> known_;
  std::vector<Finding> findings_;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_LAUNCH_STATE_H_
