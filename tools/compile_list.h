// Many specialisations of one program, by all cores: `tarsia compile --list`.
#ifndef TARSIA_TOOLS_COMPILE_LIST_H_
#define TARSIA_TOOLS_COMPILE_LIST_H_

#include <cstdint>
#include <string>

#include "tools/modules.h"

namespace tarsia::tools {

struct ListRequest {
  std::string list;          // the file (tools/settings_list.h)
  std::string folder;        // of the outputs; made if need be
  std::string emit = "ptx";  // a form of tools/code_forms.h, or tsa:PASS
  uint32_t jobs = 0;         // threads; 0: one for each core
  bool resources = false;
  bool time = false;
  // What holds where a line does not say otherwise: target, kernel, constants; and the options of
  // all lines.
  CodeRequest code;
};

// Compiles each line and writes its file, which has the bytes that compiling it alone gives. Prints
// the paths on standard output and what is wrong on standard error, both in the order of the lines,
// whatever the number of threads. A line that fails stops no other. Returns an exit code.
int CompileList(const tarsia_module& module, const ListRequest& request);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_COMPILE_LIST_H_
