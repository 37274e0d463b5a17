#include "runtime/devices/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "compiler/assemble/sass.h"
#include "compiler/compiled/kernel_codec.h"
#include "compiler/loops/pipeline.h"
#include "compiler/pass.h"
#include "compiler/passes/layout_report.h"
#include "compiler/passes/narrow_access.h"
#include "compiler/passes/registers.h"
#include "compiler/passes/repeated_work.h"
#include "compiler/tile/to_program.h"
#include "isa/bytecode/bytecode.h"
#include "runtime/build_id.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/devices/code_cache.h"
#include "support/byte_codec.h"

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

// ---- on disk -------------------------------------------------------------------------------

std::string LabelOf(std::string_view kernel, compiler::Target target) {
  return fmt::format("{} for {}", kernel, Row(target).name);
}

// The kernel of an earlier run, or a new one, which is then kept.
Result<compiler::CompiledKernel> FindOrCompile(const std::string& key, const Program& program,
                                               compiler::Target target,
                                               const compiler::CompileOptions& options,
                                               StopCheck* stop) {
  const std::shared_ptr<DiskCache> cache = DiskCache::Current();
  const CacheKey disk_key("kernel", {BuildId(), compiler::LlvmVersion(), key});
  if (const std::optional<std::string> bytes = cache->Find(disk_key)) {
    if (auto kernel = compiler::DecodeKernel(*bytes, program)) return *std::move(kernel);
    cache->Drop(disk_key);
  }
  TARSIA_TRY(compiler::CompiledKernel kernel, compiler::Compile(program, target, options, stop));
  cache->Keep(disk_key, LabelOf(program.name(), target), compiler::EncodeKernel(kernel));
  return kernel;
}

// The machine code of an earlier run, or new one: as above.
Result<compiler::Assembled> FindOrAssemble(const compiler::CompiledKernel& kernel,
                                           compiler::Target target, StopCheck* stop) {
  TARSIA_TRY(const std::string assembler, compiler::AssemblerIdentity());
  const std::shared_ptr<DiskCache> cache = DiskCache::Current();
  const CacheKey key("cubin", {assembler, Row(target).name, kernel.ptx});
  if (const std::optional<std::string> bytes = cache->Find(key)) {
    ByteSource in(*bytes);
    compiler::Assembled out;
    out.log = in.Text();
    out.cubin = in.Text();
    if (in.done()) {
      compiler::ParsePtxasLog(out.log, out);
      return out;
    }
    cache->Drop(key);
  }
  TARSIA_TRY(compiler::Assembled made,
             compiler::Assemble(kernel.ptx, target, compiler::kToolLimit, stop));
  ByteSink bytes;
  cache->Keep(key, LabelOf(kernel.name, target), bytes.Text(made.log).Text(made.cubin).bytes());
  return made;
}

}  // namespace

Result<std::shared_ptr<const Code>> Code::Make(const Program& program, compiler::Target target,
                                               const compiler::CompileOptions& options,
                                               StopCheck* stop) {
  const std::optional<std::string> key = KeyOf(program, target, options);
  const auto make = [&]() -> Result<std::shared_ptr<const Code>> {
    // The cache keeps no LLVM IR.
    const bool keeps = key && !options.keep_llvm_ir;
    TARSIA_TRY(compiler::CompiledKernel kernel,
               keeps ? FindOrCompile(*key, program, target, options, stop)
                     : compiler::Compile(program, target, options, stop));
    return std::shared_ptr<const Code>(new Code(program, target, options, std::move(kernel)));
  };
  return key ? CodeCache::Get().Find(*key, stop, make) : make();
}

std::shared_ptr<const Code> Code::Of(const Program& program,
                                     const std::shared_ptr<const KernelImage>& image) {
  if (auto code = std::dynamic_pointer_cast<const Code>(image)) return code;
  compiler::CompileOptions options;
  options.without = image->without();
  std::shared_ptr<Code> out(new Code(program, image->target(), options, image->kernel()));
  if (const auto machine = image->FindMachine(nullptr); machine.ok()) {
    compiler::Assembled& made = out->machine_.emplace();
    made.cubin = machine->cubin;
    made.log = machine->log;
    compiler::ParsePtxasLog(made.log, made);
  }
  return out;
}

Result<KernelImage::Machine> Code::FindMachine(StopCheck* stop) const {
  TARSIA_TRY(const compiler::Assembled* const machine, Assembled(stop));
  return KernelImage::Machine{machine->cubin, machine->log};
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
  out.loops = compiler::LoopCosts(forms.last, target_);
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

Result<const compiler::Assembled*> Code::Assembled(StopCheck* stop) const {
  const auto stopped = [stop] { return stop != nullptr && stop->Ask() != StopReason::kNone; };
  std::unique_lock lock(assembling_, std::defer_lock);
  while (!lock.try_lock_for(StopCheck::kInterval)) {
    if (stopped()) return compiler::StoppedCompilation(program_, *stop);
  }
  if (machine_) return &*machine_;
  Result<compiler::Assembled> made = FindOrAssemble(kernel_, target_, stop);
  if (!made.ok() && stopped()) return compiler::StoppedCompilation(program_, *stop);
  if (!made.ok()) return made.TakeError();
  return &machine_.emplace(*std::move(made));
}

Result<std::string> Code::Sass() const {
  TARSIA_TRY(const compiler::Assembled* const machine, Assembled());
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
