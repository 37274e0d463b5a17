// A small random generator with the same numbers everywhere: splitmix64 (Steele, Lea, Flood, 2014).
#ifndef TARSIA_TESTS_RANDOM_RNG_H_
#define TARSIA_TESTS_RANDOM_RNG_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tarsia {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  // From 0 to n - 1; n > 0.
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  // From low to high, both included.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Next() % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Below(100) < static_cast<size_t>(percent); }
  template <typename T>
  const T& Of(const std::vector<T>& items) {
    return items[Below(items.size())];
  }
  template <typename T>
  T Of(std::initializer_list<T> items) {
    return items.begin()[Below(items.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_RNG_H_
