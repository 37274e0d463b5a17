// tarsia check: every error of a program, with file, line and caret.
#include <algorithm>

#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

const char* const kConstantKinds[] = {"",          "int",       "bool",     "dtype",
                                      "reglayout", "memlayout", "bitlayout"};

void AppendConstant(const tarsia_module* module, size_t kernel, size_t constant, Json* json) {
  auto info = Sized<tarsia_constant_info>();
  tarsia_module_constant(module, kernel, constant, &info);
  json->Begin('{').Key("name").String(info.name);
  json->Key("kind").String(kConstantKinds[info.kind]).Key("default");
  if (info.value_text != nullptr) {
    json->String(info.value_text);
  } else {
    json->Null();
  }
  json->Key("candidates").Begin('[');
  for (size_t i = 0; i < info.candidate_count; ++i) {
    const char* text = "";
    tarsia_module_candidate(module, kernel, constant, i, &text);
    json->String(text);
  }
  json->End(']').End('}');
}

void AppendKernel(const tarsia_module* module, size_t kernel, Json* json) {
  auto info = Sized<tarsia_kernel_info>();
  tarsia_module_kernel(module, kernel, &info);
  json->Begin('{').Key("name").String(info.name).Key("line").Number(info.line);
  json->Key("params").Begin('[');
  for (size_t i = 0; i < info.param_count; ++i) {
    auto param = Sized<tarsia_param_info>();
    tarsia_module_param(module, kernel, i, &param);
    json->Begin('{').Key("name").String(param.name);
    json->Key("kind").String(param.kind == TARSIA_PARAM_POINTER ? "pointer" : "scalar");
    json->Key("dtype").String(param.dtype_text).End('}');
  }
  json->End(']').Key("constants").Begin('[');
  for (size_t i = 0; i < info.constant_count; ++i) AppendConstant(module, kernel, i, json);
  json->End(']').End('}');
}

bool HasAllDefaults(const tarsia_module* module, size_t kernel, size_t constants) {
  for (size_t i = 0; i < constants; ++i) {
    auto constant = Sized<tarsia_constant_info>();
    tarsia_module_constant(module, kernel, i, &constant);
    if (constant.value_text == nullptr) return false;
  }
  return true;
}

// Checks each kernel whose constants all have defaults with these values: with known sizes, more
// errors can be found. Stops at the first kernel with errors.
int CheckDefaults(const tarsia_module* module, Handle<tarsia_diagnostics>* out) {
  for (size_t i = 0; i < tarsia_module_kernel_count(module); ++i) {
    auto info = Sized<tarsia_kernel_info>();
    tarsia_module_kernel(module, i, &info);
    if (!HasAllDefaults(module, i, info.constant_count)) continue;
    PlanRequest request;
    request.kernel = info.name;
    Handle<tarsia_plan> plan;
    if (const int code = MakePlan(module, request, &plan, out); code != kDone) return code;
  }
  return kDone;
}

// One file: its kernels and its errors. Returns an exit code.
int CheckFile(const std::string& path, const PlanRequest& request, bool specialise, Json* json) {
  Handle<tarsia_module> module;
  Handle<tarsia_diagnostics> errors;
  auto* const out = json != nullptr ? &errors : nullptr;
  int code = LoadModule(path, &module, out);
  if (code == kDone && specialise) {
    Handle<tarsia_plan> plan;
    code = MakePlan(module.get(), request, &plan, out);
  } else if (code == kDone) {
    code = CheckDefaults(module.get(), out);
  }
  if (json == nullptr) return code;
  json->Begin('{').Key("file").String(DisplayName(path)).Key("ok").Bool(code == kDone);
  json->Key("kernels").Begin('[');
  for (size_t i = 0; i < tarsia_module_kernel_count(module.get()); ++i) {
    AppendKernel(module.get(), i, json);
  }
  json->End(']').Key("diagnostics");
  AppendDiagnostics(errors.get(), json);
  json->End('}');
  return code;
}

}  // namespace

int Check(const Args& args) {
  Command command(
      "check",
      "Reads programs (text or bytecode) and reports every error. Prints nothing if there is "
      "none.",
      {"tarsia check examples/matmul.tsa", "tarsia check examples/matmul.tsa --set K=64 --set N=32",
       "tarsia check --json examples/matmul.tsa"});
  std::vector<std::string> files;
  PlanRequest request;
  bool as_json = false;
  command.Positionals("FILE", &files, "Programs; - is standard input");
  command.Value("--kernel", "K", &request.kernel,
                "Also check this kernel with values for its constants");
  command.Values("--set", "NAME=V", &request.sets,
                 "Value of a constant; the others take their defaults");
  command.Flag("--json", &as_json, "Print kernels and errors as JSON");
  if (const auto code = command.Parse(args)) return *code;
  const bool specialise = !request.kernel.empty() || !request.sets.empty();
  Json json;
  json.Begin('[');
  int code = kDone;
  for (const std::string& file : files) {
    code = std::max(code, CheckFile(file, request, specialise, as_json ? &json : nullptr));
  }
  if (as_json) PrintOut(json.End(']').Take());
  return code;
}

}  // namespace tarsia::tools
