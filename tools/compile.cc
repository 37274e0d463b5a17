// tarsia compile: compiles a kernel for a GPU; needs no GPU.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "runtime/api/handles.h"
#include "runtime/cache/settings.h"
#include "runtime/devices/code.h"
#include "runtime/devices/device.h"
#include "runtime/files/file.h"
#include "tools/code_forms.h"
#include "tools/commands.h"
#include "tools/compile_list.h"
#include "tools/cost/cost.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/passes.h"

namespace tarsia::tools {
namespace {

struct CompileRequest {
  std::string file;
  PlanRequest plan;
  std::string target = "sm_90a";
  std::string emit = "ptx";
  std::string out = "-";
  bool no_line_info = false;
  bool time = false;
  bool resources = false;
  std::vector<std::string> without;  // passes
  RunSpecs specs;                    // of the launch that a cost report counts
  std::string svg;                   // "": no picture
  std::string list;                  // "": one specialisation
  uint32_t jobs = 0;                 // 0: all cores
};

// The forms of a cost report, which needs a launch.
struct CostForm {
  const char* name;
  std::string (*print)(const CostReport& report);
};
constexpr CostForm kCostForms[] = {
    {"cost", CostText}, {"cost-json", CostJson}, {"cost-html", CostHtml}};

const CostForm* FindCostForm(const std::string& name) {
  for (const CostForm& form : kCostForms) {
    if (name == form.name) return &form;
  }
  return nullptr;
}

// Prints how long each stage took.
class Stopwatch {
 public:
  explicit Stopwatch(bool wanted) : wanted_(wanted) {}
  void Lap(std::string_view stage) {
    const auto now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    Print("", stage, ms);
    last_ = Clock::now();
  }
  // The same, after a line for each step of the stage.
  void Lap(std::string_view stage, const std::vector<compiler::CompileStep>& steps) {
    for (const compiler::CompileStep& step : steps) {
      Print("  ", step.name, std::chrono::duration<double, std::milli>(step.time).count());
    }
    Lap(stage);
  }

 private:
  void Print(std::string_view indent, std::string_view stage, double ms) const {
    if (wanted_) fmt::print(stderr, "{}{:<9}{:8.2f} ms\n", indent, stage, ms);
  }

