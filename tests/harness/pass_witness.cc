#include "tests/harness/pass_witness.h"

#include "compiler/pass.h"
#include "compiler/tile/to_program.h"
#include "compiler/tile/verify.h"
#include "isa/text/printer.h"

namespace tarsia::harness {

PassWitness::PassWitness(std::string_view pass)
    : pass_(pass), name_("interpreter --check after " + std::string(pass)) {}

Outcome PassWitness::Run(const Program& program, const SourceFile& source,
                         std::span<const Argument> arguments) const {
  Outcome out;
  compiler::PassOptions options;
  options.last = pass_;
  const compiler::tile::Form form = compiler::RunPasses(program, options);
  out.fault = compiler::FindFaultAfter(*compiler::FindPass(pass_).value(), form);
  if (out.fault.empty()) out.fault = compiler::tile::FindChange(form, program);
  if (!out.fault.empty()) return out;
  const Result<Program> again = compiler::tile::ToProgram(form, {});
  if (!again.ok()) {
    out.fault = Render(again.error(), source) + Print(compiler::tile::ToModule(form));
    return out;
  }
  if (pass_ == "build" && !Equal(program.module(), again->module())) {
    out.fault = "build changes the program:\n" + Print(program.module()) + "becomes\n" +
                Print(again->module());
    return out;
  }
  return interpreter_.Run(*again, source, arguments);
}

}  // namespace tarsia::harness
