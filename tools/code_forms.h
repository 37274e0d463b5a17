// The forms of `tarsia compile --emit` that need no launch.
#ifndef TARSIA_TOOLS_CODE_FORMS_H_
#define TARSIA_TOOLS_CODE_FORMS_H_

#include <string>
#include <string_view>

#include "tarsia/tarsia.h"

namespace tarsia::tools {

struct CodeForm {
  std::string_view name;
  tarsia_code_form form;
  std::string_view extension;  // of a file, with its dot
};

// Null if there is none of this name.
const CodeForm* FindCodeForm(std::string_view name);

// `tsa:PASS`, the program after a pass.
inline constexpr std::string_view kTextForm = "tsa:";
inline bool IsTextForm(std::string_view name) { return name.starts_with(kTextForm); }

// What ptxas reports, as a line. Returns a status of the C API.
tarsia_status ResourcesText(const tarsia_code* code, std::string* out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_CODE_FORMS_H_
