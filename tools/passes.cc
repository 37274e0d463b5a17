#include "tools/passes.h"

#include <optional>
#include <utility>

#include "compiler/pass.h"
#include "compiler/target.h"
#include "isa/specialise.h"
#include "isa/text/printer.h"
#include "runtime/api/handles.h"
#include "runtime/api/kernel_choice.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

int UsageError(const Diagnostic& error) {
  PrintError(error);
  return kUsage;
}

int Refuse(const tarsia_module& module, const Diagnostics& diagnostics) {
  for (const Diagnostic& error : diagnostics.list()) PrintError(error, *module.source);
  return kRejected;
}

}  // namespace

std::string PassNames() {
  std::string out;
  for (const compiler::Pass& pass : compiler::AllPasses()) {
    if (!out.empty()) out += ", ";
    out += pass.name;
  }
  return out;
}

Result<std::string> TextAfterPass(const Program& program, compiler::Target target,
                                  const PassRequest& request) {
  compiler::PassOptions options;
  options.target = target;
  options.without = request.without;
  options.last = request.last;
  options.after = [&](const compiler::Pass& pass, const compiler::tile::Form& /*form*/) {
    if (request.after) request.after(pass.name);
  };
  TARSIA_TRY(const Program after,
             compiler::ProgramAfter(program, options, compiler::LimitsOf(target)));
  return Print(after.module());
}

int TextAfterPass(const tarsia_module* module, const PassRequest& request, std::string* out) {
  const auto target = compiler::FindTarget(request.target);
  if (!target.ok()) return UsageError(target.error());
  const auto last = compiler::FindPass(request.last);
  if (!last.ok()) return UsageError(last.error());
  if (const Status s = compiler::CheckOptional(request.without); !s.ok()) {
    return UsageError(s.error());
  }
  std::string kernel;
  const char* const wanted = request.kernel.empty() ? nullptr : request.kernel.c_str();
  if (const auto s = api::FindKernelName(*module, wanted, &kernel); s != TARSIA_STATUS_OK) {
    return ReportFailure(s);
  }
  std::vector<Binding> bindings;
  if (const int code = ReadSets(request.sets, &bindings); code != kDone) return code;
  const TargetLimits limits = compiler::LimitsOf(*target);
  Diagnostics diagnostics;
  const auto program = Specialise(module->valid, kernel, bindings, limits, diagnostics);
  if (!program) return Refuse(*module, diagnostics);
  Result<std::string> text = TextAfterPass(*program, *target, request);
  if (!text.ok()) {
    diagnostics.Add(text.TakeError());
    return Refuse(*module, diagnostics);
  }
  *out = *std::move(text);
  return kDone;
}

}  // namespace tarsia::tools
