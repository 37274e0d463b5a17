// Device memory: allocation, copies, fills. Asynchronous copies read and write the host's memory
// when they run, as with page-locked memory.
#include <cstring>
#include <span>

#include "tests/emulated_driver/api.h"

namespace tarsia::emulated {
namespace {

CuResult StatusToResult(const Status& status) {
  return status.ok() ? kSuccess : kErrorIllegalAddress;
}

CuResult Copy(Machine& machine, CuDevicePtr target, CuDevicePtr source, uint64_t bytes) {
  Context* const from = machine.Owner(source, bytes);
  Context* const to = machine.Owner(target, bytes);
  if (from == nullptr || to == nullptr) return kErrorIllegalAddress;
  if (from == to) return StatusToResult(to->memory.CopyWithin(target, source, bytes));
  std::vector<uint8_t> buffer(bytes);
  const CuResult error = StatusToResult(from->memory.CopyOut(source, buffer));
  return error != kSuccess ? error : StatusToResult(to->memory.CopyIn(target, buffer));
}

// Each is a stream operation, after a check that a driver makes at once.
CuResult EnqueueIn(Machine& machine, const std::shared_ptr<Stream>& stream, CuDevicePtr target,
                   const void* source, uint64_t bytes) {
  if (machine.Owner(target, bytes) == nullptr || source == nullptr) return kErrorInvalidValue;
  return Enqueue(stream, [=, &machine] {
    Context* const to = machine.Owner(target, bytes);
    if (to == nullptr) return +kErrorIllegalAddress;
    return StatusToResult(to->memory.CopyIn(target, {static_cast<const uint8_t*>(source), bytes}));
  });
}

CuResult EnqueueOut(Machine& machine, const std::shared_ptr<Stream>& stream, void* target,
                    CuDevicePtr source, uint64_t bytes) {
  if (machine.Owner(source, bytes) == nullptr || target == nullptr) return kErrorInvalidValue;
  return Enqueue(stream, [=, &machine] {
    Context* const from = machine.Owner(source, bytes);
    if (from == nullptr) return +kErrorIllegalAddress;
    return StatusToResult(from->memory.CopyOut(source, {static_cast<uint8_t*>(target), bytes}));
  });
}

CuResult EnqueueWithin(Machine& machine, const std::shared_ptr<Stream>& stream, CuDevicePtr target,
                       CuDevicePtr source, uint64_t bytes) {
  if (machine.Owner(target, bytes) == nullptr || machine.Owner(source, bytes) == nullptr) {
    return kErrorInvalidValue;
  }
  return Enqueue(stream, [=, &machine] { return Copy(machine, target, source, bytes); });
}

CuResult EnqueueFill(Machine& machine, const std::shared_ptr<Stream>& stream, CuDevicePtr target,
                     uint32_t value, int width, uint64_t count) {
  const uint64_t bytes = count * static_cast<uint64_t>(width);
  if (machine.Owner(target, bytes) == nullptr || target % static_cast<uint64_t>(width) != 0) {
    return kErrorInvalidValue;
  }
  return Enqueue(stream, [=, &machine] {
    Context* const to = machine.Owner(target, bytes);
    if (to == nullptr) return +kErrorIllegalAddress;
    return StatusToResult(to->memory.Fill(target, value, width, count));
  });
}

// Calls `enqueue` with the caller's stream, unless there is nothing to do.
template <typename F>
CuResult InStream(const char* symbol, CuStream stream, uint64_t count, F enqueue) {
  return CallInContext(symbol, [&](Machine& machine, Context& context) -> CuResult {
    const std::shared_ptr<Stream> queue = FindStream(machine, context, stream);
    if (queue == nullptr) return kErrorInvalidHandle;
    return count == 0 ? kSuccess : enqueue(machine, queue);
  });
}

// A call without a stream runs in the legacy one; `wait`: wait until it is done.
template <typename F>
CuResult InLegacy(const char* symbol, uint64_t count, bool wait, F enqueue) {
  return CallInContext(symbol, [&](Machine& machine, Context& context) -> CuResult {
    if (const CuResult error = CheckUncaptured(context)) return error;
    if (count == 0) return kSuccess;
    const CuResult error = enqueue(machine, context.legacy);
    return error != kSuccess || !wait ? error : Drain(context.legacy);
  });
}

}  // namespace

CuResult MemAlloc(CuDevicePtr* pointer, size_t bytes) {
  return CallInContext(symbols::kMemAlloc, [&](Machine& machine, Context& context) -> CuResult {
    if (pointer == nullptr || bytes == 0) return kErrorInvalidValue;
    if (const CuResult error = CheckUncaptured(context)) return error;
    uint64_t used = 0;
    for (const auto& [handle, other] : machine.contexts) {
      if (other->device == context.device) used += other->memory.used();
    }
    if (bytes > machine.settings.memory - used) return kErrorOutOfMemory;
    auto address = context.memory.Allocate(bytes);
    if (!address.ok()) return kErrorOutOfMemory;
    context.allocations.emplace(*address, bytes);
    *pointer = *address;
    return kSuccess;
  });
}

// Does not wait for work that uses the memory, although a driver may: that would hide a missing
// wait.
CuResult MemFree(CuDevicePtr pointer) {
  return CallInContext(symbols::kMemFree, [&](Machine& machine, Context& context) -> CuResult {
    if (pointer == 0) return kSuccess;
    if (const CuResult error = CheckUncaptured(context)) return error;
    Context* const owner = machine.Owner(pointer, 0);
    if (owner == nullptr || owner->allocations.erase(pointer) == 0) return kErrorInvalidValue;
    return owner->memory.Free(pointer).ok() ? kSuccess : kErrorInvalidValue;
  });
}

CuResult MemGetInfo(size_t* available, size_t* total) {
  return CallInContext(symbols::kMemGetInfo, [&](Machine& machine, Context& context) {
    uint64_t used = 0;
    for (const auto& [handle, other] : machine.contexts) {
      if (other->device == context.device) used += other->memory.used();
    }
    *total = machine.settings.memory;
    *available = machine.settings.memory - used;
    return kSuccess;
  });
}

CuResult PointerGetAttribute(void* value, CuPointerAttribute attribute, CuDevicePtr pointer) {
  return Call(symbols::kPointerGetAttribute, [&](Machine& machine) {
    Context* const owner = machine.Owner(pointer, 1);
    if (owner == nullptr || value == nullptr) return kErrorInvalidValue;
    const ptx::MemoryRange& range = *owner->memory.Find(pointer);
    const auto put = [&](auto what) {
      std::memcpy(value, &what, sizeof(what));
      return kSuccess;
    };
    switch (attribute) {
      case kPointerContext:
        return put(owner->handle);
      case kPointerMemoryType:
        return put(unsigned{2});
      case kPointerDeviceOrdinal:
        return put(owner->device);
      case kPointerRangeStart:
        return put(range.address);
      case kPointerRangeSize:
        return put(size_t{range.bytes});
    }
    return kErrorInvalidValue;
  });
}

CuResult MemcpyHtoDAsync(CuDevicePtr target, const void* source, size_t bytes, CuStream stream) {
  return InStream(symbols::kMemcpyHtoDAsync, stream, bytes, [&](Machine& machine, auto& queue) {
    return EnqueueIn(machine, queue, target, source, bytes);
  });
}

CuResult MemcpyDtoHAsync(void* target, CuDevicePtr source, size_t bytes, CuStream stream) {
  return InStream(symbols::kMemcpyDtoHAsync, stream, bytes, [&](Machine& machine, auto& queue) {
    return EnqueueOut(machine, queue, target, source, bytes);
  });
}

CuResult MemcpyDtoDAsync(CuDevicePtr target, CuDevicePtr source, size_t bytes, CuStream stream) {
  return InStream(symbols::kMemcpyDtoDAsync, stream, bytes, [&](Machine& machine, auto& queue) {
    return EnqueueWithin(machine, queue, target, source, bytes);
  });
}

CuResult MemsetD8Async(CuDevicePtr target, unsigned char value, size_t bytes, CuStream stream) {
  return InStream(symbols::kMemsetD8Async, stream, bytes, [&](Machine& machine, auto& queue) {
    return EnqueueFill(machine, queue, target, value, 1, bytes);
  });
}

CuResult MemsetD16Async(CuDevicePtr target, unsigned short value, size_t count, CuStream stream) {
  return InStream(symbols::kMemsetD16Async, stream, count, [&](Machine& machine, auto& queue) {
    return EnqueueFill(machine, queue, target, value, 2, count);
  });
}

CuResult MemsetD32Async(CuDevicePtr target, unsigned value, size_t count, CuStream stream) {
  return InStream(symbols::kMemsetD32Async, stream, count, [&](Machine& machine, auto& queue) {
    return EnqueueFill(machine, queue, target, value, 4, count);
  });
}

CuResult MemcpyHtoD(CuDevicePtr target, const void* source, size_t bytes) {
  return InLegacy(symbols::kMemcpyHtoD, bytes, true, [&](Machine& machine, auto& queue) {
    return EnqueueIn(machine, queue, target, source, bytes);
  });
}

CuResult MemcpyDtoH(void* target, CuDevicePtr source, size_t bytes) {
  return InLegacy(symbols::kMemcpyDtoH, bytes, true, [&](Machine& machine, auto& queue) {
    return EnqueueOut(machine, queue, target, source, bytes);
  });
}

CuResult MemcpyDtoD(CuDevicePtr target, CuDevicePtr source, size_t bytes) {
  return InLegacy(symbols::kMemcpyDtoD, bytes, false, [&](Machine& machine, auto& queue) {
    return EnqueueWithin(machine, queue, target, source, bytes);
  });
}

CuResult MemsetD8(CuDevicePtr target, unsigned char value, size_t bytes) {
  return InLegacy(symbols::kMemsetD8, bytes, false, [&](Machine& machine, auto& queue) {
    return EnqueueFill(machine, queue, target, value, 1, bytes);
  });
}

CuResult MemsetD16(CuDevicePtr target, unsigned short value, size_t count) {
  return InLegacy(symbols::kMemsetD16, count, false, [&](Machine& machine, auto& queue) {
    return EnqueueFill(machine, queue, target, value, 2, count);
  });
}

CuResult MemsetD32(CuDevicePtr target, unsigned value, size_t count) {
  return InLegacy(symbols::kMemsetD32, count, false, [&](Machine& machine, auto& queue) {
    return EnqueueFill(machine, queue, target, value, 4, count);
  });
}

}  // namespace tarsia::emulated
