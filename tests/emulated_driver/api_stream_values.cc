// Stream memory operations: a stream writes a value to memory, or waits until one is there.
#include <fmt/format.h>

#include <cstring>

#include "tests/emulated_driver/api.h"

namespace tarsia::emulated {
namespace {

bool IsReached(uint64_t there, uint64_t value, int bytes, CuStreamWaitFlags condition) {
  const uint64_t mask = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 32) - 1;
  switch (condition) {
    case kWaitGreaterEqual:
      return (((there - value) & mask) >> (bytes * 8 - 1)) == 0;
    case kWaitEqual:
      return there == value;
    case kWaitAnd:
      return (there & value) != 0;
    case kWaitNor:
      return (~(there | value) & mask) != 0;
  }
  return false;
}

uint64_t ReadValue(const Context& context, CuDevicePtr address, int bytes) {
  uint8_t data[8] = {};
  if (!context.memory.CopyOut(address, {data, static_cast<size_t>(bytes)}).ok()) return 0;
  uint64_t value = 0;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

// Runs an operation of another stream, if one can run.
bool RunAnother(const Context& context) {
  for (const std::shared_ptr<Stream>& other :
       std::vector<std::shared_ptr<Stream>>(context.queues)) {
    if (RunOne(other)) return true;
  }
  return false;
}

// Runs other streams until the value is there. If none can run, it never will be.
CuResult WaitForValue(Machine& machine, Context& context, CuDevicePtr address, uint64_t value,
                      int bytes, CuStreamWaitFlags condition) {
  while (!IsReached(ReadValue(context, address, bytes), value, bytes, condition)) {
    if (context.error != kSuccess) return context.error;
    if (RunAnother(context)) continue;
    static constexpr const char* kNames[] = {">=", "==", "and", "nor"};
    machine.Report(fmt::format(
        "emulated driver: deadlock: a stream waits until the {} bits at 0x{:x} are {} 0x{:x}, they "
        "are 0x{:x}, and nothing is left that could change them\n",
        bytes * 8, address, kNames[condition], value, ReadValue(context, address, bytes)));
    return kErrorLaunchTimeout;
  }
  return kSuccess;
}

bool IsPlace(const Context& context, CuDevicePtr address, int bytes) {
  const ptx::MemoryRange* const range = context.memory.Find(address);
  return address % static_cast<uint64_t>(bytes) == 0 && range != nullptr &&
         range->Holds(address, static_cast<uint64_t>(bytes));
}

CuResult EnqueueWrite(const char* symbol, CuStream stream, CuDevicePtr address, uint64_t value,
                      unsigned flags, int bytes) {
  return CallInContext(symbol, [&](Machine& machine, Context& context) -> CuResult {
    const std::shared_ptr<Stream> queue = FindStream(machine, context, stream);
    if (queue == nullptr) return kErrorInvalidHandle;
    if (flags > 1 || !IsPlace(context, address, bytes)) return kErrorInvalidValue;
    return Enqueue(queue, [&context, address, value, bytes]() -> CuResult {
      uint8_t data[8];
      std::memcpy(data, &value, sizeof(data));
      const Status done = context.memory.CopyIn(address, {data, static_cast<size_t>(bytes)});
      return done.ok() ? kSuccess : kErrorIllegalAddress;
    });
  });
}

CuResult EnqueueWait(const char* symbol, CuStream stream, CuDevicePtr address, uint64_t value,
                     unsigned flags, int bytes) {
  return CallInContext(symbol, [&](Machine& machine, Context& context) -> CuResult {
    const std::shared_ptr<Stream> queue = FindStream(machine, context, stream);
    if (queue == nullptr) return kErrorInvalidHandle;
    if (flags > kWaitNor || !IsPlace(context, address, bytes)) return kErrorInvalidValue;
    const auto condition = static_cast<CuStreamWaitFlags>(flags);
    return Enqueue(queue, [&machine, &context, address, value, bytes, condition] {
      return WaitForValue(machine, context, address, value, bytes, condition);
    });
  });
}

}  // namespace

CuResult StreamWriteValue32(CuStream stream, CuDevicePtr address, uint32_t value, unsigned flags) {
  return EnqueueWrite(symbols::kStreamWriteValue32, stream, address, value, flags, 4);
}

CuResult StreamWriteValue64(CuStream stream, CuDevicePtr address, uint64_t value, unsigned flags) {
  return EnqueueWrite(symbols::kStreamWriteValue64, stream, address, value, flags, 8);
}

CuResult StreamWaitValue32(CuStream stream, CuDevicePtr address, uint32_t value, unsigned flags) {
  return EnqueueWait(symbols::kStreamWaitValue32, stream, address, value, flags, 4);
}

CuResult StreamWaitValue64(CuStream stream, CuDevicePtr address, uint64_t value, unsigned flags) {
  return EnqueueWait(symbols::kStreamWaitValue64, stream, address, value, flags, 8);
}

}  // namespace tarsia::emulated
