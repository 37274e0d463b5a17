// Contexts, and the calling thread's stack of them.
#include "tests/emulated_driver/api.h"

namespace tarsia::emulated {
namespace {

uintptr_t NumberOf(CuContext context) { return reinterpret_cast<uintptr_t>(context); }

bool IsAlive(const Machine& machine, CuContext context) {
  return machine.contexts.contains(NumberOf(context));
}

}  // namespace

CuResult DevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  return Call(symbols::kDevicePrimaryCtxRetain, [&](Machine& machine) {
    if (device < 0 || device >= machine.settings.devices) return kErrorInvalidDevice;
    Machine::Primary& primary = machine.primaries[device];
    if (primary.retains++ == 0) primary.context = machine.NewContext(device)->handle;
    *context = ToHandle<CuContext>(primary.context);
    return kSuccess;
  });
}

CuResult DevicePrimaryCtxRelease(CuDevice device) {
  return Call(symbols::kDevicePrimaryCtxRelease, [&](Machine& machine) {
    const auto found = machine.primaries.find(device);
    if (found == machine.primaries.end() || found->second.retains == 0) return kErrorInvalidContext;
    if (--found->second.retains == 0) machine.DestroyContext(found->second.context);
    return kSuccess;
  });
}

CuResult CtxCreate(CuContext* context, unsigned /*flags*/, CuDevice device) {
  return Call(symbols::kCtxCreate, [&](Machine& machine) {
    if (device < 0 || device >= machine.settings.devices) return kErrorInvalidDevice;
    const uintptr_t handle = machine.NewContext(device)->handle;
    machine.Stack().push_back(handle);
    *context = ToHandle<CuContext>(handle);
    return kSuccess;
  });
}

CuResult CtxDestroy(CuContext context) {
  return Call(symbols::kCtxDestroy, [&](Machine& machine) {
    if (!IsAlive(machine, context)) return kErrorInvalidContext;
    for (const auto& [device, primary] : machine.primaries) {
      if (primary.retains > 0 && primary.context == NumberOf(context)) return kErrorInvalidContext;
    }
    std::vector<uintptr_t>& stack = machine.Stack();
    if (!stack.empty() && stack.back() == NumberOf(context)) stack.pop_back();
    machine.DestroyContext(NumberOf(context));
    return kSuccess;
  });
}

CuResult CtxGetCurrent(CuContext* context) {
  return Call(symbols::kCtxGetCurrent, [&](Machine& machine) {
    const std::vector<uintptr_t>& stack = machine.Stack();
    *context = stack.empty() ? nullptr : ToHandle<CuContext>(stack.back());
    return kSuccess;
  });
}

CuResult CtxSetCurrent(CuContext context) {
  return Call(symbols::kCtxSetCurrent, [&](Machine& machine) {
    std::vector<uintptr_t>& stack = machine.Stack();
    if (context != nullptr && !IsAlive(machine, context)) return kErrorInvalidContext;
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(NumberOf(context));
    return kSuccess;
  });
}

CuResult CtxPushCurrent(CuContext context) {
  return Call(symbols::kCtxPushCurrent, [&](Machine& machine) {
    if (!IsAlive(machine, context)) return kErrorInvalidContext;
    machine.Stack().push_back(NumberOf(context));
    return kSuccess;
  });
}

CuResult CtxPopCurrent(CuContext* context) {
  return Call(symbols::kCtxPopCurrent, [&](Machine& machine) {
    std::vector<uintptr_t>& stack = machine.Stack();
    if (stack.empty()) return kErrorInvalidContext;
    if (context != nullptr) *context = ToHandle<CuContext>(stack.back());
    stack.pop_back();
    return kSuccess;
  });
}

CuResult CtxGetDevice(CuDevice* device) {
  return Call(symbols::kCtxGetDevice, [&](Machine& machine) {
    const Context* const context = machine.Current();
    if (context == nullptr) return kErrorInvalidContext;
    *device = context->device;
    return kSuccess;
  });
}

// Handles are never reused here; a real driver guarantees that only for the ids of contexts.
CuResult CtxGetId(CuContext context, unsigned long long* id) {
  return Call(symbols::kCtxGetId, [&](Machine& machine) {
    if (context == nullptr) {
      const Context* const current = machine.Current();
      if (current == nullptr) return kErrorInvalidContext;
      *id = current->handle;
      return kSuccess;
    }
    if (!IsAlive(machine, context)) return kErrorContextIsDestroyed;
    *id = NumberOf(context);
    return kSuccess;
  });
}

CuResult CtxSynchronize() {
  return CallInContext(symbols::kCtxSynchronize, [](Machine& /*machine*/, Context& context) {
    if (const CuResult error = CheckUncaptured(context)) return error;
    return DrainAll(context);
  });
}

}  // namespace tarsia::emulated
