#include "tools/matmul/device_matmul.h"

#include <utility>

namespace tarsia::tools {

using runtime::DeviceBytes;
using runtime::DevicePointer;
using runtime::MatmulProblem;

MatmulProblem ProblemOf(const PackedWeights& weights, int64_t m) {
  MatmulProblem out;
  out.m_min = out.m_max = m;
  out.weights = weights.info();
  out.codebook = !out.weights.codebook.empty();
  out.weights.codebook.clear();
  out.output = runtime::UsualOutput(out.activations());
  return out;
}

Result<std::unique_ptr<DeviceMatmul>> DeviceMatmul::Make(Plan plan, const MatmulOperands& operands,
                                                         int copies) {
  std::unique_ptr<DeviceMatmul> out(new DeviceMatmul(plan->device()));
  out->plan_ = std::move(plan);
  TARSIA_CHECK(out->Upload(operands, copies));
  TARSIA_CHECK(out->MakeWorkspace());
  return out;
}

DeviceMatmul::~DeviceMatmul() {
  for (const DevicePointer memory : owned_) (void)device_.Free(memory).ok();
  (void)device_.Free(arguments_.workspace).ok();
}

Status DeviceMatmul::Take(Plan plan) {
  TARSIA_CHECK(device_.Synchronize(nullptr));
  TARSIA_CHECK(device_.Free(std::exchange(arguments_.workspace, nullptr)));
  plan_ = std::move(plan);
  return MakeWorkspace();
}

Status DeviceMatmul::MakeWorkspace() {
  arguments_.workspace_bytes = plan_->workspace_bytes();
  TARSIA_TRY(arguments_.workspace, device_.Allocate(arguments_.workspace_bytes));
  return plan_->InitWorkspace(arguments_.workspace, arguments_.workspace_bytes, nullptr);
}

Result<DevicePointer> DeviceMatmul::Allocate(uint64_t bytes) {
  TARSIA_TRY(const DevicePointer out, device_.Allocate(bytes));
  owned_.push_back(out);
  return out;
}

Result<DeviceBytes> DeviceMatmul::Put(std::span<const uint8_t> bytes) {
  TARSIA_TRY(const DevicePointer to, Allocate(bytes.size()));
  TARSIA_CHECK(device_.Write(to, bytes.data(), bytes.size(), nullptr));
  return DeviceBytes{to, bytes.size()};
}

Status DeviceMatmul::Upload(const MatmulOperands& operands, int copies) {
  for (int i = 0; i < copies; ++i) {
    TARSIA_TRY(const DeviceBytes weights, Put(operands.weights));
    weights_.push_back(weights);
  }
  TARSIA_TRY(arguments_.x, Put(operands.x));
  TARSIA_TRY(arguments_.row_scales, Put(operands.row_scales));
  TARSIA_TRY(arguments_.bias, Put(operands.bias));
  TARSIA_TRY(arguments_.residual, Put(operands.residual));
  const MatmulProblem& problem = plan_->problem();
  arguments_.m = problem.m_max;
  arguments_.y_bytes = static_cast<uint64_t>(problem.m_max * problem.columns()) *
                       static_cast<uint64_t>(problem.output.bits) / 8;
  TARSIA_TRY(arguments_.y, Allocate(arguments_.y_bytes));
  return OkStatus();
}

Status DeviceMatmul::Run(int copy, runtime::StreamHandle stream, ptx::LaunchCounts* counts) const {
  runtime::MatmulArguments arguments = arguments_;
  arguments.weights = weights_[static_cast<size_t>(copy)];
  arguments.stream = stream;
  arguments.counts = counts;
  return plan_->Execute(arguments);
}

Result<std::vector<uint8_t>> DeviceMatmul::Compute() const {
  TARSIA_CHECK(device_.Fill(arguments_.y, 0xFF, arguments_.y_bytes, nullptr));
  TARSIA_CHECK(Run());
  std::vector<uint8_t> out(arguments_.y_bytes);
  TARSIA_CHECK(device_.Read(out.data(), arguments_.y, out.size(), nullptr));
  return out;
}

}  // namespace tarsia::tools
