// The time to plan each graph of examples/reduce, from a validated module to the steps: without a
// limit, and below limits that are 1, 1.25 and 2 times the smallest one; and for one of four ranks.
// The counter `steps` is the number of launches and transfers of the plan.
//   bench_plan --benchmark_min_time=0.2
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/gradient/expand.h"
#include "isa/graph/specialise.h"
#include "isa/rewrite/complex_parts.h"
#include "isa/text/parser.h"
#include "planner/plan.h"

namespace tarsia {
namespace {

// Of constants that name long axes; all others are 16.
const std::map<std::string, std::string, std::less<>>& Extents() {
  static const std::map<std::string, std::string, std::less<>> extents = {
      {"n", "1000"}, {"m", "1500"}, {"d", "64"}, {"k", "8"}, {"heads", "4"}};
  return extents;
}

std::optional<ConcreteGraph> MakeGraph(const ValidModule& module, const Graph& graph) {
  std::vector<Binding> bindings;
  for (const Constant& constant : graph.constants) {
    const std::string name(module.module().pool.strings()[constant.name]);
    const auto found = Extents().find(name);
    bindings.push_back({name, found == Extents().end() ? "16" : found->second});
  }
  Diagnostics diagnostics;
  auto out = SpecialiseGraph(module, module.module().Name(graph), bindings, diagnostics);
  if (out) out = SplitComplex(*out, diagnostics);
  if (out) out = ExpandGradients(*out, {}, diagnostics);
  return out;
}

uint64_t SmallestLimit(const ConcreteGraph& graph, size_t ranks) {
  Diagnostics diagnostics;
  PlanOptions options;
  options.limit = 1;
  options.ranks = ranks;
  static_cast<void>(MakePlan(graph, options, diagnostics));
  constexpr std::string_view kLabel = "smallest limit: ";
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    const size_t at = diagnostic.help.find(kLabel);
    if (at != std::string::npos) return std::stoull(diagnostic.help.substr(at + kLabel.size()));
  }
  return 1;
}

void PlanGraph(benchmark::State& state, const ConcreteGraph& graph, uint64_t limit, size_t ranks) {
  PlanOptions options;
  options.limit = limit;
  options.ranks = ranks;
  size_t steps = 0;
  for (auto _ : state) {
    Diagnostics diagnostics;
    const std::optional<Plan> plan = MakePlan(graph, options, diagnostics);
    if (!plan) return state.SkipWithError("no plan");
    steps = plan->steps.size();
  }
  state.counters["steps"] = static_cast<double>(steps);
}

void AddGraph(const std::string& name, const ConcreteGraph& graph) {
  const auto shared = std::make_shared<ConcreteGraph>(graph);
  const uint64_t least = SmallestLimit(graph, 1);
  const auto add = [&](const char* label, uint64_t limit, size_t ranks = 1) {
    benchmark::RegisterBenchmark(
        fmt::format("{}/{}", name, label).c_str(),
        [=](benchmark::State& state) { PlanGraph(state, *shared, limit, ranks); })
        ->Unit(benchmark::kMillisecond);
  };
  add("no_limit", kNoLimit);
  add("smallest", least);
  add("1.25x", least + least / 4);
  add("2x", least * 2);
  constexpr size_t kRanks = 4;
  const uint64_t least_of_rank = SmallestLimit(graph, kRanks);
  add("rank/no_limit", kNoLimit, kRanks);
  add("rank/1.25x", least_of_rank + least_of_rank / 4, kRanks);
}

bool AddFile(const std::filesystem::path& path) {
  std::ifstream in(path);
  const SourceFile source(path.filename().string(),
                          std::string(std::istreambuf_iterator<char>(in), {}));
  Diagnostics diagnostics;
  std::optional<Module> parsed = Parse(source, diagnostics);
  const auto module = parsed ? Validate(*std::move(parsed), diagnostics) : std::nullopt;
  if (!module) return false;
  for (const Graph& graph : module->module().graphs) {
    const auto concrete = MakeGraph(*module, graph);
    if (!concrete) return false;
    AddGraph(std::string(concrete->name()), *concrete);
  }
  return true;
}

}  // namespace
}  // namespace tarsia

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TARSIA_EXAMPLES "/reduce")) {
    if (entry.path().extension() == ".tsa") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    if (tarsia::AddFile(path)) continue;
    fmt::print(stderr, "error: {} is not planned\n", path.string());
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
