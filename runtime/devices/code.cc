#include "runtime/devices/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "compiler/assemble/sass.h"
#include "compiler/loops/pipeline.h"
#include "compiler/pass.h"
#include "compiler/passes/layout_report.h"
#include "compiler/passes/narrow_access.h"
#include "compiler/passes/registers.h"
#include "compiler/passes/repeated_work.h"
#include "compiler/tile/to_program.h"
#include "isa/bytecode/bytecode.h"
#include "runtime/devices/code_cache.h"

namespace tarsia::runtime {

namespace {

compiler::PassOptions PassesOf(compiler::Target target, const compiler::CompileOptions& options) {
  compiler::PassOptions out;
  out.target = target;
  out.without = options.without;
  return out;
}

// Everything that code depends on; empty for a program without bytecode.
std::optional<std::string> KeyOf(const Program& program, compiler::Target target,
                                 const compiler::CompileOptions& options) {
  const Result<std::string> bytes = Encode(program.module());
  if (!bytes.ok()) return std::nullopt;
  const std::string& source = program.source_name();
  std::vector<std::string> without = options.without;
  std::sort(without.begin(), without.end());
  without.erase(std::unique(without.begin(), without.end()), without.end());
  return fmt::format("{} {} {} [{}] {} {}\n{}{}", Row(target).name, options.line_info,
                     options.keep_llvm_ir, fmt::join(without, " "), program.warps(), source.size(),
                     source, *bytes);
}

}  // namespace

Result<std::shared_ptr<const Code>> Code::Make(const Program& program, compiler::Target target,
                                               const compiler::CompileOptions& options,
                                               StopCheck* stop) {
  const auto make = [&]() -> Result<std::shared_ptr<const Code>> {
    TARSIA_TRY(compiler::CompiledKernel kernel, compiler::Compile(program, target, options, stop));
    return std::shared_ptr<const Code>(new Code(program, target, options, std::move(kernel)));
  };
  const std::optional<std::string> key = KeyOf(program, target, options);
  return key ? CodeCache::Get().Find(*key, stop, make) : make();
}

Result<std::string> Code::LlvmIr() const {
  compiler::CompileOptions options = options_;
  options.keep_llvm_ir = true;
  TARSIA_TRY(compiler::CompiledKernel kernel, compiler::Compile(program_, target_, options));
  return std::move(kernel.llvm_ir);
}

Code::Forms Code::RunPasses() const {
  Forms out;
  bool open = true;
  bool staged = true;
  compiler::PassOptions passes = PassesOf(target_, options_);
  passes.after = [&](const compiler::Pass& pass, const compiler::tile::Form& form) {
    open = open && pass.name != "layouts";
    if (open) out.open = form;
    staged = staged && pass.name != "pipeline";
    if (staged) out.staged = form;
  };
  out.last = compiler::RunPasses(program_, passes);
  return out;
}

std::string Code::Layouts() const {
  Forms forms = RunPasses();
  const compiler::Work work = compiler::PredictWork(forms.last, target_);
  return compiler::LayoutReport(std::move(forms.open), target_, CyclesOf(work, target_)) +
         compiler::PipelineReport(std::move(forms.staged), target_);
}

Result<std::string> Code::Facts() const {
  TARSIA_TRY(const Program last, compiler::ProgramAfter(program_, PassesOf(target_, options_),
                                                        compiler::LimitsOf(target_)));
  return compiler::FactsText(last);
}

Result<Code::Prediction> Code::Predict() const {
  const Forms forms = RunPasses();
  TARSIA_TRY(const Program last,
             compiler::tile::ToProgram(forms.last, compiler::LimitsOf(target_)));
  Prediction out;
  out.work = compiler::PredictWorkByLine(forms.last, target_);
  out.advice = compiler::AdviceOn(last);
  const auto add = [&](std::vector<compiler::LineAdvice> more) {
    out.advice.insert(out.advice.end(), std::make_move_iterator(more.begin()),
                      std::make_move_iterator(more.end()));
  };
  add(compiler::AdviceOnNarrowAccesses(forms.open, target_));
  add(compiler::AdviceOnRepeatedWork(last));
  add(compiler::AdviceOnRegisters(forms.last));
  add(compiler::AdviceOnPipelines(forms.staged, target_));
  return out;
}

Result<const compiler::Assembled*> Code::Machine(StopCheck* stop) const {
  const auto stopped = [stop] { return stop != nullptr && stop->Ask() != StopReason::kNone; };
  std::unique_lock lock(assembling_, std::defer_lock);
  while (!lock.try_lock_for(StopCheck::kInterval)) {
    if (stopped()) return compiler::StoppedCompilation(program_, *stop);
  }
  if (machine_) return &*machine_;
  Result<compiler::Assembled> made =
      compiler::Assemble(kernel_.ptx, target_, compiler::kToolLimit, stop);
  if (!made.ok() && stopped()) return compiler::StoppedCompilation(program_, *stop);
  if (!made.ok()) return made.TakeError();
  return &machine_.emplace(*std::move(made));
}

Result<std::string> Code::Sass() const {
  TARSIA_TRY(const compiler::Assembled* const machine, Machine());
  return compiler::DisassembleText(machine->cubin);
}

Result<std::string> Code::Mix() const {
  TARSIA_TRY(const std::string text, Sass());
  for (const compiler::SassKernel& kernel : compiler::ParseSass(text)) {
    if (kernel.name == kernel_.name) return compiler::MixText(kernel);
  }
  return std::string();
}

}  // namespace tarsia::runtime
