#include "compiler/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compiler/diagnostics.h"
#include "compiler/loops/arrivals.h"
#include "compiler/loops/pipeline.h"
#include "compiler/loops/unroll.h"
#include "compiler/passes/coalesce.h"
#include "compiler/passes/layouts.h"
#include "compiler/passes/registers.h"
#include "compiler/passes/shared.h"
#include "compiler/passes/stage.h"
#include "compiler/passes/sync.h"
#include "compiler/passes/widen.h"
#include "compiler/simplify/simplify.h"
#include "compiler/tile/build.h"
#include "compiler/tile/to_program.h"
#include "compiler/tile/verify.h"

namespace tarsia::compiler {
namespace {

void Nothing(tile::Form& /*form*/, Target /*target*/) {}

constexpr Pass kPasses[] = {
    {"build", false, "a program", "the tile form of the same program", &Nothing},
    {"widen", true, "the tile form",
     "tensor cores of the target multiply the 8-bit floats of every `dot`, or f16 or bf16 instead",
     &Widen},
    {"simplify", true, "the tile form",
     "no result is unused, and none is computed twice in one place", &Simplify},
    {"coalesce", true, "the tile form",
     "codes that would move to or from global memory in pieces move as bytes side by side",
     &Coalesce},
    {"layouts", false, "the tile form",
     "every register tile has a layout, in which the instructions that use it need it",
     &AssignLayouts, &FindLayoutFault},
    {"stage", true, "every register tile has a layout",
     "elements that change threads do so through tiles in shared memory, as far as there is room",
     &Stage},
    {"pipeline", true, "every register tile has a layout",
     "the loads of a loop with `pipeline n` begin n - 1 turns before their elements are used",
     &Pipeline},
    {"unroll", true, "the tile form",
     "the turns of a loop with `unroll n` follow each other without a test, `n` at a time",
     &Unroll},
    {"sync", false, "the tile form",
     "accesses to bytes of shared memory are ordered, wherever the pass `shared` places the tiles",
     &Synchronise},
    {"shared", false, "accesses to shared memory are ordered for its places",
     "every tile in shared memory has a place, apart from all that are live with it", &PlaceShared,
     &FindSharedFault},
    {"registers", true, "every register tile has a layout",
     "a thread has as many registers as it can, if the tiles do not fit in them", &BoundRegisters},
};

// "build, simplify".
std::string Names(bool only_optional) {
  std::string out;
  for (const Pass& pass : kPasses) {
    if (only_optional && !pass.optional) continue;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", pass.name);
  }
  return out;
}

void Verify(const Pass& pass, const tile::Form& form, const Program& program) {
#ifndef NDEBUG
  std::string fault = FindFaultAfter(pass, form);
  if (fault.empty()) fault = tile::FindChange(form, program);
  if (fault.empty()) return;
  fmt::print(stderr, "the tile form is wrong after the pass `{}`: {}\n", pass.name, fault);
  std::abort();
#else
  static_cast<void>(pass);
  static_cast<void>(form);
  static_cast<void>(program);
#endif
}

}  // namespace

std::span<const Pass> AllPasses() { return kPasses; }

std::string FindFaultAfter(const Pass& pass, const tile::Form& form) {
  std::string fault = tile::FindFault(form);
  if (fault.empty() && pass.fault != nullptr) fault = pass.fault(form);
  return fault;
}

Result<const Pass*> FindPass(std::string_view name) {
  for (const Pass& pass : kPasses) {
    if (pass.name == name) return &pass;
  }
  return MakeDiagnostic(diag::kUnknownPass, Location(), name, Names(false));
}

Status CheckOptional(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    TARSIA_TRY(const Pass* const pass, FindPass(name));
    if (pass->optional) continue;
    const std::string optional = Names(true);
    return MakeDiagnostic(diag::kRequiredPass, Location(), name,
                          optional.empty() ? "none" : optional);
  }
  return OkStatus();
}

tile::Form RunPasses(const Program& program, const PassOptions& options) {
  tile::Form form = tile::Build(program);
  for (const Pass& pass : kPasses) {
    if (pass.name == options.until) break;
    const bool left_out = std::find(options.without.begin(), options.without.end(), pass.name) !=
                          options.without.end();
    if (!left_out) {
      pass.run(form, options.target);
      Verify(pass, form, program);
      if (options.after) options.after(pass, form);
    }
    if (pass.name == options.last) break;
  }
  return form;
}

// After the pass that makes asynchronous copies of loads: whether all did that had to.
Status CheckAsync(const tile::Form& form, const Program& program, const PassOptions& options) {
  constexpr std::string_view kPass = "pipeline";
  const auto place = [](std::string_view name) {
    return std::find_if(std::begin(kPasses), std::end(kPasses),
                        [&](const Pass& pass) { return pass.name == name; });
  };
  const bool ran =
      std::find(options.without.begin(), options.without.end(), kPass) == options.without.end() &&
      place(kPass) < place(options.until) &&
      (options.last.empty() || place(kPass) <= place(options.last));
  if (!ran) return OkStatus();
  if (!HasAsyncLoads(form)) return OkStatus();
  PassOptions before = options;
  before.last = {};
  before.until = kPass;
  before.after = nullptr;
  LateLoad late = FindLateLoad(form, RunPasses(program, before), options.target);
  return MakeDiagnostic(diag::kViaAsync, late.location, late.why);
}

Result<Program> ProgramAfter(const Program& program, const PassOptions& options,
                             const TargetLimits& limits) {
  const tile::Form form = RunPasses(program, options);
  TARSIA_CHECK(CheckAsync(form, program, options));
  return tile::ToProgram(form, limits);
}

}  // namespace tarsia::compiler
