// Reads modules from files and makes plans of them; errors are printed on standard error and become
// exit codes.
#ifndef TARSIA_TOOLS_MODULES_H_
#define TARSIA_TOOLS_MODULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "isa/specialise.h"
#include "tools/command.h"
#include "tools/handles.h"

namespace tarsia::tools {

// The exit code that a status of the C API means.
int ExitCode(tarsia_status status);
// Prints the last error of the C API; returns the exit code of `status`.
int ReportFailure(tarsia_status status);

// The name of a file in messages: "<stdin>" for "-".
std::string DisplayName(const std::string& path);

// A module from text or bytecode ("-": standard input). Returns an exit code. Errors in the program
// are printed unless `diagnostics` is given, which then receives them.
int LoadModule(const std::string& path, Handle<tarsia_module>* out,
               Handle<tarsia_diagnostics>* diagnostics = nullptr);

// Splits `NAME=REST` (a `%` before the name is dropped); false without a name or `=`.
bool SplitAssignment(std::string_view text, std::string* name, std::string* rest);

// Reads the values of --set. Returns an exit code; an error is printed.
int ReadSets(const std::vector<std::string>& sets, std::vector<Binding>* out);

// The default limit of the time to compile one kernel, in seconds.
inline constexpr uint32_t kCompileLimit = 60;

struct PlanRequest {
  std::string kernel;             // "": the only one
  std::string device;             // "": the default one
  std::vector<std::string> sets;  // NAME=V
  uint32_t compile_limit = kCompileLimit;
  std::vector<std::string> without;  // passes to leave out
};
int MakePlan(const tarsia_module* module, const PlanRequest& request, Handle<tarsia_plan>* out,
             Handle<tarsia_diagnostics>* diagnostics = nullptr);

// Declares --compile-limit.
void AddCompileLimit(Command* command, uint32_t* seconds);

struct CodeRequest {
  std::string target;
  std::string kernel;             // "": the only one
  std::vector<std::string> sets;  // NAME=V
  bool line_info = true;
  uint32_t compile_limit = kCompileLimit;
  std::vector<std::string> without;  // passes to leave out
};
int MakeCode(const tarsia_module* module, const CodeRequest& request, Handle<tarsia_code>* out);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_MODULES_H_
