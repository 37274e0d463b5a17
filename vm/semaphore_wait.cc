#include "vm/semaphore_wait.h"

#include "isa/scalar_expr.h"
#include "vm/host/atomic.h"
#include "vm/launch_state.h"

namespace tarsia::vm {

void SemaphoreWait::Set(int64_t block, DType type, const uint8_t* address, uint64_t value) {
  block_ = block;
  type_ = type;
  address_ = address;
  value_ = value;
}

bool SemaphoreWait::Ready() const {
  return host::LoadAcquire(type_, address_) == value_ || launch_.AllDoneBelow(block_) ||
         launch_.Stops(block_);
}

std::string SemaphoreWait::Describe() const {
  return "a semaphore to be " + std::to_string(CodeToInt(type_, value_));
}

}  // namespace tarsia::vm
