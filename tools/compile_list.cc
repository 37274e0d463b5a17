#include "tools/compile_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "compiler/pass.h"
#include "compiler/target.h"
#include "isa/diagnostics.h"
#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/api/kernel_choice.h"
#include "runtime/devices/code.h"
#include "runtime/files/file.h"
#include "support/printable.h"
#include "tools/code_forms.h"
#include "tools/diagnostics.h"
#include "tools/output.h"
#include "tools/passes.h"
#include "tools/progress.h"
#include "tools/settings_list.h"

namespace tarsia::tools {
namespace {

// A line of the list, and what became of it.
struct Job {
  ListedSettings line;
  std::string kernel;
  compiler::Target target{};
  std::string path;      // of its file
  std::string messages;  // what is to be printed on standard error
  int code = kDone;
  bool done = false;
};

// ---- what each line means ----------------------------------------------------------------------

// Letters, digits and `_ . + = -` stay; runs of others become one `_`.
std::string FileSafe(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view("_.+=-").find(c) != std::string_view::npos;
    if (safe || !out.ends_with('_')) out += safe ? c : '_';
  }
  return out;
}

std::string_view ExtensionOf(const std::string& emit) {
  return IsTextForm(emit) ? std::string_view(".tsa") : FindCodeForm(emit)->extension;
}

// "matmul.W=u4.K=384.sm_90a.ptx"
std::string DefaultName(const Job& job, const std::string& emit) {
  std::string out = job.kernel;
  for (const Binding& setting : job.line.settings) {
    out += FileSafe(fmt::format(".{}={}", setting.name, setting.text));
  }
  return fmt::format("{}.{}{}", out, compiler::Row(job.target).name, ExtensionOf(emit));
}

bool IsFileName(std::string_view name) {
  constexpr size_t kMostBytes = 255;
  return !name.empty() && name.size() <= kMostBytes && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos;
}

// Finds the kernels, the targets and the names of the files; errors go to the lines.
class Planner {
 public:
  Planner(const tarsia_module& module, const ListRequest& request, compiler::Target target)
      : module_(module), request_(request), target_(target) {}

  void Plan(Job* job) {
    FindKernel(job);
    FindTarget(job);
    if (job->line.errors.ok()) FindName(job);
  }

 private:
  void FindKernel(Job* job) {
    const ListedOption& wanted = job->line.kernel;
    job->kernel = wanted.text.empty() ? request_.code.kernel : wanted.text;
    if (job->kernel.empty() && module_.kernels.size() == 1) {
      job->kernel = module_.kernels[0].name;
    }
    if (module_.valid.FindKernel(job->kernel)) return;
    std::vector<std::string_view> names;
    for (const api::KernelDescription& kernel : module_.kernels) names.push_back(kernel.name);
    const Location at = wanted.text.empty() ? job->line.location : wanted.location;
    const DiagInfo& info = job->kernel.empty() ? diag::kListNoKernel : diag::kUnknownKernel;
    Diagnostic& error = job->line.errors.Error(info, at, job->kernel);
    error.help = DidYouMean(job->kernel, names);
    if (error.help.empty()) error.help = fmt::format("the kernels are {}", fmt::join(names, ", "));
  }

  void FindTarget(Job* job) {
    const ListedOption& wanted = job->line.target;
    job->target = target_;
    if (wanted.text.empty()) return;
    auto found = compiler::FindTarget(wanted.text);
    if (found.ok()) {
      job->target = *found;
      return;
    }
    Diagnostic error = found.TakeError();
    error.location = wanted.location;
    job->line.errors.Add(std::move(error));
  }

  void FindName(Job* job) {
    const ListedOption& wanted = job->line.output;
    const Location at = wanted.text.empty() ? job->line.location : wanted.location;
    const std::string name = wanted.text.empty() ? DefaultName(*job, request_.emit) : wanted.text;
    if (!IsFileName(name)) {
      job->line.errors.Error(diag::kListOutputName, at, name);
      return;
    }
    const auto [taken, fresh] = line_of_name_.try_emplace(name, job->line.location.line);
    if (!fresh) job->line.errors.Error(diag::kListRepeatedName, at, taken->second, name);
    job->path = (std::filesystem::path(request_.folder) / name).string();
  }

  const tarsia_module& module_;
  const ListRequest& request_;
  const compiler::Target target_;
  std::map<std::string, uint32_t> line_of_name_;
};

// ---- one line ----------------------------------------------------------------------------------

// Thread-safe: all that it changes is in the job.
class LineCompiler {
 public:
  LineCompiler(const tarsia_module& module, const ListRequest& request, const SourceFile& list,
               std::vector<Binding> sets)
      : module_(module), request_(request), list_(list), sets_(std::move(sets)) {}

