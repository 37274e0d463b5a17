// What is measured of a matmul of made numbers, by `tarsia matmul` and by `tarsia bench matmul`.
#ifndef TARSIA_TOOLS_MATMUL_MEASURED_H_
#define TARSIA_TOOLS_MATMUL_MEASURED_H_

#include <string>
#include <vector>

#include "ptx/count/counts.h"
#include "support/json.h"
#include "tools/matmul/matmul.h"
#include "tools/matmul/trial.h"

namespace tarsia::tools {

struct Measured {
  LayerErrors errors;         // if there are wrong elements, nothing else was measured
  std::vector<double> times;  // microseconds, sorted; empty: there are none
  MatmulBound bound;
  ptx::Counts counts;  // if `counted`
  bool counted = false;

  [[nodiscard]] double Median() const { return times[times.size() / 2]; }
  // The distance of the quartiles, as a fraction of the median.
  [[nodiscard]] double Spread() const;
  [[nodiscard]] double InstructionsPerWeight(const LayerSpec& spec) const;
  // Bytes of global memory that were read and written.
  [[nodiscard]] double Traffic() const;
};

// Checks the product, then times it, or counts it where there are no times. `copy_rate` is that of
// the device.
Result<Measured> Measure(const MatmulTrial& trial, double copy_rate);

// "3 of 64 elements are wrong; y[0, 1] is ..".
std::string WrongText(const LayerErrors& errors);
// The members of a JSON object: the problem, the kernel, what was checked and measured.
void AppendMeasured(const MatmulTrial& trial, const MatmulRequest& request,
                    const Measured& measured, Json* json);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_MATMUL_MEASURED_H_
