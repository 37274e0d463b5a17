// The C API as the main job uses it: a plan for a device, data in its memory, launches.
#ifndef TARSIA_TOOLS_REAL_LAYERS_LAUNCH_H_
#define TARSIA_TOOLS_REAL_LAYERS_LAUNCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tarsia/tarsia.h"
#include "tools/real_layers/layers.h"

namespace tarsia::real_layers {

struct Run {
  std::vector<uint16_t> y;
  uint64_t weight_bytes = 0;
  double milliseconds = 0;  // of a warm launch
};

// Runs examples/matmul_scaled.tsa on the device. Ends the program when a call fails.
Run Execute(const tarsia_module* module, const char* device, const Job& job);

// Figures of the job's kernel compiled for a target.
struct CodeFigures {
  double compile_ms = 0;
  size_t ptx_bytes = 0;
  bool assembled = false;  // ptxas was found; the rest is known only then
  tarsia_code_resources machine = {};
};
CodeFigures CompileFor(const tarsia_module* module, const char* target, const Job& job);

}  // namespace tarsia::real_layers

#endif  // TARSIA_TOOLS_REAL_LAYERS_LAUNCH_H_