  void Compile(Job* job) const {
    const auto begin = std::chrono::steady_clock::now();
    try {
      job->code = Run(job);
    } catch (const std::bad_alloc&) {
      job->code = kEnvironment;
      job->messages = fmt::format("{}: error: out of memory\n", PlaceOf(*job));
    } catch (const std::exception& error) {
      job->code = kEnvironment;
      job->messages =
          fmt::format("{}: internal error: {}\n", PlaceOf(*job), Printable(error.what()));
    }
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (request_.time && job->code == kDone) {
      job->messages += fmt::format("{:8.2f} ms  {}\n", time.count(), Printable(job->path));
    }
  }

 private:
  [[nodiscard]] std::string PlaceOf(const Job& job) const {
    return fmt::format("{}:{}", Printable(list_.name()), job.line.location.line);
  }

  int Run(Job* job) const {
    if (!job->line.errors.ok()) return RefuseLine(job);
    const TargetLimits limits = compiler::LimitsOf(job->target);
    Diagnostics errors;
    const auto program =
        Specialise(module_.valid, job->kernel, BindingsOf(*job), limits, errors, &job->line.errors);
    if (!job->line.errors.ok()) return RefuseLine(job);
    if (!program) return RefuseProgram(errors, job);
    std::string bytes;
    const int made = IsTextForm(request_.emit) ? MakeText(*program, job, &bytes)
                                               : MakeCode(*program, job, &bytes);
    if (made != kDone) return made;
    const Status written = WriteFile(job->path, bytes);
    if (written.ok()) return kDone;
    job->messages +=
        fmt::format("{}: error: {}\n", PlaceOf(*job), Printable(written.error().message));
    return kEnvironment;
  }

  // Those of the line, and those of the command that the line does not replace.
  [[nodiscard]] std::vector<Binding> BindingsOf(const Job& job) const {
    std::vector<Binding> out = job.line.settings;
    for (const Binding& set : sets_) {
      const auto given = std::ranges::find(job.line.settings, set.name, &Binding::name);
      if (given == job.line.settings.end()) out.push_back(set);
    }
    return out;
  }

  int MakeText(const Program& program, Job* job, std::string* out) const {
    PassRequest wanted;
    wanted.last = request_.emit.substr(kTextForm.size());
    wanted.without = request_.code.without;
    Result<std::string> text = TextAfterPass(program, job->target, wanted);
    if (!text.ok()) return RefuseProgram(text.error(), job);
    *out = *std::move(text);
    return kDone;
  }

  int MakeCode(const Program& program, Job* job, std::string* out) const {
    compiler::CompileOptions options;
    options.line_info = request_.code.line_info;
    options.without = request_.code.without;
    StopCheck stop(nullptr, std::chrono::seconds(request_.code.compile_limit));
    auto made = runtime::Code::Make(program, job->target, options, &stop);
    if (!made.ok()) return RefuseProgram(made.error(), job);
    const tarsia_code code{*std::move(made)};
    tarsia_blob* emitted = nullptr;
    auto status = tarsia_code_emit(&code, FindCodeForm(request_.emit)->form, &emitted);
    const Handle<tarsia_blob> blob(emitted);
    if (status == TARSIA_STATUS_OK && request_.resources) {
      status = ResourcesText(&code, &job->messages);
    }
    if (status != TARSIA_STATUS_OK) {
      job->messages = fmt::format("{}: error: {}\n", PlaceOf(*job),
                                  Printable(tarsia_last_error(), Keep::kNewlines));
      return ExitCode(status);
    }
    out->assign(tarsia_blob_data(emitted), tarsia_blob_size(emitted));
    return kDone;
  }

  // The line itself is wrong.
  int RefuseLine(Job* job) const {
    job->line.errors.Sort();
    job->messages += job->line.errors.Render(list_, IsColorTerminal());
    return kRejected;
  }

  // The program is wrong with the settings of the line.
  int RefuseProgram(const Diagnostics& errors, Job* job) const {
    job->messages += errors.Render(*module_.source, IsColorTerminal());
    const Location at = job->line.location;
    const std::string_view text = list_.Line(at.line).substr(at.column - 1, at.length);
    job->messages +=
        fmt::format("{}:{}: note: with `{}`\n", PlaceOf(*job), at.column, Printable(text));
    return kRejected;
  }

  int RefuseProgram(const Diagnostic& error, Job* job) const {
    Diagnostics errors;
    errors.Add(error);
    RefuseProgram(errors, job);
    return ExitCode(api::StatusOf(error, TARSIA_STATUS_REJECTED));
  }

