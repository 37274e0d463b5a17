#include "runtime/matmul/workspace.h"

#include "compiler/compile.h"
#include "support/align.h"

namespace tarsia::runtime {
namespace {

uint64_t Aligned(int64_t elements, int bits) {
  return AlignUp(static_cast<uint64_t>(elements) * static_cast<uint64_t>(bits) / 8,
                 compiler::kWorkspaceAlignment);
}

}  // namespace

MatmulWorkspace WorkspaceOf(const MatmulProblem& problem, const MatmulCandidate& candidate,
                            int64_t m) {
  const WeightInfo& w = problem.weights;
  MatmulWorkspace out;
  if (w.gathers) out.gathered = Aligned(m * w.k, w.compute.bits);
  if (candidate.dequantises) out.dequantised = Aligned(w.k * w.n, w.compute.bits);
  // As kernels/quantised_matmul.tsa has it: for each block a place for sums, and a semaphore.
  const MatmulTile& tile = candidate.tile;
  if (tile.stream) {
    const int64_t sums = int64_t{tile.bm} * tile.bn * (problem.gated ? 2 : 1);
    out.zero = Aligned(tile.blocks * sums, 32) + Aligned(tile.blocks, 32);
  }
  return out;
}

}  // namespace tarsia::runtime
