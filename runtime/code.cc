#include "runtime/code.h"

#include "compiler/ptx/sass.h"

namespace tarsia::runtime {

Result<std::shared_ptr<const Code>> Code::Make(const Program& program, compiler::Target target,
                                               const compiler::CompileOptions& options) {
  TARSIA_TRY(compiler::CompiledKernel kernel, compiler::Compile(program, target, options));
  return std::shared_ptr<const Code>(new Code(target, std::move(kernel)));
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

}  // namespace tarsia::runtime
