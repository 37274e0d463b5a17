// The suite `matmul`: the library's quantised matmul by shapes, types of weights and rows.
#ifndef TARSIA_TOOLS_BENCH_MATMUL_H_
#define TARSIA_TOOLS_BENCH_MATMUL_H_

#include "tools/command.h"

namespace tarsia::tools::bench {

inline constexpr char kMatmulSummary[] = "the quantised matmul by layers of models";

// Returns an exit code; errors are printed.
int RunMatmulSuite(const Args& args);

}  // namespace tarsia::tools::bench

#endif  // TARSIA_TOOLS_BENCH_MATMUL_H_
