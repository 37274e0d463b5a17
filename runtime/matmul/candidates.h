// The kernels that can compute a quantised matmul, and how long each would take.
#ifndef TARSIA_RUNTIME_MATMUL_CANDIDATES_H_
#define TARSIA_RUNTIME_MATMUL_CANDIDATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/devices/device.h"
#include "runtime/matmul/problem.h"

namespace tarsia::runtime {

// The constants of kernels/quantised_matmul.tsa that are free to choose.
struct MatmulTile {
  int bm = 16, bn = 128, bk = 64;  // rows of x, columns and rows of w
  int warps = 4;
  int stages = 4;
  int slices = 0;       // KS: slices of bk rows with sums of their own; 0: sums of groups
  int joined = 1;       // KT: of a thread, which adds their sums in each turn
  bool stream = false;  // stream-K
  bool ordered = true;
  int blocks = 1;  // of a stream
  friend bool operator==(const MatmulTile&, const MatmulTile&) = default;
};

struct MatmulCandidate {
  // First a kernel makes weights of the type of x of all codes, then a product of both is computed.
  bool dequantises = false;
  MatmulTile tile;
  double microseconds = 0;  // predicted; 0 for devices of which nothing is known

  [[nodiscard]] bool IsSameKernel(const MatmulCandidate& other) const {
    return dequantises == other.dequantises && tile == other.tile;
  }
  // "BM=16 BN=128 ..", for reports, and to choose it again.
  [[nodiscard]] std::string Text() const;
};

struct MatmulChoice {
  bool deterministic = false;  // the same bits in every run
  bool batch_invariant =
      false;  // the same bits of a row for any number of rows; deterministic, too
  uint64_t workspace_limit = 0;  // in bytes; 0: none
};

// The candidates for m rows (at least 1) that have room in the workspace, the best first. A device
// that interprets has one.
std::vector<MatmulCandidate> RankMatmul(const MatmulProblem& problem, const DeviceModel& device,
                                        int64_t shared_bytes, const MatmulChoice& choice,
                                        int64_t m);

// The largest m for which the same candidates are considered as for this one.
int64_t EndOfMatmulRange(int64_t m);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_MATMUL_CANDIDATES_H_
