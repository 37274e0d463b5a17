// Help for the tests of vm/host: every vector unit of this machine in turn, random codes, and
// arrays of containers followed by a guard.
#ifndef TARSIA_TESTS_UNIT_VM_HOST_TESTING_H_
#define TARSIA_TESTS_UNIT_VM_HOST_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "dtypes/bulk.h"
#include "dtypes/dtype.h"
#include "dtypes/simd.h"

namespace tarsia::host {

// Runs the test once with each vector unit that this machine has, plain code included.
template <typename Function>
void ForEachTarget(const Function& test) {
  const Simd before = ChosenSimd().simd;
  for (const SimdRow& row : AllSimd()) {
    if (!HasSimd(row.simd)) continue;
    SCOPED_TRACE(row.title);
    UseSimd(row.simd);
    test();
  }
  UseSimd(before);
}

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t Between(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(Next() % static_cast<uint64_t>(high - low + 1));
  }

 private:
  uint64_t state_;
};

// n codes of a type in containers, and eight more bytes that must not be written.
class Array {
 public:
  Array(DType type, size_t n) : type_(type), n_(n), words_((Bytes() + 7) / 8 + 1) {
    std::memset(data(), 0xA5, words_.size() * 8);
  }
  Array(DType type, const std::vector<uint64_t>& codes) : Array(type, codes.size()) {
    for (size_t i = 0; i < n_; ++i) StoreContainer(type_, data(), i, codes[i]);
  }
  static Array OfDoubles(DType type, const std::vector<double>& values) {
    Array array(type, values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      StoreContainer(type, array.data(), i, EncodeFromDouble(type, values[i]));
    }
    return array;
  }

  void* data() { return words_.data(); }
  [[nodiscard]] const void* data() const { return words_.data(); }
  [[nodiscard]] size_t size() const { return n_; }
  uint64_t operator[](size_t i) const { return LoadContainer(type_, data(), i); }
  [[nodiscard]] double Value(size_t i) const { return DecodeToDouble(type_, (*this)[i]); }
  [[nodiscard]] bool GuardIsWhole() const {
    const auto* bytes = static_cast<const uint8_t*>(data());
    for (size_t i = Bytes(); i < words_.size() * 8; ++i) {
      if (bytes[i] != 0xA5) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] size_t Bytes() const { return n_ * static_cast<size_t>(ContainerBytes(type_)); }

  DType type_;
  size_t n_;
  std::vector<uint64_t> words_;
};

// Whether two codes are one value: the same code, or two NaNs.
inline bool SameFloat(DType type, uint64_t a, uint64_t b) {
  const double x = DecodeToDouble(type, a);
  const double y = DecodeToDouble(type, b);
  return a == b || (x != x && y != y);
}

}  // namespace tarsia::host

#endif  // TARSIA_TESTS_UNIT_VM_HOST_TESTING_H_
