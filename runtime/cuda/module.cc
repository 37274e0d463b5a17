#include "runtime/cuda/module.h"

#include <fmt/format.h>

#include <vector>

#include "runtime/diagnostics.h"
#include "runtime/log.h"

namespace tarsia::cuda {
namespace {

constexpr size_t kLogBytes = size_t{16} * 1024;

void* FromNumber(uintptr_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr)
}

// Returns the driver's result and its compiler's log.
CuResult LoadData(const Driver& driver, const std::string& image, CuModule* module,
                  std::string* log) {
  std::vector<char> buffer(kLogBytes);
  CuJitOption names[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
  void* values[] = {buffer.data(), FromNumber(buffer.size())};
  const CuResult result = driver.ModuleLoadDataEx(module, image.c_str(), 2, names, values);
  buffer.back() = '\0';
  *log = buffer.data();
  return result;
}

}  // namespace

Result<std::unique_ptr<Kernel>> Kernel::Load(std::shared_ptr<const Gpu> gpu, KernelCode code) {
  if (code.shared_bytes > gpu->properties().shared_bytes) {
    return MakeDiagnostic(diag::kCudaSharedMemory, {}, code.entry, code.shared_bytes, gpu->Label(),
                          gpu->properties().shared_bytes);
  }
  std::unique_ptr<Kernel> kernel(new Kernel(std::move(gpu), std::move(code)));
  TARSIA_CHECK(kernel->Prepare());
  return kernel;
}

Kernel::~Kernel() {
  const Driver& driver = gpu_->driver();
  for (Loaded* at = loaded_.load(); at != nullptr;) {
    Loaded* const next = at->next;
    unsigned long long id = 0;
    if (driver.CtxGetId(at->context, &id) == kSuccess && id == at->context_id) {
      const Result<CurrentContext> current = CurrentContext::Enter(*gpu_, at->context);
      if (current.ok()) driver.ModuleUnload(at->module);
    }
    delete at;
    at = next;
  }
}

Status Kernel::Prepare() const {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(*gpu_));
  const Result<const Loaded*> loaded = FindOrLoad(current);
  return loaded.ok() ? OkStatus() : Status(loaded.error());
}

const Kernel::Loaded* Kernel::Find(uint64_t context_id) const {
  const Loaded* at = loaded_.load(std::memory_order_acquire);
  while (at != nullptr && at->context_id != context_id) at = at->next;
  return at;
}

Result<const Kernel::Loaded*> Kernel::FindOrLoad(const CurrentContext& current) const {
  TARSIA_TRY(const uint64_t id, current.Id());
  if (const Loaded* const found = Find(id)) return found;
  const std::lock_guard lock(loading_);
  if (const Loaded* const found = Find(id)) return found;
  auto loaded = std::make_unique<Loaded>();
  loaded->context_id = id;
  loaded->context = current.context();
  TARSIA_CHECK(LoadImage(loaded.get()));
  if (Status status = LoadFunction(loaded.get()); !status.ok()) {
    gpu_->driver().ModuleUnload(loaded->module);
    return status.TakeError();
  }
  loaded->next = loaded_.load(std::memory_order_relaxed);
  loaded_.store(loaded.get(), std::memory_order_release);
  return static_cast<const Loaded*>(loaded.release());
}

Status Kernel::LoadImage(Loaded* loaded) const {
  const Driver& driver = gpu_->driver();
  CuResult result = kErrorNoBinaryForGpu;
  std::string log;
  if (!code_.cubin.empty()) result = LoadData(driver, code_.cubin, &loaded->module, &log);
  const bool refused =
      result != kSuccess && result != kErrorOutOfMemory && !IsLost(result) && !IsOfCapture(result);
  if (!code_.ptx.empty() && refused) {
    if (!code_.cubin.empty()) {
      api::Log(TARSIA_LOG_WARNING,
               fmt::format("{} for {}: the driver compiles the PTX, since it refuses the machine "
                           "code: {}{}{}",
                           code_.entry, gpu_->Label(), driver.ErrorText(result),
                           log.empty() ? "" : ": ", log));
    }
    result = LoadData(driver, code_.ptx, &loaded->module, &log);
    loaded->from_ptx = true;
  }
  if (result == kSuccess) return OkStatus();
  if (IsLost(result) || IsOfCapture(result) || result == kErrorOutOfMemory) {
    return driver.Check(result, "cuModuleLoadData");
  }
  const std::string why = driver.ErrorText(result) + (log.empty() ? "" : "\n") + log;
  return MakeDiagnostic(diag::kCudaLoad, {}, gpu_->Label(), code_.entry, why);
}

