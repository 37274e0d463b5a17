// The condition of `semaphore.lock`.
#ifndef TARSIA_VM_SEMAPHORE_WAIT_H_
#define TARSIA_VM_SEMAPHORE_WAIT_H_

#include <cstdint>
#include <string>

#include "dtypes/dtype.h"
#include "vm/scheduler.h"

namespace tarsia::vm {

class LaunchState;

// Holds when the semaphore has the value, and also when it never will: all blocks that could
// release it are done, or the launch stops.
class SemaphoreWait final : public WaitCondition {
 public:
  explicit SemaphoreWait(LaunchState& launch) : launch_(launch) {}
  // Of a block, by its linear index.
  void Set(int64_t block, DType type, const uint8_t* address, uint64_t value);

  [[nodiscard]] bool Ready() const override;
  [[nodiscard]] bool DependsOnOthers() const override { return true; }
  [[nodiscard]] std::string Describe() const override;

 private:
  LaunchState& launch_;
  int64_t block_ = 0;
  DType type_;
  const uint8_t* address_ = nullptr;
  uint64_t value_ = 0;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_SEMAPHORE_WAIT_H_
