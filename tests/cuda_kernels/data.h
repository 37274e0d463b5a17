// Numbers for the cases: repeatable, of moderate size, with both signs.
#ifndef TARSIA_TESTS_CUDA_KERNELS_DATA_H_
#define TARSIA_TESTS_CUDA_KERNELS_DATA_H_

#include <cstdint>
#include <vector>

namespace tarsia::cuda_kernels {

// Words that look random, by a linear congruence and a mix of its bits.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint32_t Word() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<uint32_t>(state_ >> 33) ^ static_cast<uint32_t>(state_ >> 18);
  }
  // A whole number from `low` to `high`, both included.
  int Whole(int low, int high) {
    const int64_t count = int64_t{high} - low + 1;
    return static_cast<int>(low + static_cast<int64_t>(Word() % static_cast<uint64_t>(count)));
  }

 private:
  uint64_t state_;
};

// Multiples of 1/64 between -4 and 4: exact in every type from f16 on.
inline std::vector<float> Floats(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Whole(-256, 256)) / 64;
  return values;
}

// Whole numbers as some type.
template <typename T>
std::vector<T> Wholes(size_t count, uint64_t seed, int low, int high) {
  Random random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random.Whole(low, high));
  return values;
}

}  // namespace tarsia::cuda_kernels

#endif  // TARSIA_TESTS_CUDA_KERNELS_DATA_H_