  const tarsia_module& module_;
  const ListRequest& request_;
  const SourceFile& list_;
  const std::vector<Binding> sets_;
};

// ---- all lines ---------------------------------------------------------------------------------

// Threads take the lines in their order; the caller prints what became of them in the same order.
class ListRun {
 public:
  ListRun(const LineCompiler& compiler, std::vector<Job>* jobs)
      : compiler_(compiler), jobs_(*jobs) {}

  // Returns the worst exit code.
  int Run(uint32_t threads) {
    std::vector<std::thread> workers;
    try {
      while (workers.size() < threads) workers.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      PrintNote(fmt::format("this machine starts only {} of {} threads", workers.size(), threads));
    }
    if (workers.empty()) Work();
    const int code = Print();
    for (std::thread& worker : workers) worker.join();
    return code;
  }

 private:
  void Work() {
    for (size_t i = next_++; i < jobs_.size(); i = next_++) {
      compiler_.Compile(&jobs_[i]);
      const std::lock_guard lock(mutex_);
      jobs_[i].done = true;
      ++done_;
      changed_.notify_one();
    }
  }

  int Print() {
    ProgressBar progress("lines");
    int worst = kDone;
    std::unique_lock lock(mutex_);
    for (Job& job : jobs_) {
      while (!job.done) {
        changed_.wait(lock);
        if (ProgressBar::wanted()) progress.Show(done_, jobs_.size());
      }
      lock.unlock();
      progress.Clear();
      std::fwrite(job.messages.data(), 1, job.messages.size(), stderr);
      if (job.code == kDone) PrintOut(job.path + "\n");
      std::fflush(stdout);
      worst = std::max(worst, job.code);
      lock.lock();
    }
    return worst;
  }

  const LineCompiler& compiler_;
  std::vector<Job>& jobs_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;  // guards `done` of the jobs, and the members below
  std::condition_variable changed_;
  size_t done_ = 0;
};

int UsageError(const Diagnostic& error) {
  PrintError(error);
  return kUsage;
}

int MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return kDone;
  PrintError(fmt::format("cannot make the folder {}: {}", folder, error.message()));
  return kEnvironment;
}

// What is wrong with the command itself.
int CheckRequest(const tarsia_module& module, const ListRequest& request) {
  if (!request.code.kernel.empty()) {
    std::string kernel;
    const auto found = api::FindKernelName(module, request.code.kernel.c_str(), &kernel);
    if (found != TARSIA_STATUS_OK) return ReportFailure(found);
  }
  if (const Status s = compiler::CheckOptional(request.code.without); !s.ok()) {
    return UsageError(s.error());
  }
  if (!IsTextForm(request.emit)) return kDone;
  const auto pass = compiler::FindPass(request.emit.substr(kTextForm.size()));
  return pass.ok() ? kDone : UsageError(pass.error());
}

uint32_t ThreadsFor(const ListRequest& request, size_t jobs) {
  const uint32_t wanted =
      request.jobs != 0 ? request.jobs : std::max(1U, std::thread::hardware_concurrency());
  return static_cast<uint32_t>(std::min<size_t>(wanted, jobs));
}

}  // namespace

int CompileList(const tarsia_module& module, const ListRequest& request) {
  if (const int code = CheckRequest(module, request); code != kDone) return code;
  const auto target = compiler::FindTarget(request.code.target);
  if (!target.ok()) return UsageError(target.error());
  std::vector<Binding> sets;
  if (const int code = ReadSets(request.code.sets, &sets); code != kDone) return code;
  auto text = ReadFile(request.list);
  if (!text.ok()) {
    PrintError(text.error());
    return kRejected;
  }
  if (const int code = MakeFolder(request.folder); code != kDone) return code;
  const SourceFile list(DisplayName(request.list), *std::move(text));
  std::vector<Job> jobs;
  Planner planner(module, request, *target);
  for (ListedSettings& line : ReadSettingsList(list)) {
    jobs.emplace_back().line = std::move(line);
    planner.Plan(&jobs.back());
  }
  if (jobs.empty()) PrintWarning(list.name() + " has no settings");
  const LineCompiler compiler(module, request, list, std::move(sets));
  const int code = ListRun(compiler, &jobs).Run(ThreadsFor(request, jobs.size()));
  const auto failed = std::ranges::count_if(jobs, [](const Job& job) { return job.code != kDone; });
  if (failed != 0) {
    PrintError(fmt::format("{} of {} lines of {} failed", failed, jobs.size(), list.name()));
  }
  return code;
}

}  // namespace tarsia::tools
