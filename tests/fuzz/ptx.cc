// Fuzzes PTX: whatever the text, errors or a module that loads and whose entries run to an end, a
// finding or the limit of instructions.
#include <string>
#include <vector>

#include "ptx/machine/emulator.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kMaxParameters = 4096;
constexpr uint64_t kMemory = uint64_t{1} << 24;

void RunEntry(const Image& image, const Function& entry) {
  if (entry.param_bytes > kMaxParameters) return;
  const auto buffer = image.memory().Allocate(256);
  if (!buffer.ok()) return;
  // Every word of the parameters is a pointer to a small buffer.
  std::vector<uint8_t> parameters(entry.param_bytes);
  for (size_t i = 0; i + 8 <= parameters.size(); i += 8) {
    for (size_t byte = 0; byte < 8; ++byte) {
      parameters[i + byte] = static_cast<uint8_t>(*buffer >> (8 * byte));
    }
  }
  LaunchConfig config;
  config.grid = {2};
  // A warp or a warpgroup, and part of another: enough to race, diverge and wait for each other.
  config.block = {entry.has_wgmma ? 130U : 36U};
  config.dynamic_shared = 256;
  config.parameters = parameters;
  config.instruction_limit = 3000;
  (void)Launch(image, entry.name, config).ok();
}

// Whether the text is PTX.
bool Check(const std::string& text) {
  const SourceFile source("fuzz.ptx", text);
  Diagnostics diagnostics;
  const bool whole = ParseModule(source, &diagnostics) != nullptr;
  (void)diagnostics.Render(source);
  Diagnostics of_parts;
  const auto module = ParseModuleInParts(source, &of_parts);
  if (module == nullptr) return false;
  Memory memory(kMemory);
  const auto image = Image::Load(module, &memory);
  if (!image.ok()) return whole;
  for (const Function& function : module->functions) {
    if (function.entry && function.defined) RunEntry(**image, function);
  }
  return whole;
}

}  // namespace
}  // namespace tarsia::ptx

// Texts that are not PTX are run, but not kept in the corpus (-1): they would soon outnumber the
// rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return tarsia::ptx::Check(std::string(reinterpret_cast<const char*>(data), size)) ? 0 : -1;
}
