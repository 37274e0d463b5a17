// The launches of `tarsia emulate`: one from the command line, or several from a JSON file.
#ifndef TARSIA_TOOLS_EMULATE_LAUNCHES_H_
#define TARSIA_TOOLS_EMULATE_LAUNCHES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/table/findings.h"

namespace tarsia::tools {

struct EmulatedLaunch {
  std::string entry;  // "": the only one
  ptx::Dim3 grid;
  std::optional<ptx::Dim3> block;
  std::optional<ptx::Dim3> cluster;
  uint32_t shared = 0;
  std::vector<std::string> args;
};

// "16", "16,4" or "16,4,2".
bool ParseDim(std::string_view text, ptx::Dim3* out);

// Reads [{"entry", "grid", "block", "cluster", "shared", "args"}, ..]. Returns an exit code; errors
// are printed with their place.
int ReadLaunches(const std::string& path, std::vector<EmulatedLaunch>* out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_LAUNCHES_H_
