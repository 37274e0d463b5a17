// Philox4x32-10 against the known answers published with the generator, and its numbering.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "vm/host/elementwise.h"

namespace tarsia::host::host_random_test {
namespace {

struct KnownAnswer {
  uint32_t counter[4];
  uint32_t key[2];
  uint32_t words[4];
};

// Zeros, ones, and digits of pi: the three vectors published for philox4x32-10.
constexpr KnownAnswer kKnownAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(HostPhilox, KnownAnswers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    uint32_t words[4] = {};
    PhiloxBlock(known.counter, known.key, words);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(words[i], known.words[i]);
  }
}

TEST(HostPhilox, WordsAreNumberedFromTheOffset) {
  const uint64_t seed = 0x123456789ABCDEF0u;
  const uint32_t key[2] = {0x9ABCDEF0u, 0x12345678u};
  std::vector<uint32_t> all;
  for (uint64_t block = 0x1FFFFFFFEu; block < 0x200000004u; ++block) {
    const uint32_t counter[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                 0, 0};
    uint32_t words[4];
    PhiloxBlock(counter, key, words);
    all.insert(all.end(), words, words + 4);
  }
  for (size_t first = 0; first < 6; ++first) {
    for (size_t count = 0; count + first <= all.size(); ++count) {
      std::vector<uint32_t> out(count + 1, 0xA5A5A5A5u);
      Philox(seed, uint64_t{0x1FFFFFFFEu} * 4 + first, out.data(), count);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], all[first + i]);
      ASSERT_EQ(out[count], 0xA5A5A5A5u);
    }
  }
}

}  // namespace
}  // namespace tarsia::host::host_random_test
