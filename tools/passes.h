// The program after a pass of the compiler, as text.
#ifndef TARSIA_TOOLS_PASSES_H_
#define TARSIA_TOOLS_PASSES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

// Errors are printed on standard error and become exit codes.
int TextAfterPass(const tarsia_module* module, const PassRequest& request, std::string* out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_PASSES_H_
