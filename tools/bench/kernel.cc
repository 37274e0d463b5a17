#include "tools/bench/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "dtypes/bits.h"
#include "dtypes/convert.h"
#include "tools/bench/suite.h"
#include "tools/workspace.h"

namespace tarsia::tools::bench {
namespace {

constexpr uint16_t kPoison = 0x7E00;  // a NaN of f16
constexpr uint16_t kOneF16 = 0x3C00;

}  // namespace

MatmulKernel::~MatmulKernel() {
  for (void* const memory : memory_) tarsia_memory_free(device_.get(), memory);
}

int MatmulKernel::Code(int64_t k, int64_t n) const {
  const auto at = static_cast<uint64_t>(k * n_ + n);
  return static_cast<int>((at * 2654435761u >> 13) % (bits_ < 3 ? 2 : 4));
}

int MatmulKernel::Activation(int64_t i, int64_t k) const {
  const int64_t step = std::max<int64_t>(1, k_ / 32);
  return (k + i) % step == 0 && (k + i) / step <= 32 ? 1 : 0;
}

std::vector<uint8_t> MatmulKernel::PackedWeights() const {
  std::vector<uint8_t> codes(static_cast<size_t>(k_ * n_));
  for (int64_t k = 0; k < k_; ++k) {
    for (int64_t n = 0; n < n_; ++n) {
      codes[static_cast<size_t>(k * n_ + n)] = static_cast<uint8_t>(Code(k, n));
    }
  }
  std::vector<uint8_t> packed((codes.size() * static_cast<size_t>(bits_) + 7) / 8);
  PackBits(codes.data(), bits_, codes.size(), packed.data(), 0);
  return packed;
}

std::string MatmulKernel::Allocate(uint64_t bytes, void** out) {
  std::string error = ErrorOf(tarsia_memory_alloc(device_.get(), bytes, out));
  if (error.empty()) memory_.push_back(*out);
  return error;
}

std::string MatmulKernel::Prepare(const char* device_name) {
  tarsia_device* device = nullptr;
  if (auto error = ErrorOf(tarsia_device_open(device_name, &device)); !error.empty()) return error;
  device_.reset(device);
  tarsia_module* made = nullptr;
  if (auto error = ErrorOf(tarsia_module_create_from_library("matmul", &made)); !error.empty()) {
    return error;
  }
  const Handle<tarsia_module> module(made);
  const std::string k = std::to_string(k_), n = std::to_string(n_);
  const tarsia_binding bindings[] = {{sizeof(tarsia_binding), "K", k.c_str()},
                                     {sizeof(tarsia_binding), "N", n.c_str()},
                                     {sizeof(tarsia_binding), "W", type_.c_str()}};
  auto options = Sized<tarsia_plan_options>();
  options.device = device_name;
  options.bindings = bindings;
  options.binding_count = std::size(bindings);
  tarsia_plan* plan = nullptr;
  if (auto error = ErrorOf(tarsia_plan_create(made, &options, &plan, nullptr)); !error.empty()) {
    return error;
  }
  plan_.reset(plan);

  std::vector<uint16_t> x(static_cast<size_t>(m_ * k_));
  for (int64_t i = 0; i < m_; ++i) {
    for (int64_t j = 0; j < k_; ++j) {
      x[static_cast<size_t>(i * k_ + j)] = Activation(i, j) != 0 ? kOneF16 : uint16_t{0};
    }
  }
  const std::vector<uint8_t> w = PackedWeights();
  const uint64_t sizes[] = {x.size() * 2, w.size(), static_cast<uint64_t>(m_ * n_) * 2};
  void* at[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    if (auto error = Allocate(sizes[i], &at[i]); !error.empty()) return error;
  }
  if (auto error = ErrorOf(tarsia_memory_write(device, at[0], x.data(), sizes[0], nullptr));
      !error.empty()) {
    return error;
  }
  if (auto error = ErrorOf(tarsia_memory_write(device, at[1], w.data(), sizes[1], nullptr));
      !error.empty()) {
    return error;
  }
  args_ = {tarsia_arg_const_pointer(at[0], sizes[0]), tarsia_arg_const_pointer(at[1], sizes[1]),
           tarsia_arg_pointer(at[2], sizes[2]), tarsia_arg_i32(static_cast<int32_t>(m_))};
  const auto status = MakeWorkspace(device, plan_.get(), args_.data(), args_.size(), &workspace_);
  memory_.push_back(workspace_);
  return ErrorOf(status);
}

std::string MatmulKernel::Run() {
  auto error = ErrorOf(tarsia_execute(plan_.get(), args_.data(), args_.size(), workspace_, nullptr,
                                      nullptr, nullptr));
  if (!error.empty()) return error;
  return ErrorOf(tarsia_stream_synchronize(device_.get(), nullptr));
}

std::string MatmulKernel::Compare(const std::vector<uint16_t>& y) const {
  std::vector<int> want(static_cast<size_t>(n_));
  for (int64_t i = 0; i < m_; ++i) {
    std::fill(want.begin(), want.end(), 0);
    for (int64_t k = 0; k < k_; ++k) {
      if (Activation(i, k) == 0) continue;
      for (int64_t n = 0; n < n_; ++n) want[static_cast<size_t>(n)] += Code(k, n);
    }
    for (int64_t n = 0; n < n_; ++n) {
      const double got = DecodeToDouble(kF16, y[static_cast<size_t>(i * n_ + n)]);
      if (got == want[static_cast<size_t>(n)]) continue;
      return fmt::format("y[{}, {}] is {}, not {}", i, n, got, want[static_cast<size_t>(n)]);
    }
  }
  return "";
}

std::string MatmulKernel::Verify() {
  std::vector<uint16_t> y(static_cast<size_t>(m_ * n_), kPoison);
  auto& target = args_[2].value.pointer;
  auto error =
      ErrorOf(tarsia_memory_write(device_.get(), target.data, y.data(), target.bytes, nullptr));
  if (error.empty()) error = Run();
  if (error.empty()) {
    error =
        ErrorOf(tarsia_memory_read(device_.get(), y.data(), target.data, target.bytes, nullptr));
  }
  return error.empty() ? Compare(y) : error;
}

uint64_t MatmulKernel::bytes() const {
  uint64_t total = 0;
  for (const tarsia_arg& arg : args_) {
    if (arg.kind != TARSIA_ARG_SCALAR) total += arg.value.pointer.bytes;
  }
  return total;
}

}  // namespace tarsia::tools::bench
