#include "tests/emulated_driver/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "tests/emulated_driver/model.h"

namespace tarsia::emulated {
namespace {

using namespace tarsia::cuda;

// "sm_90a" as 90 and 'a'.
struct Architecture {
  int number = 0;
  char family = 0;
};

bool ParseArchitecture(std::string_view text, Architecture* out) {
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out->number);
  if (error != std::errc()) return false;
  const auto rest = text.substr(static_cast<size_t>(end - text.data()));
  out->family = rest.empty() ? '\0' : rest[0];
  return rest.size() <= 1;
}

// PTX 8.4 came with CUDA 12.4, 9.0 with 13.0.
bool IsNewer(std::string_view ptx_version, int driver_version) {
  int major = 0, minor = 0;
  const char* const end = ptx_version.data() + ptx_version.size();
  const auto first = std::from_chars(ptx_version.data(), end, major);
  if (first.ptr != end) std::from_chars(first.ptr + 1, end, minor);
  return major * 10 + minor > (driver_version / 1000 - 4) * 10 + driver_version % 1000 / 10;
}

CuResult CheckModule(const Settings& settings, const ptx::Module& module, std::string* log) {
  if (IsNewer(module.version, settings.version)) {
    *log = fmt::format("PTX version {} is newer than the driver\n", module.version);
    return kErrorUnsupportedPtxVersion;
  }
  const int own = settings.major * 10 + settings.minor;
  for (const std::string& target : module.targets) {
    Architecture wanted;
    if (!ParseArchitecture(target, &wanted)) continue;  // debug, texmode_..
    if (wanted.family != '\0' ? wanted.number != own : wanted.number > own) {
      *log = fmt::format("PTX for {} cannot be compiled for sm_{}\n", target, own);
      return kErrorInvalidPtx;
    }
  }
  return kSuccess;
}

// The error of a GPU for a finding of the emulator.
CuResult ErrorOf(ptx::FindingKind kind) {
  using ptx::FindingKind;
  switch (kind) {
    case FindingKind::kOutOfBounds:
      return kErrorIllegalAddress;
    case FindingKind::kMisaligned:
      return kErrorMisalignedAddress;
    case FindingKind::kUnknownInstruction:
      return kErrorIllegalInstruction;
    case FindingKind::kDeadlock:
    case FindingKind::kLimit:
      return kErrorLaunchTimeout;
    case FindingKind::kTrap:
    case FindingKind::kUninitialised:
    case FindingKind::kRace:
    case FindingKind::kAsync:
    case FindingKind::kProxy:
    case FindingKind::kDivergence:
    case FindingKind::kWgmma:
    case FindingKind::kMbarrier:
      return kErrorLaunchFailed;
  }
  return kErrorUnknown;
}

// Checks the blocks of a cluster: 8 are always allowed, 16 if the function opts in.
CuResult CheckCluster(const Settings& settings, const Function& function,
                      const LaunchShape& shape) {
  const auto& required = function.entry->entry->required_cluster;
  const ptx::Dim3 asked =
      shape.cluster.Count() != 0 ? shape.cluster : ptx::Dim3{required[0], required[1], required[2]};
  if (asked.Count() == 0) return kSuccess;
  if (required[0] != 0 && asked != ptx::Dim3{required[0], required[1], required[2]}) {
    return kErrorInvalidValue;
  }
  const uint64_t most = function.non_portable_cluster ? 16 : 8;
  if (settings.major < 9 || asked.Count() > most) return kErrorInvalidClusterSize;
  const ptx::Dim3& grid = shape.grid;
  const bool fits = grid.x % asked.x == 0 && grid.y % asked.y == 0 && grid.z % asked.z == 0;
  return fits ? kSuccess : kErrorInvalidValue;
}

CuResult Judge(Machine& machine, const std::string& name, const ptx::LaunchReport& report) {
  CuResult error = kSuccess;
  for (const ptx::Finding& finding : report.findings) {
    machine.Report(fmt::format("emulated driver: {}\n", ptx::ToString(finding, name)));
    if (error == kSuccess && !machine.settings.Tolerates(ptx::NameOf(finding.kind))) {
      error = ErrorOf(finding.kind);
    }
  }
  return error == kSuccess && !report.finished ? kErrorLaunchFailed : error;
}

CuResult Run(Machine& machine, const Function& function, const LaunchShape& shape,
             const std::vector<uint8_t>& parameters, const Overlap& overlap) {
  ++machine.launches;
  if (const CuResult fault = machine.faults.Next("kernel", false)) return fault;
  const std::shared_ptr<Module> module = function.module.lock();
  if (module == nullptr) {
    machine.Report(
        fmt::format("emulated driver: {} was launched, and its module unloaded before it ran\n",
                    function.name));
    return kErrorInvalidPc;
  }
  ptx::LaunchConfig config;
  config.grid = shape.grid;
  config.block = shape.block;
  config.cluster = shape.cluster;
  config.dynamic_shared = shape.dynamic_shared;
  config.parameters = parameters;
  config.instruction_limit = machine.settings.instruction_limit;
  config.max_shared = MaxSharedOptIn(machine.settings.major * 10 + machine.settings.minor);
  if (shape.cooperative) config.resident_blocks = static_cast<uint32_t>(shape.grid.Count());
  config.cooperative = shape.cooperative;
  config.dependents_may_start = overlap.dependents_may_start;
  config.dependency_wait = overlap.dependency_wait;
  const auto report = ptx::Launch(*module->image, function.name, config);
  if (report.ok()) return Judge(machine, function.name, *report);
  machine.Report(fmt::format("emulated driver: {}: {}\n", function.name, report.error().message));
  return kErrorLaunchFailed;
}

}  // namespace

