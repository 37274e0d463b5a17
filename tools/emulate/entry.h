// Chooses the entry of a module for `tarsia emulate`: by its name in the PTX, by its C++ name, or
// by a part of either.
#ifndef TARSIA_TOOLS_EMULATE_ENTRY_H_
#define TARSIA_TOOLS_EMULATE_ENTRY_H_

#include <string>

#include "ptx/parse/module.h"

namespace tarsia::tools {

// "void add<float>(float*)" for a mangled C++ name; other names are unchanged.
std::string Demangled(const std::string& name);

// Returns an exit code; errors are printed. "" means the only entry.
int ChooseEntry(const ptx::Module& module, const std::string& wanted, const ptx::Function** out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_ENTRY_H_
