// Deliberate faults. A comparison that accepts one of them proves nothing, so tests put faults into
// correct results and show that each is rejected.
#ifndef TARSIA_TESTS_HARNESS_FAULTS_H_
#define TARSIA_TESTS_HARNESS_FAULTS_H_

#include <string>
#include <vector>

#include "tests/harness/expectation.h"

namespace tarsia::harness {

struct Fault {
  std::string name;
  Tensor output;  // a correct result with a fault
};

// Of a matrix (or any tensor of rank 2 or more; leading dimensions are rows):
// - all zero;
// - the first and the last tile of `tile_rows` x `tile_columns` left zero, as if never written;
// - one element that holds another one's value (one that is not nearly the same), at `positions`
//   places spread over the tensor;
// - the same places left NaN.
// Faults that would change nothing (correct zeros) are left out.
std::vector<Fault> OutputFaults(const Tensor& right, int64_t tile_rows, int64_t tile_columns,
                                int positions = 8);

// "" if the correct result is accepted and every fault is rejected; otherwise the one that was not.
std::string ProveRejection(const Expectation& expected, const Tensor& right,
                           const std::vector<Fault>& faults);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_FAULTS_H_
