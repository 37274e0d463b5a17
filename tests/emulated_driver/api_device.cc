// Initialisation, errors, devices.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/emulated_driver/api.h"
#include "tests/emulated_driver/model.h"

namespace tarsia::emulated {
namespace {

struct ErrorRow {
  CuResult code;
  const char* name;
  const char* text;
};
constexpr ErrorRow kErrors[] = {
#define ERR(code, name, text) {code, name, text},
#include "tests/emulated_driver/errors.def"
#undef ERR
};

const ErrorRow* FindError(CuResult code) {
  const auto* const found = std::ranges::find(kErrors, code, &ErrorRow::code);
  return found == std::end(kErrors) ? nullptr : found;
}

bool IsDevice(const Machine& machine, CuDevice device) {
  return device >= 0 && device < machine.settings.devices;
}

CuResult Attribute(const Settings& settings, CuDeviceAttribute attribute, int* value) {
  const int capability = settings.major * 10 + settings.minor;
  const Model model = ModelOf(capability);
  switch (attribute) {
    case kAttributeMaxThreadsPerBlock:
      return *value = 1024, kSuccess;
    case kAttributeMaxSharedMemoryPerBlock:
      return *value = 48 * 1024, kSuccess;
    case kAttributeWarpSize:
      return *value = 32, kSuccess;
    case kAttributeMaxRegistersPerBlock:
      return *value = 65536, kSuccess;
    case kAttributeClockRate:
    case kAttributeMemoryClockRate:
    case kAttributeGlobalMemoryBusWidth:
      return *value = 0, kSuccess;  // the emulator has no clock rate
    case kAttributeMultiprocessorCount:
      return *value = model.multiprocessors, kSuccess;
    case kAttributeL2CacheSize:
      return *value = model.l2_bytes, kSuccess;
    case kAttributeMaxThreadsPerMultiprocessor:
      return *value = model.threads, kSuccess;
    case kAttributeComputeCapabilityMajor:
      return *value = settings.major, kSuccess;
    case kAttributeComputeCapabilityMinor:
      return *value = settings.minor, kSuccess;
    case kAttributeMaxSharedMemoryPerMultiprocessor:
      return *value = model.shared_memory, kSuccess;
    case kAttributeMaxSharedMemoryPerBlockOptin:
      return *value = static_cast<int>(MaxSharedOptIn(capability)), kSuccess;
  }
  return kErrorInvalidValue;
}

}  // namespace

CuResult Init(unsigned flags) {
  Machine& machine = Machine::Get();
  const AtWork at_work(machine);
  ++machine.calls;
  if (const CuResult fault = machine.faults.Next(symbols::kInit, true)) return fault;
  if (!machine.settings.problem.empty()) {
    std::fputs(machine.settings.problem.c_str(), stderr);
    return kErrorInvalidValue;
  }
  if (flags != 0) return kErrorInvalidValue;
  if (machine.settings.devices <= 0) return kErrorNoDevice;
  machine.initialised = true;
  return kSuccess;
}

CuResult DriverGetVersion(int* version) {
  Machine& machine = Machine::Get();
  const AtWork at_work(machine);
  if (version == nullptr) return kErrorInvalidValue;
  *version = machine.settings.version;
  return kSuccess;
}

CuResult GetErrorName(CuResult error, const char** name) {
  const ErrorRow* const row = FindError(error);
  *name = row != nullptr ? row->name : nullptr;
  return row != nullptr ? kSuccess : kErrorInvalidValue;
}

CuResult GetErrorString(CuResult error, const char** text) {
  const ErrorRow* const row = FindError(error);
  *text = row != nullptr ? row->text : nullptr;
  return row != nullptr ? kSuccess : kErrorInvalidValue;
}

CuResult DeviceGetCount(int* count) {
  return Call(symbols::kDeviceGetCount, [&](Machine& machine) {
    *count = machine.settings.devices;
    return kSuccess;
  });
}

CuResult DeviceGet(CuDevice* device, int ordinal) {
  return Call(symbols::kDeviceGet, [&](Machine& machine) {
    if (!IsDevice(machine, ordinal)) return kErrorInvalidDevice;
    *device = ordinal;
    return kSuccess;
  });
}

CuResult DeviceGetName(char* name, int length, CuDevice device) {
  return Call(symbols::kDeviceGetName, [&](Machine& machine) {
    if (!IsDevice(machine, device)) return kErrorInvalidDevice;
    if (length <= 0) return kErrorInvalidValue;
    std::snprintf(name, static_cast<size_t>(length), "Emulated GPU %d.%d", machine.settings.major,
                  machine.settings.minor);
    return kSuccess;
  });
}

CuResult DeviceGetAttribute(int* value, CuDeviceAttribute attribute, CuDevice device) {
  return Call(symbols::kDeviceGetAttribute, [&](Machine& machine) {
    if (!IsDevice(machine, device)) return +kErrorInvalidDevice;
    return Attribute(machine.settings, attribute, value);
  });
}

CuResult DeviceTotalMem(size_t* bytes, CuDevice device) {
  return Call(symbols::kDeviceTotalMem, [&](Machine& machine) {
    if (!IsDevice(machine, device)) return kErrorInvalidDevice;
    *bytes = machine.settings.memory;
    return kSuccess;
  });
}

}  // namespace tarsia::emulated
