// tarsia bench: runs a suite of benchmarks, or compares two results.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "runtime/files/file.h"
#include "tools/bench/matmul.h"
#include "tools/bench/report.h"
#include "tools/bench/suite.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

constexpr bench::Suite kSuites[] = {
    {"host", "matrix products on the interpreter", bench::HostCases},
    {"compile", "from text to a module, PTX and machine code", bench::CompileCases},
};

const bench::Suite* FindSuite(const std::string& name) {
  for (const bench::Suite& suite : kSuites) {
    if (name == suite.name) return &suite;
  }
  return nullptr;
}

std::string RowText(const bench::CaseResult& result) {
  if (!result.error.empty()) return fmt::format("{:<36} FAILED: {}\n", result.name, result.error);
  std::string floor = "-";
  if (result.floor.seconds > 0) {
    floor = fmt::format("{:5.1f}% of the floor ({})",
                        100 * result.floor.seconds / result.times.Median(), result.floor.what);
  }
  return fmt::format("{:<36}{:>10.3f} ms  +-{:>4.1f}%{:>6} runs  {}\n", result.name,
                     result.times.Median() * 1e3, result.times.Spread() * 50,
                     result.times.sorted.size(), floor);
}

bench::CaseResult RunCase(const char* suite, bench::Case& one) {
  bench::CaseResult result;
  result.name = one.name();
  result.reproduce = fmt::format("tarsia bench {} --filter {}", suite, result.name);
  result.error = one.Prepare();
  if (result.error.empty()) result.error = one.Verify();
  if (result.error.empty()) result.error = bench::Measure(one, &result.times);
  if (result.error.empty()) result.floor = one.floor();
  return result;
}

int RunSuite(const bench::Suite& suite, const std::string& filter, const std::string& json) {
  bench::SuiteResult result = bench::Begin(suite.name);
  PrintOut(fmt::format("suite {} on {}; each case is verified, then timed: median of its runs\n",
                       suite.name, result.machine));
  bool ok = true;
  for (const auto& one : suite.cases()) {
    if (one->name().find(filter) == std::string::npos) continue;
    result.cases.push_back(RunCase(suite.name, *one));
    ok = ok && result.cases.back().error.empty();
    PrintOut(RowText(result.cases.back()));
    std::fflush(stdout);
  }
  if (result.cases.empty()) {
    PrintError("no case of the suite has `" + filter + "` in its name");
    return kUsage;
  }
  if (!json.empty()) {
    const Status written = WriteFile(json, bench::ToJson(result));
    if (!written.ok()) {
      PrintError(written.error());
      return kEnvironment;
    }
  }
  return ok ? kDone : kRejected;
}

int CompareResults(const Args& args) {
  Command command("bench compare", "Compares two results of `tarsia bench --json`, case by case.",
                  {});
  std::string before;
  std::string after;
  command.Positional("BEFORE", &before, "The JSON of the first run");
  command.Positional("AFTER", &after, "The JSON of the second run");
  if (const auto code = command.Parse(args)) return *code;
  return bench::Compare(before, after);
}

}  // namespace

int Bench(const Args& args) {
  if (!args.empty() && args[0] == "compare") return CompareResults({args.begin() + 1, args.end()});
  if (!args.empty() && args[0] == "matmul") {
    return bench::RunMatmulSuite({args.begin() + 1, args.end()});
  }
  Command command("bench",
                  "Runs a suite of benchmarks; `tarsia bench compare A B` compares two results.",
                  {"tarsia bench host --filter u4/1x --json before.json",
                   "tarsia bench compile --filter read --json a.json && "
                   "tarsia bench compile --filter read --json b.json && "
                   "tarsia bench compare a.json b.json"});
  std::string suite;
  std::string filter;
  std::string json;
  std::string names =
      fmt::format("matmul ({}; see `tarsia bench matmul --help`)", bench::kMatmulSummary);
  for (const bench::Suite& one : kSuites) {
    names += fmt::format(", {} ({})", one.name, one.summary);
  }
  const std::string help = "The suite: " + names;
  command.Positional("SUITE", &suite, help.c_str());
  command.Value("--filter", "TEXT", &filter, "Only cases with this text in their name");
  command.Value("--json", "FILE", &json, "Also write the results as JSON");
  if (const auto code = command.Parse(args)) return *code;
  if (suite == "matmul") {  // after its options
    Args same = {"--filter", filter};
    if (!json.empty()) same.insert(same.end(), {"--json", json});
    return bench::RunMatmulSuite(same);
  }
  const bench::Suite* const found = FindSuite(suite);
  if (found == nullptr)
    return command.Misuse("unknown suite `" + suite + "`", "there are " + names);
  return RunSuite(*found, filter, json);
}

}  // namespace tarsia::tools
