// Benchmarks of the command: a case is verified before it is timed, prints the command line that
// repeats it, and its distance from its floor.
#ifndef TARSIA_TOOLS_BENCH_SUITE_H_
#define TARSIA_TOOLS_BENCH_SUITE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tarsia/tarsia.h"

namespace tarsia::tools::bench {

// The least time that a case can take on this machine, from a measurement here.
struct Floor {
  double seconds = 0;  // 0: unknown
  std::string what;    // "5.2 MB at the measured 11.3 GB/s"
};

// The message of the call that returned `status`; "" if it succeeded.
inline std::string ErrorOf(tarsia_status status) {
  return status == TARSIA_STATUS_OK ? "" : tarsia_last_error();
}

// A case holds its data from Prepare on. Functions return "" or an error message.
class Case {
 public:
  virtual ~Case() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;  // "matmul/u4/16x4096x4096"
  virtual std::string Prepare() = 0;
  virtual std::string Verify() = 0;
  virtual std::string Run() = 0;
  [[nodiscard]] virtual Floor floor() const { return {}; }
};

struct Suite {
  const char* name;
  const char* summary;
  std::vector<std::unique_ptr<Case>> (*cases)();
};

std::vector<std::unique_ptr<Case>> HostCases();
std::vector<std::unique_ptr<Case>> CompileCases();
// Part of CompileCases.
std::vector<std::unique_ptr<Case>> PassCases();

// Seconds of one run each, sorted.
struct Times {
  std::vector<double> sorted;
  [[nodiscard]] double Median() const { return sorted[sorted.size() / 2]; }
  [[nodiscard]] double Least() const { return sorted.front(); }
  // The distance of the quartiles, as a fraction of the median.
  [[nodiscard]] double Spread() const {
    const size_t n = sorted.size();
    return (sorted[n - 1 - n / 4] - sorted[n / 4]) / Median();
  }
};
// Runs once to warm up, then for half a second, 5 to 1000 times. Stops after a failure.
std::string Measure(Case& one, Times* out);

// Bytes per second of copying memory on this machine (read plus written), measured at the first
// call: the best of 5 copies of 64 MiB.
double CopyBandwidth();

}  // namespace tarsia::tools::bench

#endif  // TARSIA_TOOLS_BENCH_SUITE_H_
