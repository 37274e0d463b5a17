// A layer of packed weights with its plan and its arguments on a device, through the C API.
#ifndef TARSIA_TESTS_UNIT_RUNTIME_MATMUL_LAYER_H_
#define TARSIA_TESTS_UNIT_RUNTIME_MATMUL_LAYER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tarsia/tarsia.h"
#include "tools/handles.h"

namespace tarsia::testing_matmul {

inline constexpr int64_t kRows = 3, kK = 128, kN = 64;

// Row k of the weights is k % 15 - 7, in every column; scales are 1.
inline tools::Handle<tarsia_weights> MakeWeights() {
  std::vector<float> w;
  for (int64_t i = 0; i < kK * kN; ++i) w.push_back(static_cast<float>(i / kN % 15 - 7));
  auto options = tools::Sized<tarsia_quantise_options>();
  options.type = TARSIA_DTYPE_I4;
  options.compute = TARSIA_DTYPE_F16;
  options.group = 64;
  options.scale_type = TARSIA_DTYPE_F16;
  tarsia_weights* out = nullptr;
  EXPECT_EQ(tarsia_weights_quantise(w.data(), w.size() * 4, TARSIA_DTYPE_F32, kK, kN, false,
                                    &options, &out),
            TARSIA_STATUS_OK)
      << tarsia_last_error();
  return tools::Handle<tarsia_weights>(out);
}

inline tarsia_matmul Describe(const tarsia_weights* weights) {
  auto out = tools::Sized<tarsia_matmul>();
  EXPECT_EQ(tarsia_matmul_describe(weights, &out), TARSIA_STATUS_OK);
  out.m_max = 8;
  out.y_type = TARSIA_DTYPE_F32;
  return out;
}

inline tarsia_status MakePlan(const tarsia_matmul& layer, const char* device,
                              tarsia_matmul_plan** out) {
  auto options = tools::Sized<tarsia_matmul_options>();
  options.device = device;
  return tarsia_matmul_plan_create(&layer, &options, out);
}

inline std::string Saved(const tarsia_matmul_plan* plan) {
  tarsia_blob* blob = nullptr;
  EXPECT_EQ(tarsia_matmul_plan_save(plan, &blob), TARSIA_STATUS_OK) << tarsia_last_error();
  std::string out(tarsia_blob_data(blob), tarsia_blob_size(blob));
  tarsia_blob_destroy(blob);
  return out;
}

// The memory of an execution. Row m of x picks row m of the weights.
class Arguments {
 public:
  Arguments(tarsia_device* device, const tarsia_matmul_plan* plan, const tarsia_weights* weights)
      : device_(device) {
    auto info = tools::Sized<tarsia_matmul_plan_info>();
    EXPECT_EQ(tarsia_matmul_plan_get(plan, &info), TARSIA_STATUS_OK);
    const void* image = nullptr;
    EXPECT_EQ(tarsia_weights_image(weights, &image, &args_.weights_bytes), TARSIA_STATUS_OK);
    std::vector<uint16_t> x(kRows * kK);
    for (int64_t m = 0; m < kRows; ++m) x[static_cast<size_t>(m * kK + m)] = 0x3C00;
    args_.m = kRows;
    args_.x = Upload(x.data(), args_.x_bytes = x.size() * 2);
    args_.weights = Upload(image, args_.weights_bytes);
    args_.y = Upload(nullptr, args_.y_bytes = kRows * kN * 4);
    args_.workspace = Upload(nullptr, args_.workspace_bytes = info.workspace_bytes);
    EXPECT_EQ(tarsia_matmul_workspace_init(plan, args_.workspace, args_.workspace_bytes, nullptr),
              TARSIA_STATUS_OK)
        << tarsia_last_error();
    EXPECT_EQ(tarsia_stream_synchronize(device_, nullptr), TARSIA_STATUS_OK);
  }
  ~Arguments() {
    for (void* const memory : memory_) tarsia_memory_free(device_, memory);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  [[nodiscard]] const tarsia_matmul_args* get() const { return &args_; }
  // Whether y is as it must be.
  [[nodiscard]] bool IsRight() const {
    std::vector<float> y(kRows * kN);
    EXPECT_EQ(tarsia_memory_read(device_, y.data(), args_.y, y.size() * 4, nullptr),
              TARSIA_STATUS_OK);
    std::vector<float> wanted;
    for (int64_t m = 0; m < kRows; ++m) wanted.insert(wanted.end(), kN, static_cast<float>(m - 7));
    return y == wanted;
  }

 private:
  // Null: the bytes are 0xFF.
  void* Upload(const void* data, uint64_t bytes) {
    void* out = nullptr;
    EXPECT_EQ(tarsia_memory_alloc(device_, bytes, &out), TARSIA_STATUS_OK);
    EXPECT_EQ(data != nullptr ? tarsia_memory_write(device_, out, data, bytes, nullptr)
                              : tarsia_memory_fill(device_, out, 0xFF, bytes, nullptr),
              TARSIA_STATUS_OK);
    memory_.push_back(out);
    return out;
  }

  tarsia_device* device_;
  tarsia_matmul_args args_ = tools::Sized<tarsia_matmul_args>();
  std::vector<void*> memory_;
};

}  // namespace tarsia::testing_matmul

#endif  // TARSIA_TESTS_UNIT_RUNTIME_MATMUL_LAYER_H_
