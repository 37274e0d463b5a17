// Which entry of a module `tarsia emulate` is asked for: by its name in the PTX, by the name that
// C++ has for it, or by a part of either.
#ifndef TARSIA_TOOLS_EMULATE_ENTRY_H_
#define TARSIA_TOOLS_EMULATE_ENTRY_H_

#include <string>

#include "ptx/parse/module.h"

namespace tarsia::tools {

// "void add<float>(float*)" of a name that a C++ compiler made; other names as they are.
std::string Demangled(const std::string& name);

// Returns an exit code; what is wrong is printed. "" is the only entry.
int ChooseEntry(const ptx::Module& module, const std::string& wanted, const ptx::Function** out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_ENTRY_H_
