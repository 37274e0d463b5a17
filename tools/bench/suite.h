// Benchmarks of the command: a case is verified before it is timed, prints the line that repeats
// it, and says how far it is from its floor.
#ifndef TARSIA_TOOLS_BENCH_SUITE_H_
#define TARSIA_TOOLS_BENCH_SUITE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tarsia::tools::bench {

// The least that a case can take on this machine, from something measured here.
struct Floor {
  double seconds = 0;  // 0: none is known
  std::string what;    // "5.2 MB at the measured 11.3 GB/s"
};

// A case holds its data from Prepare on. Functions return "" or say what went wrong.
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

// Seconds of one run each, sorted.
struct Times {
  std::vector<double> sorted;
  [[nodiscard]] double Median() const { return sorted[sorted.size() / 2]; }
  [[nodiscard]] double Least() const { return sorted.front(); }
  // Between the quartiles, as a part of the median.
  [[nodiscard]] double Spread() const {
    const size_t n = sorted.size();
    return (sorted[n - 1 - n / 4] - sorted[n / 4]) / Median();
  }
};
// Runs once to warm up, then until half a second is over, 5 to 1000 times. A failure ends it.
std::string Measure(Case& one, Times* out);

// Bytes a second that copying memory moves on this machine (read plus written), measured at the
// first call: the best of 5 copies of 64 MiB.
double CopyBandwidth();

}  // namespace tarsia::tools::bench

#endif  // TARSIA_TOOLS_BENCH_SUITE_H_
