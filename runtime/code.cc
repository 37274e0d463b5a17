#include "runtime/code.h"

#include "compiler/ptx/sass.h"

namespace tarsia::runtime {

Result<std::shared_ptr<const Code>> Code::Make(const Program& program, compiler::Target target,
                                               const compiler::CompileOptions& options) {
  TARSIA_TRY(compiler::CompiledKernel kernel, compiler::Compile(program, target, options));
  return std::shared_ptr<const Code>(new Code(program, target, options, std::move(kernel)));
}

Result<std::string> Code::LlvmIr() const {
  compiler::CompileOptions options = options_;
  options.keep_llvm_ir = true;
  TARSIA_TRY(compiler::CompiledKernel kernel, compiler::Compile(program_, target_, options));
  return std::move(kernel.llvm_ir);
}

const Result<compiler::Assembled>& Code::Machine() const {
  std::call_once(assembled_, [this] { machine_ = compiler::Assemble(kernel_.ptx, target_); });
  return *machine_;
}

Result<std::string> Code::Sass() const {
  const Result<compiler::Assembled>& machine = Machine();
  if (!machine.ok()) return machine.error();
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
