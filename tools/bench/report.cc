#include "tools/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/files/file.h"
#include "tarsia/tarsia.h"
#include "tools/command.h"
#include "tools/output.h"

namespace tarsia::tools::bench {
namespace {

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t at = line.find(": ");
    return at == std::string::npos ? "unknown processor" : line.substr(at + 2);
  }
  return "unknown processor";
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// The data of a case that Compare needs.
struct Row {
  std::string name;
  double median = 0;  // seconds
  double spread = 0;
};

double NumberOf(const nlohmann::json& one, const char* key) {
  return one.contains(key) && one[key].is_number() ? one[key].get<double>() : 0.0;
}

// Reads a file that ToJson or the suite `matmul` wrote. Returns an exit code; errors are printed.
int ReadRows(const std::string& path, std::vector<Row>* out) {
  const auto text = ReadFile(path);
  if (!text.ok()) {
    PrintError(text.error());
    return kRejected;
  }
  const auto json = nlohmann::json::parse(text->begin(), text->end(), nullptr, false);
  const char* const cases = json.is_object() && json.contains("rows") ? "rows" : "cases";
  if (!json.is_object() || !json.contains(cases) || !json[cases].is_array()) {
    PrintError(path + ": not a file that `tarsia bench --json` wrote");
    return kRejected;
  }
  for (const auto& one : json[cases]) {
    const bool whole = one.is_object() && one.contains("name") && one["name"].is_string();
    if (!whole) {
      PrintError(path + ": a case without a name");
      return kRejected;
    }
    const double median = NumberOf(one, "median_seconds") + NumberOf(one, "median_us") * 1e-6;
    if (median <= 0) continue;
    out->push_back({one["name"].get<std::string>(), median, NumberOf(one, "spread")});
  }
  return kDone;
}

}  // namespace

SuiteResult Begin(const std::string& suite) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  return {suite, Now(), fmt::format("{}, {} threads", ProcessorName(), threads), {}};
}

std::string ToJson(const SuiteResult& result) {
  Json json;
  json.Begin('{').Key("suite").String(result.suite).Key("tarsia").String(tarsia_version());
  json.Key("date").String(result.date).Key("machine").String(result.machine);
  json.Key("cases").Begin('[');
  for (const CaseResult& one : result.cases) {
    json.Begin('{').Key("name").String(one.name).Key("verified").Bool(one.error.empty());
    json.Key("reproduce").String(one.reproduce);
    if (!one.error.empty()) {
      json.Key("error").String(one.error).End('}');
      continue;
    }
    json.Key("median_seconds").Raw(fmt::format("{:.9g}", one.times.Median()));
    json.Key("least_seconds").Raw(fmt::format("{:.9g}", one.times.Least()));
    json.Key("spread").Raw(fmt::format("{:.4f}", one.times.Spread()));
    json.Key("runs").Number(static_cast<int64_t>(one.times.sorted.size()));
    if (one.floor.seconds > 0) {
      json.Key("floor_seconds").Raw(fmt::format("{:.9g}", one.floor.seconds));
      json.Key("floor").String(one.floor.what);
    }
    json.End('}');
  }
  return json.End(']').End('}').Take();
}

int Compare(const std::string& before, const std::string& after) {
  std::vector<Row> old_rows, new_rows;
  if (const int code = ReadRows(before, &old_rows); code != kDone) return code;
  if (const int code = ReadRows(after, &new_rows); code != kDone) return code;
  PrintOut(
      fmt::format("{:<36}{:>12}{:>12}{:>8}{:>9}\n", "case", "before", "after", "ratio", "spread"));
  const auto text = [](double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6)
                          : fmt::format("{:.3f} ms", seconds * 1e3);
  };
  for (const Row& now : new_rows) {
    const auto then = std::find_if(old_rows.begin(), old_rows.end(),
                                   [&](const Row& row) { return row.name == now.name; });
    if (then == old_rows.end()) {
      PrintOut(fmt::format("{:<36}{:>12}{:>12}\n", now.name, "-", text(now.median)));
      continue;
    }
    const double ratio = now.median / then->median;
    const double spread = std::max(now.spread, then->spread);
    const char* verdict = std::abs(ratio - 1) <= spread ? "" : ratio < 1 ? "  faster" : "  slower";
    PrintOut(fmt::format("{:<36}{:>12}{:>12}{:>8.3f}{:>8.1f}%{}\n", now.name, text(then->median),
                         text(now.median), ratio, spread * 100, verdict));
  }
  for (const Row& then : old_rows) {
    const bool gone = std::none_of(new_rows.begin(), new_rows.end(),
                                   [&](const Row& row) { return row.name == then.name; });
    if (gone) PrintOut(fmt::format("{:<36}{:>12}{:>12}\n", then.name, text(then.median), "-"));
  }
  return kDone;
}

}  // namespace tarsia::tools::bench
