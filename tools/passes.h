// The program after a pass of the compiler, as text.
#ifndef TARSIA_TOOLS_PASSES_H_
#define TARSIA_TOOLS_PASSES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"
#include "isa/program.h"
#include "support/result.h"
#include "tools/handles.h"

namespace tarsia::tools {

struct PassRequest {
  std::string target;
  std::string kernel;                                // "": the only one
  std::vector<std::string> sets;                     // NAME=V
  std::string last;                                  // the last pass that runs
  std::vector<std::string> without;                  // passes to leave out
  std::function<void(std::string_view pass)> after;  // called after each pass
};

// "build, simplify".
std::string PassNames();

// The text of a program, which Specialise made for this target, after the last pass of the request;
// its kernel and constants are not read.
Result<std::string> TextAfterPass(const Program& program, compiler::Target target,
                                  const PassRequest& request);

// The same for a module. Errors are printed on standard error and become exit codes.
int TextAfterPass(const tarsia_module* module, const PassRequest& request, std::string* out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_PASSES_H_
