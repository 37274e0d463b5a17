// tarsia dis: bytecode as text.
#include "runtime/files/file.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {

int Disassemble(const Args& args) {
  Command command(
      "dis", "Prints a program as text: bytecode, or text without its comments.",
      {"tarsia dis examples/matmul.tsa", "tarsia as examples/matmul.tsa -o - | tarsia dis -"});
  std::string file;
  std::string output = "-";
  command.Positional("FILE", &file, "The program; - is standard input");
  command.Value("-o,--output", "OUT", &output, "The output file; the default is standard output");
  if (const auto code = command.Parse(args)) return *code;
  Handle<tarsia_module> module;
  if (const int code = LoadModule(file, &module); code != kDone) return code;
  tarsia_blob* text = nullptr;
  const auto made = tarsia_module_print(module.get(), &text);
  const Handle<tarsia_blob> owned(text);
  if (made != TARSIA_STATUS_OK) return ReportFailure(made);
  const Status written = WriteFile(output, {tarsia_blob_data(text), tarsia_blob_size(text)});
  if (written.ok()) return kDone;
  PrintError(written.error());
  return kEnvironment;
}

}  // namespace tarsia::tools
