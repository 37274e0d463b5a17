// A matmul of made numbers: `tarsia matmul --m .. --n .. --k ..` and `tarsia bench matmul`.
#ifndef TARSIA_TOOLS_MATMUL_TRIAL_H_
#define TARSIA_TOOLS_MATMUL_TRIAL_H_

#include <memory>
#include <string>
#include <vector>

#include "tools/matmul/device_matmul.h"
#include "tools/matmul/made_layer.h"

namespace tarsia::tools {

// The least time that a matmul can take: each byte crosses memory once, and each product is made.
struct MatmulBound {
  double microseconds = 0;
  double bytes = 0, operations = 0;
  double bytes_per_us = 0;  // that were measured for a copy
  bool by_operations = false;
};

// Bytes that a copy reads and writes in a microsecond, measured now: on a GPU by a kernel, else by
// the processor; 0 on the emulator, which has no times.
Result<double> CopyRate(runtime::Device& device);

class MatmulTrial {
 public:
  // Makes the layer, and packs it, unless `packed` are the weights of a layer that differs in its
  // rows only. Before anything else, `Choose`. Errors: those of MadeLayer::Pack.
  static Result<std::unique_ptr<MatmulTrial>> Make(
      const LayerSpec& spec, std::shared_ptr<runtime::Device> device, const Progress& progress,
      std::shared_ptr<const PackedWeights> packed = nullptr);

  // Takes a plan of `Problem` for this device.
  Status Choose(DeviceMatmul::Plan plan);

  // Computes once, and compares with the formula: all elements if they take at most `products`
  // products.
  static constexpr double kProducts = 2e9;  // in about a second
  [[nodiscard]] Result<LayerErrors> Verify(double products = kProducts) const;
  // Microseconds, sorted. On a GPU: of a launch, by replays of a graph of launches; each launch
  // reads weights that are in no cache. On the device cpu: of calls. Errors: the emulator has no
  // times.
  [[nodiscard]] Result<std::vector<double>> Time() const;
  // Of the emulator.
  [[nodiscard]] Result<ptx::LaunchCounts> Count() const;
  // `copy_rate` is that of the device.
  [[nodiscard]] MatmulBound Bound(double copy_rate) const;

  [[nodiscard]] runtime::MatmulProblem Problem() const {
    return ProblemOf(layer_.spec(), packed_->info());
  }
  [[nodiscard]] const std::shared_ptr<const PackedWeights>& packed() const { return packed_; }
  [[nodiscard]] const MadeLayer& layer() const { return layer_; }
  [[nodiscard]] const DeviceMatmul& matmul() const { return *matmul_; }
  [[nodiscard]] runtime::Device& device() const { return *device_; }
  [[nodiscard]] bool HasTimes() const { return device_->kind() != runtime::DeviceKind::kEmulator; }

 private:
  MatmulTrial(const LayerSpec& spec, std::shared_ptr<runtime::Device> device)
      : layer_(spec), device_(std::move(device)) {}

  const MadeLayer layer_;
  const std::shared_ptr<runtime::Device> device_;
  std::shared_ptr<const PackedWeights> packed_;
  std::unique_ptr<DeviceMatmul> matmul_;
  int copies_ = 1;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_MATMUL_TRIAL_H_
