// A case of the library's quantised matmul (runtime/matmul): its numbers, its expected result, and
// its check on a device. Expected values come from plain formulas here; a case can be an exact one,
// of small integers and powers of two, which is compared bit for bit.
#ifndef TARSIA_TESTS_MATMUL_QUANTISED_CASE_H_
#define TARSIA_TESTS_MATMUL_QUANTISED_CASE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dtypes/dtype.h"
#include "runtime/devices/device.h"
#include "runtime/matmul/matmul_plan.h"
#include "runtime/weights/packed_weights.h"
#include "tests/harness/expectation.h"
#include "tests/settings.h"

namespace tarsia::runtime::quantised_case {

struct Spec {
  std::string device = "cpu";
  DType type = kU4;
  DType compute = kF16;
  DType scale = kF16;
  DType output = kF16;
  int64_t m = 1, k = 64, n = 64, group = 64;
  ZeroPoint zero = ZeroPoint::kNone;
  bool codebook = false, gathers = false, bias = false, gated = false, residual = false;
  Activation activation = Activation::kNone;
  float tensor_scale = 1;
  bool exact = false;
  bool unit_scales = false;
  MatmulChoice choice = {};
  std::string candidate;         // empty: the best
  bool alone = false;            // the plan is for m rows and no others
  bool in_place = false;         // y is the residual
  bool machine_code = IsLong();  // is saved with the plan

  // Of y.
  [[nodiscard]] int64_t columns() const { return gated ? n / 2 : n; }
  [[nodiscard]] std::string Text() const {
    std::string out =
        device + " " + std::string(DTypeName(type)) + " x " + std::string(DTypeName(compute));
    for (const auto& [name, value] : {std::pair("m", m), {"k", k}, {"n", n}, {"group", group}}) {
      out += std::string(" ") + name + "=" + std::to_string(value);
    }
    out += " zero=" + std::to_string(static_cast<int>(zero)) +
           " act=" + std::to_string(static_cast<int>(activation));
    for (const auto& [name, on] : {std::pair("codebook", codebook),
                                   {"gathers", gathers},
                                   {"bias", bias},
                                   {"gated", gated},
                                   {"residual", residual},
                                   {"exact", exact}}) {
      if (on) out += std::string(" ") + name;
    }
    return out + " " + candidate;
  }
};

// The numbers of a case, and its weights packed.
struct Data {
  std::vector<double> x, row_scales, residual, bias;  // as their types hold them
  std::vector<double> codes, scales, zeros;
  std::vector<int32_t> gather;
  std::vector<float> codebook;
  CodeSource source;
};

Data Make(const Spec& spec, uint64_t seed);
MatmulProblem ProblemOf(const Spec& spec, const PackedWeights& packed);
// Numbers that the type holds, as its bytes.
std::vector<uint8_t> Bytes(DType type, const std::vector<double>& values);

class Memory {
 public:
  Memory(Device& device, const void* from, uint64_t bytes) : device_(device), bytes_(bytes) {
    data_ = *device.Allocate(bytes);
    if (bytes != 0) {
      EXPECT_TRUE(device.Write(data_, from, bytes, nullptr).ok());
    }
  }
  Memory(Device& device, const std::vector<uint8_t>& from)
      : Memory(device, from.data(), from.size()) {}
  ~Memory() { EXPECT_TRUE(device_.Free(data_).ok()); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  [[nodiscard]] DeviceBytes view() const { return {data_, bytes_}; }

 private:
  Device& device_;
  void* data_ = nullptr;
  uint64_t bytes_;
};

// The workspace of a plan, or one of so many bytes for others too, prepared by this plan.
class Workspace : public Memory {
 public:
  explicit Workspace(const MatmulPlan& plan);
  Workspace(const MatmulPlan& plan, uint64_t size);
};

// The data of a case on a device, and its expected results, for any number of rows up to spec.m.
class Layer {
 public:
  Layer(const Spec& spec, uint64_t seed, std::shared_ptr<Device> device);

  // For all these numbers of rows; null, and a failure of the test, if it cannot be made.
  [[nodiscard]] std::unique_ptr<const MatmulPlan> Plan() const;
  // The result of so many rows is as expected; returns it. The plan may be that of another layer
  // that differs in its numbers alone.
  std::vector<uint8_t> Check(const MatmulPlan& plan, int64_t m, const Workspace& workspace) const;

 private:
  [[nodiscard]] harness::Expectation Expected(int64_t m, bool rounds) const;

  const Spec spec_;
  const std::shared_ptr<Device> device_;
  std::optional<PackedWeights> packed_;
  std::vector<uint8_t> x_, row_scales_, residual_;
  std::optional<Memory> weights_, bias_;
  // Of y; the last where weights are rounded to the type of x.
  std::vector<double> values_, bounds_, bounds_of_rounded_;
};

// The result is as expected, of a plan and of the same plan that was saved and loaded; returns it.
// The kernels that compute it are passed to tests/harness/assembly.h.
std::vector<uint8_t> Check(const Spec& spec, uint64_t seed = 1);
// Also of the exact twin, whose results are f32.
void CheckWithTwin(Spec spec);

}  // namespace tarsia::runtime::quantised_case

#endif  // TARSIA_TESTS_MATMUL_QUANTISED_CASE_H_
