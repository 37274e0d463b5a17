// A quantised matmul that is ready to run: kernels for every number of rows that it may have.
#ifndef TARSIA_RUNTIME_MATMUL_MATMUL_PLAN_H_
#define TARSIA_RUNTIME_MATMUL_MATMUL_PLAN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/program.h"
#include "runtime/devices/device.h"
#include "runtime/matmul/candidates.h"
#include "runtime/matmul/problem.h"
#include "runtime/matmul/workspace.h"

namespace tarsia::runtime {

class KernelImage;

struct MatmulOptions {
  MatmulChoice choice;
  std::optional<std::string> candidate;  // MatmulCandidate::Text of one; without: the best
  StopCheck* stop = nullptr;
};

struct DeviceBytes {
  const void* data = nullptr;
  uint64_t bytes = 0;
};

// Memory of the plan's device. `weights` is the image of the packed weights (weights/tsw.h).
struct MatmulArguments {
  int64_t m = 0;
  DeviceBytes x;
  DeviceBytes row_scales;  // f32 [m]; null where the problem has none
  DeviceBytes weights;
  DeviceBytes bias;      // null without one
  DeviceBytes residual;  // null without one
  void* y = nullptr;
  uint64_t y_bytes = 0;
  void* workspace = nullptr;
  uint64_t workspace_bytes = 0;
  StreamHandle stream = nullptr;
  // As of LaunchRequest: the counts of all launches.
  ptx::LaunchCounts* counts = nullptr;
};

// Immutable and thread-safe.
class MatmulPlan {
 public:
  // Errors: those of CheckMatmul, of the compiler and of the device; an unknown candidate.
  static Result<std::unique_ptr<const MatmulPlan>> Make(const MatmulProblem& problem,
                                                        std::shared_ptr<Device> device,
                                                        const MatmulOptions& options);
  ~MatmulPlan();

  // Enqueues the product, or, on devices without streams, computes it. Allocates nothing on a GPU,
  // and can be captured into a graph. Errors: rows that the plan is not for, wrong sizes, those of
  // LoadedKernel::Launch.
  Status Execute(const MatmulArguments& arguments) const;
  // Prepares a workspace, once: for this plan, and for all others that need at most `bytes`.
  // Enqueued.
  Status InitWorkspace(void* workspace, uint64_t bytes, StreamHandle stream) const;

  [[nodiscard]] const MatmulProblem& problem() const { return problem_; }
  [[nodiscard]] const WeightPlaces& places() const { return places_; }
  [[nodiscard]] Device& device() const { return *device_; }
  [[nodiscard]] uint64_t workspace_bytes() const { return workspace_bytes_; }

  // Rows from m_min to m_max are computed by one candidate.
  struct Range {
    int64_t m_min = 0, m_max = 0;
    MatmulCandidate candidate;
  };
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }
  // The kernels of a range, in the order of their launches. They live as long as the plan.
  struct Kernel {
    const Program* program = nullptr;
    std::shared_ptr<const KernelImage> image;  // null on devices that run programs
  };
  [[nodiscard]] std::vector<Kernel> KernelsOf(size_t range) const;

  enum class Source : uint8_t;  // what a kernel reads and writes
  class Assembly;               // matmul/assembly.h

 private:
  struct Step;
  struct StepKernels;

  MatmulPlan(const MatmulProblem& problem, WeightPlaces places, std::shared_ptr<Device> device);
  [[nodiscard]] const StepKernels& KernelsFor(int64_t m) const;
  [[nodiscard]] Status Check(const MatmulArguments& arguments) const;
  [[nodiscard]] Status CheckWorkspace(const void* workspace, uint64_t bytes) const;
  [[nodiscard]] DeviceBytes BytesOf(const StepKernels& kernels, Source source,
                                    const MatmulArguments& arguments) const;
  [[nodiscard]] Status Launch(const StepKernels& kernels, const Step& step,
                              const MatmulArguments& arguments) const;

  const MatmulProblem problem_;
  const WeightPlaces places_;
  const std::shared_ptr<Device> device_;
  std::vector<Range> ranges_;
  std::vector<StepKernels> kernels_;  // by range
  uint64_t workspace_bytes_ = 0;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_MATMUL_MATMUL_PLAN_H_
