// Makes a kernel concrete: binds its constants, checks its requirements, and validates what could
// not be checked before.
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
#include "support/diagnostic.h"

namespace tarsia {

// NAME=TEXT, where the text is an expression of the language: `W=u4`, `K=4096`, `L=spatial(2, 4)`.
struct Binding {
  std::string name;
  std::string text;
  Location location = {};  // of NAME=TEXT in a text of the caller; none if it is not from one
};

// The limits of the machine that a program is made for.
struct TargetLimits {
  std::string_view name = "cpu";
  int64_t shared_bytes = int64_t{227} * 1024;  // a block
  int max_warps = kMaxWarps;                   // a block
};

// Constants without binding have their default value. Code that never runs with them is removed
// first (isa/prune.h), so an arm of an `if` need not be valid for constants that do not take it.
// Elementwise operands that are repeated get instructions that do it (isa/broadcasts.h).
// Errors (unknown or missing constants, a requirement that fails, whatever validation finds) go to
// `diagnostics`. Errors of bindings that have a location go to `of_bindings` unless it is null,
// with their place in the text of the caller; all other errors of bindings have no place, and those
// in the text of a binding begin with the binding. Thread-safe.
std::optional<Program> Specialise(const ValidModule& module, std::string_view kernel,
                                  const std::vector<Binding>& bindings, const TargetLimits& limits,
                                  Diagnostics& diagnostics, Diagnostics* of_bindings = nullptr);

}  // namespace tarsia

#endif  // TARSIA_ISA_SPECIALISE_H_
