// Makes a kernel concrete: binds its constants, checks its requirements, and validates what could
// not be decided before.
#ifndef TARSIA_ISA_SPECIALISE_H_
#define TARSIA_ISA_SPECIALISE_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/limits.h"
#include "isa/program.h"
#include "isa/validate.h"

namespace tarsia {

// NAME=TEXT, the text an expression of the language: `W=u4`, `K=4096`, `L=spatial(2, 4)`.
struct Binding {
  std::string name;
  std::string text;
};

// What the machine that a program is made for can hold.
struct TargetLimits {
  std::string_view name = "cpu";
  int64_t shared_bytes = 227 * 1024;  // a block
  int max_warps = kMaxWarps;          // a block
};

// Constants without binding take their default. What they say never runs is taken out first
// (isa/prune.h), so that an arm of an `if` need not fit constants that do not take it. Errors
// (unknown or missing constants, a requirement that fails, whatever validation finds) go to
// `diagnostics`; those in a binding's text have no place, and begin with the binding. Thread-safe.
std::optional<Program> Specialise(const ValidModule& module, std::string_view kernel,
                                  const std::vector<Binding>& bindings, const TargetLimits& limits,
                                  Diagnostics& diagnostics);

}  // namespace tarsia

#endif  // TARSIA_ISA_SPECIALISE_H_
