// The order in which the blocks of a launch begin: that of their numbers, or another for each seed.
#ifndef TARSIA_PTX_MACHINE_BLOCK_ORDER_H_
#define TARSIA_PTX_MACHINE_BLOCK_ORDER_H_

#include <bit>
#include <cstdint>

namespace tarsia::ptx {

// A permutation of the numbers below `count`, without a table: four rounds of a Feistel network on
// the next larger square of a power of two, again and again until the result is below `count`.
class BlockOrder {
 public:
  BlockOrder(uint64_t count, uint64_t seed)
      : count_(count),
        seed_(seed),
        half_((static_cast<int>(std::bit_width(count | 1)) + 1) / 2),
        mask_((uint64_t{1} << half_) - 1) {}

  // The number of the block that begins as the `at`-th, where `at` is below `count`.
  [[nodiscard]] uint64_t operator[](uint64_t at) const {
    if (seed_ == 0) return at;
    do {
      at = Permute(at);
    } while (at >= count_);
    return at;
  }

 private:
  [[nodiscard]] uint64_t Permute(uint64_t at) const {
    uint64_t left = at >> half_;
    uint64_t right = at & mask_;
    for (uint64_t round = 1; round <= 4; ++round) {
      const uint64_t next = left ^ (Mix(right + round * seed_ + round) & mask_);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }
  static uint64_t Mix(uint64_t x) {  // the finaliser of SplitMix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

  uint64_t count_;
  uint64_t seed_;
  int half_;
  uint64_t mask_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_BLOCK_ORDER_H_
