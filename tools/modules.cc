#include "tools/modules.h"

#include <cstdio>
#include <utility>

#include "runtime/files/file.h"
#include "tools/command.h"
#include "tools/output.h"

namespace tarsia::tools {

int ExitCode(tarsia_status status) {
  switch (status) {
    case TARSIA_STATUS_OK:
      return kDone;
    case TARSIA_STATUS_REJECTED:
    case TARSIA_STATUS_CANCELLED:
    case TARSIA_STATUS_UNSUPPORTED:
    case TARSIA_STATUS_LAUNCH_FAILED:
    case TARSIA_STATUS_FINDINGS:
      return kRejected;
    case TARSIA_STATUS_INVALID_ARGUMENT:
    case TARSIA_STATUS_NOT_FOUND:
      return kUsage;
    case TARSIA_STATUS_OUT_OF_MEMORY:
    case TARSIA_STATUS_NO_DEVICE:
    case TARSIA_STATUS_DEVICE_LOST:
    case TARSIA_STATUS_INTERNAL:
    case TARSIA_STATUS_FORCE_32BIT:
      break;
  }
  return kEnvironment;
}

int ReportFailure(tarsia_status status) {
  const std::string_view text = tarsia_last_error();
  if (text.find(": error: ") == std::string_view::npos) {
    PrintError(text);
  } else {  // the error names the file itself
    PrintText(stderr, text);
    std::fputc('\n', stderr);
  }
  return ExitCode(status);
}

std::string DisplayName(const std::string& path) { return path == "-" ? "<stdin>" : path; }

namespace {

// Prints diagnostics, or hands them over; without any, prints the last error.
int Report(tarsia_status status, Handle<tarsia_diagnostics> found,
           Handle<tarsia_diagnostics>* out) {
  if (found == nullptr) return ReportFailure(status);
  if (out != nullptr) {
    *out = std::move(found);
  } else {
    PrintDiagnostics(found.get());
  }
  return ExitCode(status);
}

}  // namespace

int LoadModule(const std::string& path, Handle<tarsia_module>* out,
               Handle<tarsia_diagnostics>* diagnostics) {
  const auto bytes = ReadFile(path);
  if (!bytes.ok()) {
    PrintError(bytes.error());
    return kRejected;
  }
  const std::string name = DisplayName(path);
  auto options = Sized<tarsia_module_options>();
  options.name = name.c_str();
  tarsia_module* module = nullptr;
  tarsia_diagnostics* errors = nullptr;
  const auto status =
      tarsia_module_create(bytes->data(), bytes->size(), &options, &module, &errors);
  out->reset(module);
  Handle<tarsia_diagnostics> owned(errors);
  return status == TARSIA_STATUS_OK ? kDone : Report(status, std::move(owned), diagnostics);
}

bool SplitAssignment(std::string_view text, std::string* name, std::string* rest) {
  if (text.substr(0, 1) == "%") text.remove_prefix(1);
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  *name = text.substr(0, equals);
  *rest = text.substr(equals + 1);
  return true;
}

int ReadSets(const std::vector<std::string>& sets, std::vector<Binding>* out) {
  for (const std::string& set : sets) {
    Binding binding;
    if (!SplitAssignment(set, &binding.name, &binding.text)) {
      PrintError("--set " + set + ": this is not of the form NAME=VALUE");
      return kUsage;
    }
    out->push_back(std::move(binding));
  }
  return kDone;
}

namespace {

// --set as bindings, with their texts, and the names of --without.
struct Bindings {
  std::vector<Binding> texts;
  std::vector<tarsia_binding> list;
  std::vector<const char*> without;
};

const char* OrNull(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

// What plans and code are asked for alike. The texts are those of the request and of `bindings`.
template <typename Request, typename Options>
int FillOptions(const Request& request, Bindings* bindings, Options* options) {
  if (const int code = ReadSets(request.sets, &bindings->texts); code != kDone) return code;
  for (const Binding& set : bindings->texts) {
    bindings->list.push_back({sizeof(tarsia_binding), set.name.c_str(), set.text.c_str()});
  }
  options->kernel = OrNull(request.kernel);
  options->bindings = bindings->list.data();
  options->binding_count = bindings->list.size();
  options->compile_limit_ms = uint64_t{request.compile_limit} * 1000;
  for (const std::string& pass : request.without) bindings->without.push_back(pass.c_str());
  options->without = bindings->without.data();
  options->without_count = bindings->without.size();
  return kDone;
}

}  // namespace

void AddCompileLimit(Command* command, uint32_t* seconds) {
  command->Number("--compile-limit", "S", seconds,
                  "Limit in seconds for compiling; the default is 60; 0 means no limit");
}

int MakePlan(const tarsia_module* module, const PlanRequest& request, Handle<tarsia_plan>* out,
             Handle<tarsia_diagnostics>* diagnostics) {
  Bindings bindings;
  auto options = Sized<tarsia_plan_options>();
  if (const int code = FillOptions(request, &bindings, &options); code != kDone) return code;
  options.device = OrNull(request.device);
  tarsia_plan* plan = nullptr;
  tarsia_diagnostics* errors = nullptr;
  const auto status = tarsia_plan_create(module, &options, &plan, &errors);
  out->reset(plan);
  Handle<tarsia_diagnostics> owned(errors);
  return status == TARSIA_STATUS_OK ? kDone : Report(status, std::move(owned), diagnostics);
}

int MakeCode(const tarsia_module* module, const CodeRequest& request, Handle<tarsia_code>* out) {
  Bindings bindings;
  auto options = Sized<tarsia_code_options>();
  if (const int code = FillOptions(request, &bindings, &options); code != kDone) return code;
  options.target = request.target.c_str();
  options.no_line_info = !request.line_info;
  tarsia_code* made = nullptr;
  tarsia_diagnostics* errors = nullptr;
  const auto status = tarsia_code_create(module, &options, &made, &errors);
  out->reset(made);
  Handle<tarsia_diagnostics> owned(errors);
  return status == TARSIA_STATUS_OK ? kDone : Report(status, std::move(owned), nullptr);
}

}  // namespace tarsia::tools
