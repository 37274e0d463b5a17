// The options of `tarsia matmul`, and its two forms.
#ifndef TARSIA_TOOLS_MATMUL_MATMUL_H_
#define TARSIA_TOOLS_MATMUL_MATMUL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/devices/device.h"
#include "runtime/matmul/matmul_plan.h"
#include "tools/command.h"
#include "tools/weights/weight_types.h"

namespace tarsia::tools {

struct MatmulRequest {
  // Of both forms.
  std::string device;
  std::string activation = "none", output;
  bool gated = false, deterministic = false, batch_invariant = false, candidates = false,
       tune = false;
  std::string candidate;
  bool json = false;
  // Of files.
  std::string in, x_scales, weights, bias, residual, out;
  // Of made numbers.
  std::optional<std::string> m, n, k;
  std::string type;
  WeightOptions packing;
  bool with_bias = false, with_residual = false;

  [[nodiscard]] runtime::Activation Act() const;
  // The type of y: the usual one if no option says another.
  [[nodiscard]] DType OutputFor(DType compute_type) const;
  [[nodiscard]] runtime::MatmulOptions Options() const;
};

// Declares what all products have: the epilogue, the type of y, the device, which bits are the
// same.
void DeclareProduct(Command& command, MatmulRequest* request);

// Each returns an exit code; errors are printed.
int MultiplyFiles(const MatmulRequest& request);
int TryMatmul(const Command& command, const MatmulRequest& request);

// Opens the device; prints errors. Returns an exit code.
int OpenDeviceOf(const MatmulRequest& request, std::shared_ptr<runtime::Device>* out);
// Prints the ranked candidates for the problem's rows.
int PrintCandidates(const runtime::MatmulProblem& problem, runtime::Device& device,
                    const MatmulRequest& request);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_MATMUL_MATMUL_H_
