// A kernel of the standard library with its data in a device's memory, for cases.
#ifndef TARSIA_TOOLS_BENCH_KERNEL_H_
#define TARSIA_TOOLS_BENCH_KERNEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/handles.h"

namespace tarsia::tools::bench {

// y[m, N] = x[m, K] * w[K, N] by matmul.tsa, in small integers, so that every sum is exact: w holds
// codes below 4 (2 and 1 bits: below 2), x is 0 or 1, with at most 32 ones in a row.
class MatmulKernel {
 public:
  MatmulKernel(std::string type, int bits, int64_t m, int64_t n, int64_t k)
      : type_(std::move(type)), bits_(bits), m_(m), n_(n), k_(k) {}
  MatmulKernel(const MatmulKernel&) = delete;
  MatmulKernel& operator=(const MatmulKernel&) = delete;
  ~MatmulKernel();

  // "" or what went wrong.
  std::string Prepare(const char* device);
  std::string Run();
  // Runs after poisoning y, and compares every element with a plain integer product.
  std::string Verify();
  // The bytes of x, w and y.
  [[nodiscard]] uint64_t bytes() const;

 private:
  std::string Allocate(uint64_t bytes, void** out);
  [[nodiscard]] int Code(int64_t k, int64_t n) const;
  [[nodiscard]] int Activation(int64_t i, int64_t k) const;
  [[nodiscard]] std::vector<uint8_t> PackedWeights() const;
  [[nodiscard]] std::string Compare(const std::vector<uint16_t>& y) const;

  const std::string type_;
  const int bits_;
  const int64_t m_, n_, k_;
  Handle<tarsia_device> device_;
  Handle<tarsia_plan> plan_;
  std::vector<void*> memory_;
  std::vector<tarsia_arg> args_;
  void* workspace_ = nullptr;
};

}  // namespace tarsia::tools::bench

#endif  // TARSIA_TOOLS_BENCH_KERNEL_H_
