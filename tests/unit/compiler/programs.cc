#include "tests/unit/compiler/programs.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "isa/text/parser.h"
#include "isa/validate.h"

namespace tarsia::compiler {

Program MakeProgram(const std::string& text, const std::vector<Binding>& constants) {
  const SourceFile source("test.tsa", text);
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  if (module) {
    const std::string kernel(module->Name(module->kernels[0]));
    const auto valid = Validate(*std::move(module), diagnostics);
    if (valid) {
      auto program = Specialise(*valid, kernel, constants, {}, diagnostics);
      if (program) return *std::move(program);
    }
  }
  std::fputs(diagnostics.Render(source).c_str(), stderr);
  std::abort();
}

}  // namespace tarsia::compiler
