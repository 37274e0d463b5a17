// Modules and their functions.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/emulated_driver/api.h"

namespace tarsia::emulated {
namespace {

// The log buffer in the options of a load, and the option with its size.
struct LogBuffer {
  char* text = nullptr;
  void** size = nullptr;

  void Write(const std::string& log) const {
    if (text == nullptr || size == nullptr) return;
    const auto room = reinterpret_cast<uintptr_t>(*size);
    if (room == 0) return;
    const size_t bytes = std::min<size_t>(log.size(), room - 1);
    std::memcpy(text, log.data(), bytes);
    text[bytes] = '\0';
    *size = ToHandle<void*>(bytes);
  }
};

CuResult ReadOptions(unsigned count, const CuJitOption* names, void** values, LogBuffer* info,
                     LogBuffer* error) {
  if (count > 0 && (names == nullptr || values == nullptr)) return kErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    switch (names[i]) {
      case kJitInfoLogBuffer:
        info->text = static_cast<char*>(values[i]);
        break;
      case kJitInfoLogBufferSizeBytes:
        info->size = &values[i];
        break;
      case kJitErrorLogBuffer:
        error->text = static_cast<char*>(values[i]);
        break;
      case kJitErrorLogBufferSizeBytes:
        error->size = &values[i];
        break;
      case kJitLogVerbose:
      case kJitGenerateLineInfo:
        break;
    }
  }
  return kSuccess;
}

}  // namespace

CuResult ModuleLoadDataEx(CuModule* module, const void* image, unsigned options, CuJitOption* names,
                          void** values) {
  return CallInContext(
      symbols::kModuleLoadDataEx, [&](Machine& machine, Context& context) -> CuResult {
        if (module == nullptr || image == nullptr) return kErrorInvalidValue;
        if (const CuResult error = CheckUncaptured(context)) return error;
        LogBuffer info;
        LogBuffer errors;
        if (const CuResult error = ReadOptions(options, names, values, &info, &errors)) {
          return error;
        }
        std::string log;
        std::shared_ptr<Module> loaded;
        const CuResult result = LoadModule(machine, context, image, &log, &loaded);
        errors.Write(log);
        info.Write("");
        if (result == kSuccess) *module = Add<CuModule>(machine, &machine.modules, loaded);
        return result;
      });
}

CuResult ModuleUnload(CuModule module) {
  return CallInContext(symbols::kModuleUnload, [&](Machine& machine, Context& context) -> CuResult {
    const std::shared_ptr<Module> found = Find(machine.modules, module);
    if (found == nullptr || found->context != &context) return kErrorInvalidHandle;
    std::erase_if(machine.functions,
                  [&](const auto& item) { return item.second->module.lock() == found; });
    machine.modules.erase(reinterpret_cast<uintptr_t>(module));
    return kSuccess;
  });
}

CuResult ModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  return CallInContext(
      symbols::kModuleGetFunction, [&](Machine& machine, Context& context) -> CuResult {
        const std::shared_ptr<Module> found = Find(machine.modules, module);
        if (found == nullptr || found->context != &context) return kErrorInvalidHandle;
        const ptx::EntryImage* const entry = found->image->FindEntry(name);
        if (entry == nullptr) return kErrorNotFound;
        auto object = std::make_shared<Function>();
        object->module = found;
        object->context = &context;
        object->name = name;
        object->entry = entry;
        object->local_bytes = entry->entry->local_bytes;
        if (machine.settings.local_functions > 0) {
          object->local_bytes += 16;
          --machine.settings.local_functions;
        }
        *function = Add<CuFunction>(machine, &machine.functions, std::move(object));
        return kSuccess;
      });
}

// Registers are 0, because there is no machine code.
CuResult FuncGetAttribute(int* value, CuFunctionAttribute attribute, CuFunction function) {
  return CallInContext(symbols::kFuncGetAttribute, [&](Machine& machine, Context& /*context*/) {
    const std::shared_ptr<Function> found = Find(machine.functions, function);
    if (found == nullptr) return kErrorInvalidHandle;
    const ptx::Function& entry = *found->entry->entry;
    const uint64_t most =
        uint64_t{entry.max_threads[0]} * entry.max_threads[1] * entry.max_threads[2];
    switch (attribute) {
      case kFunctionMaxThreadsPerBlock:
        *value = most != 0 ? static_cast<int>(most) : 1024;
        return kSuccess;
      case kFunctionSharedSizeBytes:
        *value = static_cast<int>(found->entry->static_shared);
        return kSuccess;
      case kFunctionLocalSizeBytes:
        *value = static_cast<int>(found->local_bytes);
        return kSuccess;
      case kFunctionNumRegs:
        *value = 0;
        return kSuccess;
      case kFunctionMaxDynamicSharedSizeBytes:
        *value = static_cast<int>(found->max_dynamic_shared);
        return kSuccess;
      case kFunctionNonPortableClusterSizeAllowed:
        *value = found->non_portable_cluster ? 1 : 0;
        return kSuccess;
    }
    return kErrorInvalidValue;
  });
}

CuResult FuncSetAttribute(CuFunction function, CuFunctionAttribute attribute, int value) {
  return CallInContext(symbols::kFuncSetAttribute, [&](Machine& machine, Context& /*context*/) {
    const std::shared_ptr<Function> found = Find(machine.functions, function);
    if (found == nullptr) return kErrorInvalidHandle;
    if (attribute == kFunctionNonPortableClusterSizeAllowed) {
      found->non_portable_cluster = value != 0;
      return kSuccess;
    }
    const uint64_t most = MaxSharedOptIn(machine.settings.major * 10 + machine.settings.minor);
    if (attribute != kFunctionMaxDynamicSharedSizeBytes || value < 0 ||
        static_cast<uint64_t>(value) + found->entry->static_shared > most) {
      return kErrorInvalidValue;
    }
    found->max_dynamic_shared = static_cast<uint64_t>(value);
    return kSuccess;
  });
}

}  // namespace tarsia::emulated
