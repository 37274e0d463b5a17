#include "tools/matmul/trial.h"

#include <algorithm>
#include <chrono>

#include "isa/specialise.h"
#include "launch/arguments.h"
#include "runtime/library.h"
#include "support/elapsed.h"
#include "tools/bench/suite.h"

namespace tarsia::tools {
namespace {

using runtime::Device;
using runtime::DeviceKind;
using runtime::DevicePointer;
using runtime::StreamHandle;

// More than the L2 cache of any GPU holds.
constexpr uint64_t kBeyondCache = uint64_t{160} << 20;
constexpr int kReplays = 15;
constexpr double kGraphMicroseconds = 2000;

// A kernel of the library that copies integers.
Result<std::unique_ptr<runtime::LoadedKernel>> CopyKernel(Device& device) {
  Diagnostics diagnostics;
  const ValidModule module = runtime::ValidLibraryModule("copy");
  const auto program = Specialise(module, "copy", {}, device.Limits(), diagnostics);
  if (!program) return diagnostics.list().front();
  return device.Load(*program);
}

// The median of replays. (The copies of the driver reach two thirds of this on an H200.)
Result<double> CopyRateOfGpu(Device& device) {
  constexpr uint64_t kBytes = uint64_t{512} << 20;
  TARSIA_TRY(const std::unique_ptr<runtime::LoadedKernel> kernel, CopyKernel(device));
  DevicePointer memory[2] = {};
  Result<std::vector<double>> times = std::vector<double>();
  for (DevicePointer& one : memory) {
    auto allocated = device.Allocate(kBytes);
    const Status filled =
        allocated.ok() ? device.Fill(*allocated, 0, kBytes, nullptr) : Status(allocated.error());
    if (allocated.ok()) one = *allocated;
    if (!filled.ok()) times = filled.error();
  }
  if (const Status ready = device.Synchronize(nullptr); !ready.ok()) times = ready.error();
  if (times.ok()) {
    launch::ArgumentList list;
    list.push_back(launch::Buffer{memory[0], kBytes, false});
    list.push_back(launch::Buffer{memory[1], kBytes, true});
    list.push_back(launch::ScalarValue{kI32, kBytes / 4});
    times = device.TimeCalls(4, kReplays, [&](int, StreamHandle stream) -> Status {
      runtime::LaunchRequest request;
      request.args = list;
      request.stream = stream;
      request.wait = false;
      const auto done = kernel->Launch(request);
      return done.ok() ? OkStatus() : Status(done.error());
    });
  }
  for (const DevicePointer one : memory) {
    if (one != nullptr) (void)device.Free(one).ok();
  }
  if (!times.ok()) return times.error();
  std::sort(times->begin(), times->end());
  return 2 * static_cast<double>(kBytes) / (*times)[times->size() / 2];
}

}  // namespace

Result<double> CopyRate(Device& device) {
  switch (device.kind()) {
    case DeviceKind::kInterpreter:
      return bench::CopyBandwidth() / 1e6;
    case DeviceKind::kEmulator:
      return 0.0;
    case DeviceKind::kGpu:
      return CopyRateOfGpu(device);
  }
  return 0.0;
}

Result<std::unique_ptr<MatmulTrial>> MatmulTrial::Make(
    const LayerSpec& spec, std::shared_ptr<Device> device, const Progress& progress,
    std::shared_ptr<const PackedWeights> packed) {
  std::unique_ptr<MatmulTrial> out(new MatmulTrial(spec, std::move(device)));
  out->packed_ = std::move(packed);
  if (out->packed_ == nullptr) {
    TARSIA_TRY(PackedWeights made, out->layer_.Pack(progress));
    out->packed_ = std::make_shared<const PackedWeights>(std::move(made));
  }
  if (out->device_->kind() == DeviceKind::kGpu) {
    const uint64_t bytes = std::max<uint64_t>(out->packed_->image().size(), 1);
    out->copies_ = static_cast<int>(std::clamp<uint64_t>(kBeyondCache / bytes + 1, 2, 64));
  }
  return out;
}

Status MatmulTrial::Choose(DeviceMatmul::Plan plan) {
  if (matmul_ != nullptr) return matmul_->Take(std::move(plan));
  const MatmulOperands operands = {packed_->image(), layer_.x(), layer_.row_scales(), layer_.bias(),
                                   layer_.residual()};
  TARSIA_TRY(matmul_, DeviceMatmul::Make(std::move(plan), operands, copies_));
  return OkStatus();
}

Result<LayerErrors> MatmulTrial::Verify(double products) const {
  TARSIA_TRY(const std::vector<uint8_t> y, matmul_->Compute());
  const auto* const range = matmul_->range();
  const bool rounds = range != nullptr && range->candidate.dequantises;
  return layer_.Compare(y, rounds, products);
}

Result<std::vector<double>> MatmulTrial::Time() const {
  std::vector<double> out;
  if (device_->kind() == DeviceKind::kGpu) {
    const auto run = [&](int call, StreamHandle stream) {
      return matmul_->Run(call % copies_, stream);
    };
    TARSIA_TRY(const std::vector<double> once, device_->TimeCalls(copies_, 1, run));
    const double calls = std::min(kGraphMicroseconds / std::max(once[0], 1.0), 400.0);
    const int turns = std::max(1, static_cast<int>(calls) / copies_);
    TARSIA_TRY(out, device_->TimeCalls(turns * copies_, kReplays, run));
  } else {
    double total = 0;
    for (int i = 0; i < 1000 && (i < 3 || total < 5e5); ++i) {
      const auto start = std::chrono::steady_clock::now();
      TARSIA_CHECK(matmul_->Run());
      out.push_back(static_cast<double>(NanosecondsSince(start)) / 1e3);
      total += out.back();
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<ptx::LaunchCounts> MatmulTrial::Count() const {
  ptx::LaunchCounts out;
  TARSIA_CHECK(matmul_->Run(0, nullptr, &out));
  return out;
}

MatmulBound MatmulTrial::Bound(double copy_rate) const {
  const runtime::MatmulPlan& plan = matmul_->plan();
  const auto floor = FloorOf(plan.problem(), plan.places(), layer_.spec().m);
  MatmulBound out;
  out.bytes = floor.bytes;
  out.operations = floor.operations;
  if (copy_rate == 0) return out;
  out.bytes_per_us = copy_rate;
  const double rate = device_->Model().operations_per_us;
  const double products = rate > 0 ? out.operations / rate : 0;
  out.microseconds = std::max(out.bytes / out.bytes_per_us, products);
  out.by_operations = products > out.bytes / out.bytes_per_us;
  return out;
}

}  // namespace tarsia::tools
