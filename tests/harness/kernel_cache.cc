#include "tests/harness/kernel_cache.h"

#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "isa/text/printer.h"
#include "runtime/devices/code.h"
#include "runtime/devices/kernel_image.h"
#include "runtime/devices/ptx_device.h"
#include "runtime/diagnostics.h"
#include "runtime/plans/plan_blob.h"
#include "support/environment.h"
#include "tests/harness/assembly.h"

namespace tarsia::harness {
namespace {

// The last kernels are enough for tests of many programs.
constexpr size_t kMostKernels = 64;

// For debugging: writes a file for each program to the folder that the variable names.
void Keep(const compiler::CompiledKernel& kernel, std::string_view target) {
  const std::string_view folder = Environment("TARSIA_KEEP_PTX");
  if (folder.empty()) return;
  static int number = 0;
  const auto path = std::filesystem::path(folder) / (std::to_string(++number) + "." + kernel.name +
                                                     "." + std::string(target) + ".ptx");
  std::ofstream(path) << kernel.ptx;
}

std::string WithoutTarget(const std::string& ptx) {
  std::string out;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".version") || line.starts_with(".target")) continue;
    out += line + "\n";
  }
  return out;
}

std::shared_ptr<runtime::Device> DeviceOf(compiler::Target target) {
  static std::map<compiler::Target, std::shared_ptr<runtime::Device>> devices;
  std::shared_ptr<runtime::Device>& device = devices[target];
  if (device == nullptr) device = runtime::MakePtxDevice(target);
  return device;
}

// The kernel after it was a plan in a file, so that every program of the tests goes that way, too.
Result<std::unique_ptr<runtime::LoadedKernel>> ThroughBytes(const Program& program,
                                                            const runtime::KernelImage& image,
                                                            runtime::Device& device) {
  runtime::PlanParts parts;
  parts.device = device.name();
  // Without machine code, which would run the assembler.
  parts.image = std::make_shared<runtime::StoredImage>(
      runtime::StoredCode{image.target(), image.kernel(), image.without(), "", ""});
  TARSIA_TRY(const std::string bytes, runtime::EncodePlan(program, parts));
  TARSIA_TRY(runtime::DecodedPlan plan, runtime::DecodePlan(bytes, device));
  TARSIA_TRY(const std::string again, runtime::EncodePlan(plan.program, plan.parts));
  if (again != bytes) {
    return MakeDiagnostic(diag::kPlanBlob, program.kernel().location, "its bytes change");
  }
  return device.LoadImage(plan.program, std::move(plan.parts.image), {});
}

std::shared_ptr<const CachedKernel> Make(const Program& program, const SourceFile& source,
                                         compiler::Target target,
                                         const std::vector<std::string>& without) {
  auto out = std::make_shared<CachedKernel>();
  out->device = DeviceOf(target);
  runtime::LoadOptions options;
  options.without = without;
  Result<std::unique_ptr<runtime::LoadedKernel>> loaded = out->device->Load(program, options);
  if (!loaded.ok()) {
    const bool unknown = std::string_view(loaded.error().info->id) == "code-not-emulated";
    (unknown ? out->fault : out->error) = Render(loaded.error(), source);
    return out;
  }
  loaded = ThroughBytes(program, *(*loaded)->image(), *out->device);
  if (!loaded.ok()) {
    out->fault = Render(loaded.error(), source);
    return out;
  }
  out->kernel = *std::move(loaded);
  const compiler::CompiledKernel& code = out->kernel->image()->kernel();
  out->body = WithoutTarget(code.ptx);
  Keep(code, Row(target).name);
  Collect(code, target);
  return out;
}

}  // namespace

std::shared_ptr<const CachedKernel> LoadCached(const Program& program, const SourceFile& source,
                                               compiler::Target target,
                                               const std::vector<std::string>& without) {
  // The most recent first. The key includes line numbers, because the compiler's output has them.
  static std::list<std::pair<std::string, std::shared_ptr<const CachedKernel>>> cache;
  std::string key = std::string(Row(target).name) + "\n" + source.name() + "\n" +
                    std::string(source.text()) + "\n" + Print(program.module());
  for (const std::string& pass : without) key += "\nwithout " + pass;
  for (auto at = cache.begin(); at != cache.end(); ++at) {
    if (at->first != key) continue;
    cache.splice(cache.begin(), cache, at);
    return cache.front().second;
  }
  cache.emplace_front(std::move(key), Make(program, source, target, without));
  if (cache.size() > kMostKernels) cache.pop_back();
  return cache.front().second;
}

}  // namespace tarsia::harness