uint64_t MaxSharedOptIn(int capability) {
  if (capability == 80 || capability == 87) return 163 * 1024;
  return capability < 90 || capability >= 120 ? 99 * 1024 : 227 * 1024;
}

CuResult LoadModule(Machine& machine, Context& context, const void* image, std::string* log,
                    std::shared_ptr<Module>* module) {
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0) {
    *log = "the emulated driver runs PTX only\n";
    return kErrorNoBinaryForGpu;
  }
  const SourceFile text("module", static_cast<const char*>(image));
  Diagnostics diagnostics;
  const auto parsed = ptx::ParseModule(text, &diagnostics);
  if (parsed == nullptr) {
    *log = diagnostics.Render(text);
    return kErrorInvalidPtx;
  }
  if (const CuResult error = CheckModule(machine.settings, *parsed, log)) return error;
  auto loaded = std::make_shared<Module>();
  loaded->context = &context;
  auto placed = ptx::Image::Load(parsed, &context.memory);
  if (!placed.ok()) {
    *log = placed.error().message + "\n";
    return kErrorInvalidImage;
  }
  loaded->image = *std::move(placed);
  *module = std::move(loaded);
  return kSuccess;
}

CuResult ReadParameters(const Function& function, void** parameters, void** extra,
                        std::vector<uint8_t>* out) {
  const ptx::Function& entry = *function.entry->entry;
  out->assign(entry.param_bytes, 0);
  if (parameters != nullptr) {
    if (extra != nullptr) return kErrorInvalidValue;
    for (size_t i = 0; i < entry.params.size(); ++i) {
      std::memcpy(out->data() + entry.params[i].offset, parameters[i], entry.params[i].bytes);
    }
    return kSuccess;
  }
  const void* buffer = nullptr;
  size_t bytes = 0;
  for (void** at = extra; at != nullptr && *at != nullptr; at += 2) {
    const auto name = reinterpret_cast<uintptr_t>(*at);
    if (name == kLaunchParamBufferPointer) {
      buffer = at[1];
    } else if (name == kLaunchParamBufferSize) {
      std::memcpy(&bytes, at[1], sizeof(bytes));
    } else {
      return kErrorInvalidValue;
    }
  }
  if (bytes != entry.param_bytes || (bytes > 0 && buffer == nullptr)) return kErrorInvalidValue;
  if (bytes > 0) std::memcpy(out->data(), buffer, bytes);
  return kSuccess;
}

CuResult CheckShape(const Machine& machine, const Function& function, const LaunchShape& shape) {
  const ptx::Function& entry = *function.entry->entry;
  const ptx::Dim3& grid = shape.grid;
  const ptx::Dim3& block = shape.block;
  const unsigned dynamic_shared = shape.dynamic_shared;
  if (grid.Count() == 0 || grid.x > INT32_MAX || grid.y > UINT16_MAX || grid.z > UINT16_MAX ||
      block.Count() == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.Count() > 1024) {
    return kErrorInvalidValue;
  }
  const auto& wanted = entry.required_threads;
  if (wanted[0] != 0 && block != ptx::Dim3{wanted[0], wanted[1], wanted[2]}) {
    return kErrorInvalidValue;
  }
  const auto& most = entry.max_threads;
  if (most[0] != 0 && block.Count() > uint64_t{most[0]} * most[1] * most[2]) {
    return kErrorInvalidValue;
  }
  const uint64_t total = function.entry->dynamic_offset - function.entry->reserved + dynamic_shared;
  const uint64_t room = MaxSharedOptIn(machine.settings.major * 10 + machine.settings.minor);
  if (dynamic_shared > function.max_dynamic_shared || total > room) return kErrorInvalidValue;
  if (const CuResult error = CheckCluster(machine.settings, function, shape)) return error;
  if (!shape.cooperative) return kSuccess;
  const uint64_t blocks =
      uint64_t{BlocksPerMultiprocessor(machine.settings, function, block.Count(), dynamic_shared)} *
      static_cast<uint64_t>(
          ModelOf(machine.settings.major * 10 + machine.settings.minor).multiprocessors);
  return grid.Count() > blocks ? kErrorCooperativeLaunchTooLarge : kSuccess;
}

KernelAction MakeLaunch(Machine& machine, const std::shared_ptr<Function>& function,
                        const LaunchShape& shape, std::vector<uint8_t> parameters) {
  return [&machine, function, shape, parameters = std::move(parameters)](const Overlap& overlap) {
    return Run(machine, *function, shape, parameters, overlap);
  };
}

}  // namespace tarsia::emulated
