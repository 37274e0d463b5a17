// Results of a suite as JSON, and the comparison of two.
#ifndef TARSIA_TOOLS_BENCH_REPORT_H_
#define TARSIA_TOOLS_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "tools/bench/suite.h"

namespace tarsia::tools::bench {

struct CaseResult {
  std::string name;
  std::string error;  // of preparing, verifying or running it; "" if it was timed
  Times times;
  Floor floor;
  std::string reproduce;  // a command line
};

struct SuiteResult {
  std::string suite;
  std::string date;     // UTC, as 2026-01-31T12:00:00Z
  std::string machine;  // "AMD EPYC 7B13, 2 threads"
  std::vector<CaseResult> cases;
};

// Fills in date and machine.
SuiteResult Begin(const std::string& suite);
std::string ToJson(const SuiteResult& result);

// A table of the medians of two JSON files by case: ratio, and whether it exceeds both spreads.
// Returns an exit code; errors in a file are printed.
int Compare(const std::string& before, const std::string& after);

}  // namespace tarsia::tools::bench

#endif  // TARSIA_TOOLS_BENCH_REPORT_H_
