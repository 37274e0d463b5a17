// tarsia check: every error of a program, with file, line and caret.
#include <algorithm>
#include <utility>

#include "isa/gradient/expand.h"
#include "isa/graph/specialise.h"
#include "runtime/api/handles.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

constexpr const char* kConstantKinds[] = {"",          "int",       "bool",     "dtype",
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

// Checks a graph with the values of its constants. Returns an exit code.
int CheckGraph(const tarsia_module& module, std::string_view name,
               const std::vector<std::string>& sets, Handle<tarsia_diagnostics>* out) {
  std::vector<Binding> bindings;
  if (const int code = ReadSets(sets, &bindings); code != kDone) return code;
  Diagnostics found;
  const auto graph = SpecialiseGraph(module.valid, name, bindings, found);
  if (graph && ExpandGradients(*graph, {}, found)) return kDone;
  Handle<tarsia_diagnostics> errors(new tarsia_diagnostics{module.source, std::move(found)});
  if (out != nullptr) {
    *out = std::move(errors);
  } else {
    PrintDiagnostics(errors.get());
  }
  return kRejected;
}

// Checks each graph whose constants all have defaults with these values, as CheckDefaults.
int CheckDefaultsOfGraphs(const tarsia_module& module, Handle<tarsia_diagnostics>* out) {
  const Module& program = module.valid.module();
  for (const Graph& graph : program.graphs) {
    const bool closed =
        std::none_of(graph.constants.begin(), graph.constants.end(),
                     [](const Constant& constant) { return constant.default_value.none(); });
    if (!closed) continue;
    if (const int code = CheckGraph(module, program.Name(graph), {}, out); code != kDone) {
      return code;
    }
  }
  return kDone;
}

// The graph that is meant by --kernel and --set; "" if a kernel is.
std::string_view GraphOf(const tarsia_module& module, const PlanRequest& request) {
  const Module& program = module.valid.module();
  if (module.valid.FindGraph(request.kernel)) return request.kernel;
  const bool only = request.kernel.empty() && program.kernels.empty() && program.graphs.size() == 1;
  return only ? program.Name(program.graphs[0]) : "";
}

int CheckConstants(const tarsia_module& module, const PlanRequest& request, bool specialise,
                   Handle<tarsia_diagnostics>* out) {
  if (specialise) {
    if (const std::string_view graph = GraphOf(module, request); !graph.empty()) {
      return CheckGraph(module, graph, request.sets, out);
    }
    Handle<tarsia_plan> plan;
    return MakePlan(&module, request, &plan, out);
  }
  const int code = CheckDefaults(&module, out);
  return code == kDone ? CheckDefaultsOfGraphs(module, out) : code;
}

void AppendGraphs(const tarsia_module* module, Json* json) {
  json->Key("graphs").Begin('[');
  if (module != nullptr) {
    const Module& program = module->valid.module();
    for (const Graph& graph : program.graphs) {
      json->Begin('{').Key("name").String(program.Name(graph));
      json->Key("line").Number(graph.location.line).End('}');
    }
  }
  json->End(']');
}

// One file: its kernels, its graphs and its errors. Returns an exit code.
int CheckFile(const std::string& path, const PlanRequest& request, bool specialise, Json* json) {
  Handle<tarsia_module> module;
  Handle<tarsia_diagnostics> errors;
  auto* const out = json != nullptr ? &errors : nullptr;
  int code = LoadModule(path, &module, out);
  if (code == kDone) code = CheckConstants(*module, request, specialise, out);
  if (json == nullptr) return code;
  json->Begin('{').Key("file").String(DisplayName(path)).Key("ok").Bool(code == kDone);
  json->Key("kernels").Begin('[');
  for (size_t i = 0; i < tarsia_module_kernel_count(module.get()); ++i) {
    AppendKernel(module.get(), i, json);
  }
  json->End(']');
  AppendGraphs(module.get(), json);
  json->Key("diagnostics");
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
                "Also check this kernel or graph with values for its constants");
  command.Values("--set", "NAME=V", &request.sets,
                 "Value of a constant; the others take their defaults");
  command.Flag("--json", &as_json, "Print kernels, graphs and errors as JSON");
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
