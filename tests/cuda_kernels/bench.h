// The tools of a case to run its kernels: a separate module on the emulator, arrays, launches and
// comparisons. The faulty twin runs the same case without comparisons.
#ifndef TARSIA_TESTS_CUDA_KERNELS_BENCH_H_
#define TARSIA_TESTS_CUDA_KERNELS_BENCH_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptx/machine/emulator.h"

namespace tarsia::cuda_kernels {

// The parameter block of a kernel: values one after the other, each at a multiple of its alignment.
class Arguments {
 public:
  template <typename... T>
  explicit Arguments(const T&... values) {
    (Add(values), ...);
  }
  template <typename T>
  void Add(const T& value) {
    bytes_.resize((bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const auto* from = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

struct Shape {
  ptx::Dim3 grid;
  ptx::Dim3 block;
  uint64_t dynamic_shared = 0;
};

// The order in which blocks begin, and the number of host threads.
struct Schedule {
  int host_threads = 1;
  uint64_t seed = 0;
};

class Bench {
 public:
  // `text` is PTX of the file `name`; `faulty` says that a twin runs.
  Bench(const std::string& name, const std::string& text, bool faulty, const Schedule& schedule);

  [[nodiscard]] bool ok() const { return image_ != nullptr; }
  ptx::Memory& memory() { return memory_; }

  // An array with values, and an unwritten one.
  template <typename T>
  uint64_t Put(const std::vector<T>& values) {
    const uint64_t address = Room<T>(values.size());
    Write(address, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
    return address;
  }
  template <typename T>
  uint64_t Room(size_t count) {
    return Allocate(count * sizeof(T));
  }
  template <typename T>
  std::vector<T> Get(uint64_t address, size_t count) {
    std::vector<T> values(count);
    if (!faulty_) Read(address, {reinterpret_cast<uint8_t*>(values.data()), count * sizeof(T)});
    return values;
  }
  // The address of a __device__ or __constant__ variable.
  uint64_t Symbol(const std::string& name);

  void Launch(const std::string& entry, const Shape& shape, const Arguments& arguments);

  // Compares an array bit for bit.
  template <typename T>
  void Expect(uint64_t address, const std::vector<T>& expected) {
    if (faulty_) return;
    const std::vector<T> got = Get<T>(address, expected.size());
    size_t wrong = 0;
    for (size_t i = 0; i < got.size() && wrong < 5; ++i) {
      if (std::memcmp(&got[i], &expected[i], sizeof(T)) == 0) continue;
      ++wrong;
      ADD_FAILURE() << "element " << i << " is " << got[i] << ", not " << expected[i];
    }
  }
  // Compares each element with a bound of its error.
  template <typename T>
  void ExpectNear(uint64_t address, const std::vector<double>& expected,
                  const std::vector<double>& bound) {
    if (faulty_) return;
    const std::vector<T> got = Get<T>(address, expected.size());
    size_t wrong = 0;
    for (size_t i = 0; i < got.size() && wrong < 5; ++i) {
      if (std::abs(static_cast<double>(got[i]) - expected[i]) <= bound[i]) continue;
      ++wrong;
      ADD_FAILURE() << "element " << i << " is " << got[i] << ", not " << expected[i] << " +- "
                    << bound[i];
    }
  }
  [[nodiscard]] bool faulty() const { return faulty_; }
  // The findings and the printed text of all launches.
  [[nodiscard]] const std::vector<ptx::Finding>& findings() const { return findings_; }
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  uint64_t Allocate(size_t bytes);
  void Write(uint64_t address, std::span<const uint8_t> bytes);
  void Read(uint64_t address, std::span<uint8_t> bytes);

  Schedule schedule_;
  bool faulty_;
  ptx::Memory memory_;
  std::unique_ptr<ptx::Image> image_;
  std::vector<ptx::Finding> findings_;
  std::string output_;
};

}  // namespace tarsia::cuda_kernels

#endif  // TARSIA_TESTS_CUDA_KERNELS_BENCH_H_