  using Clock = std::chrono::steady_clock;
  const bool wanted_;
  Clock::time_point last_ = Clock::now();
};

int Write(const CompileRequest& request, std::string_view text) {
  const Status written = WriteFile(request.out, text);
  if (written.ok()) return kDone;
  PrintError(written.error());
  return kEnvironment;
}

int Emit(const tarsia_code* code, const CompileRequest& request, Stopwatch* watch) {
  tarsia_blob* made = nullptr;
  const auto status = tarsia_code_emit(code, FindCodeForm(request.emit)->form, &made);
  const Handle<tarsia_blob> blob(made);
  if (status != TARSIA_STATUS_OK) return ReportFailure(status);
  watch->Lap(request.emit);
  if (request.resources) {
    std::string text;
    if (const auto s = ResourcesText(code, &text); s != TARSIA_STATUS_OK) return ReportFailure(s);
    PrintText(stderr, text);
  }
  return Write(request, {tarsia_blob_data(made), tarsia_blob_size(made)});
}

// Runs the kernel once on the emulator; pointers without an --in point to zeros.
int EmitCost(const tarsia_module* module, CompileRequest request, Stopwatch* watch) {
  request.plan.device = "ptx:" + request.target;
  request.plan.without = request.without;
  request.specs.zeros = true;
  Handle<tarsia_plan> plan;
  if (const int made = MakePlan(module, request.plan, &plan); made != kDone) return made;
  watch->Lap("compile", plan->ready->image()->kernel().steps);
  RunArgs args;
  int code = args.Assign(plan.get(), request.specs);
  if (code == kDone) code = args.ParseScalars();
  if (code == kDone) code = args.BindBuffers(plan.get());
  CostReport report;
  if (code == kDone) code = MakeCost(module, plan.get(), &args, &report);
  if (code != kDone) return code;
  watch->Lap(request.emit);
  if (!request.svg.empty()) {
    if (const Status s = WriteFile(request.svg, PipelineSvg(report)); !s.ok()) {
      PrintError(s.error());
      return kEnvironment;
    }
  }
  return Write(request, FindCostForm(request.emit)->print(report));
}

// The program after a pass.
int EmitText(const tarsia_module* module, const CompileRequest& request, Stopwatch* watch) {
  PassRequest wanted;
  wanted.target = request.target;
  wanted.kernel = request.plan.kernel;
  wanted.sets = request.plan.sets;
  wanted.last = request.emit.substr(kTextForm.size());
  wanted.without = request.without;
  wanted.after = [watch](std::string_view pass) { watch->Lap(pass); };
  std::string text;
  if (const int code = TextAfterPass(module, wanted, &text); code != kDone) return code;
  watch->Lap("print");
  return Write(request, text);
}

int EmitList(const tarsia_module& module, const CompileRequest& request, CodeRequest code,
             Stopwatch* watch) {
  ListRequest wanted;
  wanted.list = request.list;
  wanted.folder = request.out;
  wanted.emit = request.emit;
  wanted.jobs = request.jobs;
  wanted.resources = request.resources;
  wanted.time = request.time;
  wanted.code = std::move(code);
  const int done = CompileList(module, wanted);
  watch->Lap("list");
  return done;
}

void DeclareOptions(Command* command, CompileRequest* request) {
  command->Positional("FILE", &request->file, "The program, text or bytecode; - is standard input");
  command->Value("--kernel", "K", &request->plan.kernel,
                 "The kernel; optional if there is only one");
  command->Values("--set", "NAME=V", &request->plan.sets, "Value of a constant: W=u4, K=384");
  command->Value("--target", "T", &request->target,
                 "The target: sm_80, sm_89 or sm_90a; the default is sm_90a");
  command->Choice(
      "--emit", &request->emit,
      {"ptx", "llvm", "cubin", "sass", "layouts", "facts", "mix", "cost", "cost-json", "cost-html",
       "tsa:PASS"},
      ("The output. ptx: PTX, the default; llvm: LLVM IR before optimisation; cubin, sass: machine "
       "code and its text (need ptxas and nvdisasm); layouts: the layout of every tile, with the "
       "reason; facts: what is proven of each access to memory, and what would help; mix: the "
       "number of machine instructions of each class; cost, cost-json, cost-html: the cost of a "
       "launch by line of the program; tsa:PASS: the program after a pass of the compiler, one "
       "of " +
       PassNames())
          .c_str());
  command->Values("--arg", "NAME=V", &request->specs.scalars,
                  "With --emit cost: value of a scalar parameter");
  command->Values("--in", "PTR=FILE", &request->specs.inputs,
                  "With --emit cost: contents of a pointer's memory; the default is zeros");
  command->Value("--svg", "FILE", &request->svg,
                 "With --emit cost: draw the pipelines of loops into a file, stages over turns");
  command->Value("-o,--output", "OUT", &request->out,
                 "The output file; the default is standard output. With --list: the folder of the "
                 "output files");
  command->Value(
      "--list", "LIST", &request->list,
      "Compile once for each line of this file, which has settings such as `W=u4 K=384`, "
      "and --kernel, --target or --output for this line; # begins a comment");
  command->Number("--jobs", "N", &request->jobs,
                  "With --list: number of threads; the default is all cores");
  command->Flag("--no-line-info", &request->no_line_info,
                "Leave out the line information that connects the code to the text");
  command->Values("--without", "PASS", &request->without,
                  "Leave out a pass of the compiler that only makes code faster");
  AddCompileLimit(command, &request->plan.compile_limit);
  command->Flag("--resources", &request->resources,
                "Print what the machine code needs: registers, spills, shared memory");
  command->Flag("--time", &request->time, "Print the time of each stage and of each pass");
}

// "" if the options fit each other.
std::string FindMisuse(const CompileRequest& request) {
  const bool launches = FindCostForm(request.emit) != nullptr;
  if (!launches && (!request.specs.scalars.empty() || !request.specs.inputs.empty())) {
    return "--arg and --in are for --emit cost";
  }
  if (!launches && !request.svg.empty()) return "--svg is for --emit cost";
  if (request.list.empty()) return request.jobs == 0 ? "" : "--jobs is for --list";
  if (launches) return "a cost report needs a launch; --list has none";
  if (request.out == "-") return "--list needs a folder for the output files: -o OUT";
  if (request.list == "-" && request.file == "-") return "only one file is standard input";
  return "";
}

}  // namespace

int Compile(const Args& args) {
  constexpr char kPtx[] =
      "tarsia compile examples/matmul.tsa --set K=384 --set N=1536 --set W=u4 --target sm_90a "
      "-o matmul.ptx";
  constexpr char kList[] =
      "printf 'W=u4\\nW=u3 BN=64\\n' | tarsia compile examples/matmul.tsa --set K=384 --set N=1536 "
      "--list - -o matmuls";
  constexpr char kCost[] =
      "tarsia compile examples/matmul.tsa --set K=64 --set N=32 --set W=u8 --target sm_80 --arg "
      "m=64 "
      "--emit cost-html -o cost.html";
  Command command(
      "compile", "Compiles a kernel for a GPU. Needs no GPU.",
      {kPtx,
       "tarsia compile examples/matmul.tsa --set K=384 --set N=1536 --set W=u4 --emit layouts",
       "tarsia compile examples/matmul.tsa --set K=384 --set N=1536 --emit tsa:simplify", kList,
       kCost});
  CompileRequest request;
  DeclareOptions(&command, &request);
  if (const auto code = command.Parse(args)) return *code;
  if (const std::string misuse = FindMisuse(request); !misuse.empty()) {
    return command.Misuse(misuse);
  }
  if (request.time) runtime::SetCacheSettings(runtime::CacheSettings{});  // times of real work
  Stopwatch watch(request.time);
  Handle<tarsia_module> module;
  if (const int code = LoadModule(request.file, &module); code != kDone) return code;
  watch.Lap("read");
  if (FindCostForm(request.emit) != nullptr) return EmitCost(module.get(), request, &watch);
  CodeRequest wanted{request.target,        request.plan.kernel,        request.plan.sets,
                     !request.no_line_info, request.plan.compile_limit, request.without};
  if (!request.list.empty()) return EmitList(*module, request, std::move(wanted), &watch);
  if (IsTextForm(request.emit)) return EmitText(module.get(), request, &watch);
  Handle<tarsia_code> code;
  if (const int made = MakeCode(module.get(), wanted, &code); made != kDone) return made;
  watch.Lap("compile", code->code->kernel().steps);
  return Emit(code.get(), request, &watch);
}

}  // namespace tarsia::tools
