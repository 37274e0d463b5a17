// tarsia fmt: the formatter.
#include <algorithm>

#include "runtime/files/file.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

enum class Mode { kPrint, kInPlace, kVerify };

int Deliver(const std::string& path, const std::string& before, std::string_view after, Mode mode) {
  if (mode == Mode::kPrint) {
    PrintOut(after);
    return kDone;
  }
  if (before == after) return kDone;
  if (mode == Mode::kVerify) {
    PrintError(DisplayName(path) + " is not formatted");
    return kRejected;
  }
  const Status status = WriteFile(path, after);
  if (status.ok()) return kDone;
  PrintError(status.error());
  return kEnvironment;
}

int FormatFile(const std::string& path, Mode mode) {
  const auto text = ReadFile(path);
  if (!text.ok()) {
    PrintError(text.error());
    return kRejected;
  }
  tarsia_blob* formatted = nullptr;
  tarsia_diagnostics* errors = nullptr;
  const std::string name = DisplayName(path);
  const auto status =
      tarsia_format_text(text->data(), text->size(), name.c_str(), &formatted, &errors);
  const Handle<tarsia_blob> owned(formatted);
  const Handle<tarsia_diagnostics> owned_errors(errors);
  if (status == TARSIA_STATUS_OK) {
    return Deliver(path, *text, {tarsia_blob_data(formatted), tarsia_blob_size(formatted)}, mode);
  }
  if (errors == nullptr) return ReportFailure(status);
  PrintDiagnostics(errors);
  return ExitCode(status);
}

}  // namespace

int Format(const Args& args) {
  Command command("fmt", "Prints programs in canonical form, with their comments.",
                  {"tarsia fmt examples/matmul.tsa", "tarsia fmt --check examples/matmul.tsa",
                   "tarsia fmt - < examples/matmul.tsa"});
  std::vector<std::string> files;
  bool in_place = false;
  bool verify = false;
  command.Positionals("FILE", &files, "Programs; - is standard input");
  command.Flag("-i,--in-place", &in_place, "Rewrite the files instead of printing");
  command.Flag("--check", &verify, "Only say which files are not formatted, and exit 1 then");
  if (const auto code = command.Parse(args)) return *code;
  if (in_place && verify) return command.Misuse("-i and --check exclude each other");
  const Mode mode = in_place ? Mode::kInPlace : verify ? Mode::kVerify : Mode::kPrint;
  int code = kDone;
  for (const std::string& file : files) {
    if (file == "-" && in_place) return command.Misuse("standard input cannot be rewritten");
    code = std::max(code, FormatFile(file, mode));
  }
  return code;
}

}  // namespace tarsia::tools
