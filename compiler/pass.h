// The passes over the tile form, in the order in which they run. Each takes a program in tile form
// (compiler/tile/form.h) and leaves one; after any of them the form can become a program again. The
// code generator takes the program after the last one.
#ifndef TARSIA_COMPILER_PASS_H_
#define TARSIA_COMPILER_PASS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"
#include "compiler/tile/form.h"
#include "isa/program.h"
#include "isa/specialise.h"
#include "support/result.h"

namespace tarsia::compiler {

struct Pass {
  std::string_view name;
  bool optional = false;      // it only makes code faster, and may be left out
  std::string_view needs;     // what must hold before
  std::string_view promises;  // what holds afterwards
  void (*run)(tile::Form& form, Target target) = nullptr;
  // The first exception to what it promises, for tests; null: its text is all there is.
  std::string (*fault)(const tile::Form& form) = nullptr;
};

// The first one is `build`, which makes the form.
std::span<const Pass> AllPasses();
// The first fault of a form after a pass: of the form (tile/verify.h), or of what the pass
// promises. Empty if there is none.
std::string FindFaultAfter(const Pass& pass, const tile::Form& form);
// By name; the error lists the passes.
Result<const Pass*> FindPass(std::string_view name);
// Success if all names are of optional passes; the error lists these.
Status CheckOptional(const std::vector<std::string>& names);

struct PassOptions {
  Target target = Target::kSm80;     // whose instructions and costs the passes choose between
  std::vector<std::string> without;  // names of passes to leave out
  std::string_view last;             // stop after this pass; empty: run all
  std::string_view until;            // stop before this pass
  // Called after each pass that ran; may be empty.
  std::function<void(const Pass& pass, const tile::Form& form)> after;
};

// Runs the passes in their order. Debug builds check the form after each of them, and that it is
// launched as the program is (tile/verify.h); they end the process at a fault. Thread-safe.
tile::Form RunPasses(const Program& program, const PassOptions& options);

// The program after the passes, within the limits of its target.
Result<Program> ProgramAfter(const Program& program, const PassOptions& options,
                             const TargetLimits& limits);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASS_H_