// Reads attributes, so that the function is loaded even if the driver loads lazily.
Status Kernel::LoadFunction(Loaded* loaded) const {
  const Driver& driver = gpu_->driver();
  TARSIA_CHECK(
      driver.Check(driver.ModuleGetFunction(&loaded->function, loaded->module, code_.entry.c_str()),
                   "cuModuleGetFunction"));
  int static_bytes = 0;
  TARSIA_CHECK(driver.Check(
      driver.FuncGetAttribute(&static_bytes, kFunctionSharedSizeBytes, loaded->function),
      "cuFuncGetAttribute"));
  if (code_.shared_bytes == 0) return OkStatus();
  return driver.Check(driver.FuncSetAttribute(loaded->function, kFunctionMaxDynamicSharedSizeBytes,
                                              static_cast<int>(code_.shared_bytes)),
                      "cuFuncSetAttribute");
}

Result<KernelAttributes> Kernel::Attributes() const {
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(*gpu_));
  TARSIA_TRY(const Loaded* const loaded, FindOrLoad(current));
  const Driver& driver = gpu_->driver();
  KernelAttributes out;
  out.from_ptx = loaded->from_ptx;
  const auto read = [&](CuFunctionAttribute attribute, int* value) {
    return driver.Check(driver.FuncGetAttribute(value, attribute, loaded->function),
                        "cuFuncGetAttribute");
  };
  TARSIA_CHECK(read(kFunctionNumRegs, &out.registers));
  TARSIA_CHECK(read(kFunctionLocalSizeBytes, &out.local_bytes));
  TARSIA_CHECK(read(kFunctionSharedSizeBytes, &out.static_shared_bytes));
  TARSIA_CHECK(
      driver.Check(driver.OccupancyMaxActiveBlocks(&out.blocks_per_multiprocessor, loaded->function,
                                                   code_.threads, code_.shared_bytes),
                   "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  return out;
}

Status Kernel::LaunchEarly(CuFunction function, const std::array<int64_t, 3>& grid, CuStream stream,
                           void** extra) const {
  CuLaunchAttribute early{};
  early.id = kLaunchProgrammaticStreamSerialization;
  early.value.flag = 1;
  const CuLaunchConfig config{{static_cast<unsigned>(grid[0]), static_cast<unsigned>(grid[1]),
                               static_cast<unsigned>(grid[2])},
                              {static_cast<unsigned>(code_.threads), 1, 1},
                              static_cast<unsigned>(code_.shared_bytes),
                              stream,
                              &early,
                              1};
  return gpu_->driver().Check(gpu_->driver().LaunchKernelEx(&config, function, nullptr, extra),
                              "cuLaunchKernelEx");
}

Status Kernel::Launch(const std::array<int64_t, 3>& grid, std::span<const uint8_t> parameters,
                      CuStream stream) const {
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return OkStatus();
  const Driver& driver = gpu_->driver();
  TARSIA_TRY(const CurrentContext current, CurrentContext::Enter(*gpu_));
  TARSIA_TRY(const uint64_t id, current.Id());
  const Loaded* loaded = Find(id);
  if (loaded == nullptr) {
    CuStreamCaptureStatus status = kCaptureNone;
    if (driver.StreamIsCapturing(stream, &status) != kSuccess || status != kCaptureNone) {
      return MakeDiagnostic(diag::kCudaNotLoaded, {}, code_.entry, gpu_->Label());
    }
    TARSIA_TRY(loaded, FindOrLoad(current));
  }
  size_t bytes = parameters.size();
  void* extra[] = {FromNumber(kLaunchParamBufferPointer),
                   const_cast<uint8_t*>(parameters.data()),  // the driver only reads it
                   FromNumber(kLaunchParamBufferSize), &bytes, FromNumber(kLaunchParamEnd)};
  if (code_.begins_early) return LaunchEarly(loaded->function, grid, stream, extra);
  return driver.Check(
      driver.LaunchKernel(loaded->function, static_cast<unsigned>(grid[0]),
                          static_cast<unsigned>(grid[1]), static_cast<unsigned>(grid[2]),
                          static_cast<unsigned>(code_.threads), 1, 1,
                          static_cast<unsigned>(code_.shared_bytes), stream, nullptr, extra),
      "cuLaunchKernel");
}

}  // namespace tarsia::cuda
