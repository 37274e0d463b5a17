#include "tests/harness/emulator_witness.h"

#include <string_view>
#include <utility>

#include "tests/harness/device_launch.h"
#include "tests/harness/kernel_cache.h"

namespace tarsia::harness {
namespace {

// More than any case needs; stops endless loops.
constexpr uint64_t kEmulatorLimit = 4'000'000;

}  // namespace

EmulatorWitness::EmulatorWitness(compiler::Target target, std::vector<std::string> without)
    : target_(target),
      without_(std::move(without)),
      name_("emulator of " + std::string(Row(target).name)) {
  for (const std::string& pass : without_) name_ += " without " + pass;
}

std::string EmulatorWitness::CodeOf(const Program& program, const SourceFile& source) const {
  return LoadCached(program, source, target_, without_)->body;
}

Outcome EmulatorWitness::Run(const Program& program, const SourceFile& source,
                             std::span<const Argument> arguments) const {
  const std::shared_ptr<const CachedKernel> made = LoadCached(program, source, target_, without_);
  Outcome out;
  out.error = made->error;
  out.fault = made->fault;
  if (made->kernel == nullptr) return out;
  vm::LaunchOptions options;
  options.threads = 1;
  options.max_instructions = kEmulatorLimit;
  options.print = [&out](std::string_view line) { out.lines.emplace_back(line); };
  const auto launched = LaunchOn(*made->device, *made->kernel, arguments, options);
  if (launched.ok()) {
    for (const launch::Finding& finding : launched->report.findings) {
      out.fault += Render(finding.diagnostic, source);
    }
  } else {
    const bool finding = std::string_view(launched.error().info->id) == "emulator-finding";
    (finding ? out.fault : out.error) = Render(launched.error(), source);
  }
  return out;
}

}  // namespace tarsia::harness
