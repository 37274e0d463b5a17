// The file of `tarsia compile --list`: one specialisation of a program a line.
//
//   # Comments begin with #; empty lines count for nothing.
//   W=u4 K=4096 N=4096
//   W=u3 K=4096 N=4096 BN=256 --target sm_80 --output u3.ptx
//
// A line has settings NAME=VALUE, as `--set` takes them, and options. Blanks separate them, except
// within ( ), [ ] and { }.
#ifndef TARSIA_TOOLS_SETTINGS_LIST_H_
#define TARSIA_TOOLS_SETTINGS_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "isa/specialise.h"
#include "support/diagnostic.h"

namespace tarsia::tools {

// The value of an option and its place.
struct ListedOption {
  std::string text;   // "": not given
  Location location;  // of the option and its value
};

struct ListedSettings {
  Location location;              // of the whole line, without blanks at its ends and comment
  std::vector<Binding> settings;  // in their order, with their places
  ListedOption kernel;
  ListedOption target;
  ListedOption output;  // the name of a file
  Diagnostics errors;   // of this line alone
};

// The lines that are not empty.
std::vector<ListedSettings> ReadSettingsList(const SourceFile& list);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_SETTINGS_LIST_H_
