// Philox4x32-10, written from the description in Salmon et al., 2011, section 4 and table 2.
#include <algorithm>

#include "vm/host/elementwise.h"

namespace tarsia::host {
namespace {

constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kKeyStep0 = 0x9E3779B9;  // of the golden ratio
constexpr uint32_t kKeyStep1 = 0xBB67AE85;  // of sqrt(3) - 1
constexpr int kRounds = 10;

}  // namespace

void PhiloxBlock(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * c0;
    const uint64_t product1 = kMultiplier1 * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(product1);
    c3 = static_cast<uint32_t>(product0);
    k0 += kKeyStep0;
    k1 += kKeyStep1;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

void Philox(uint64_t seed, uint64_t offset, uint32_t* out, size_t n) {
  const uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  size_t done = 0;
  while (done < n) {
    const uint64_t word = offset + done;
    const uint64_t block = word / 4;
    const uint32_t counter[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                 0, 0};
    uint32_t words[4];
    PhiloxBlock(counter, key, words);
    const size_t skip = word % 4;
    const size_t count = std::min(4 - skip, n - done);
    std::copy_n(words + skip, count, out + done);
    done += count;
  }
}

}  // namespace tarsia::host
