// tarsia as: text into bytecode.
#include <cstdio>

#include "runtime/files/file.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

// "0.1" into the options; false if it is not a version.
bool ReadVersion(const std::string& text, tarsia_encode_options* options) {
  unsigned major = 0;
  unsigned minor = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%5u.%5u%c", &major, &minor, &rest) != 2) return false;
  if (major > UINT16_MAX || minor > UINT16_MAX) return false;
  options->has_version = true;
  options->version_major = static_cast<uint16_t>(major);
  options->version_minor = static_cast<uint16_t>(minor);
  return true;
}

// `x.tsa` becomes `x.tsb`; anything else gets `.tsb` appended.
std::string DefaultOutput(const std::string& path) {
  if (path == "-") return "-";
  const bool text = path.size() > 4 && path.substr(path.size() - 4) == ".tsa";
  return (text ? path.substr(0, path.size() - 4) : path) + ".tsb";
}

}  // namespace

int Assemble(const Args& args) {
  Command command("as", "Checks a program and writes it as bytecode.",
                  {"tarsia as examples/matmul.tsa -o matmul.tsb",
                   "tarsia as --strip examples/matmul.tsa -o - > small.tsb"});
  std::string file;
  std::string output;
  std::string version;
  auto options = Sized<tarsia_encode_options>();
  command.Positional("FILE", &file, "The program; - is standard input");
  command.Value("-o,--output", "OUT", &output,
                "The output file; the default is FILE with the extension .tsb");
  command.Flag("--strip", &options.strip, "Leave out the source locations");
  command.Value("--format-version", "X.Y", &version,
                "Version of the format; the default is the lowest that can express the program");
  if (const auto code = command.Parse(args)) return *code;
  if (!version.empty() && !ReadVersion(version, &options)) {
    return command.Misuse("--format-version " + version + ": no version such as 0.1");
  }
  Handle<tarsia_module> module;
  if (const int code = LoadModule(file, &module); code != kDone) return code;
  tarsia_blob* bytes = nullptr;
  const auto made = tarsia_module_encode(module.get(), &options, &bytes);
  const Handle<tarsia_blob> owned(bytes);
  if (made != TARSIA_STATUS_OK) return ReportFailure(made);
  const Status written = WriteFile(output.empty() ? DefaultOutput(file) : output,
                                   {tarsia_blob_data(bytes), tarsia_blob_size(bytes)});
  if (written.ok()) return kDone;
  PrintError(written.error());
  return kEnvironment;
}

}  // namespace tarsia::tools
