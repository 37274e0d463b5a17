// vm/host/atomic.h: each operation once, and sums of many threads.
#include "vm/host/atomic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <thread>
#include <vector>

#include "dtypes/convert.h"

namespace tarsia::host::host_atomic_test {
namespace {

struct Case {
  Opcode op;
  Opcode reduction;
  DType type;
  uint64_t memory, value, after;
};

TEST(HostAtomic, EveryOperationReturnsWhatStoodThere) {
  const uint64_t minus_one = ~uint64_t{0};
  const Case cases[] = {
      {Opcode::kAtomicAdd, Opcode::kRedAdd, kI32, 0x7FFFFFFF, 1, 0x80000000},
      {Opcode::kAtomicAdd, Opcode::kRedAdd, kU64, minus_one, 2, 1},
      {Opcode::kAtomicAdd, Opcode::kRedAdd, kF32, std::bit_cast<uint32_t>(1.5f),
       std::bit_cast<uint32_t>(2.25f), std::bit_cast<uint32_t>(3.75f)},
      {Opcode::kAtomicAdd, Opcode::kRedAdd, kF64, std::bit_cast<uint64_t>(1.5),
       std::bit_cast<uint64_t>(2.25), std::bit_cast<uint64_t>(3.75)},
      {Opcode::kAtomicAdd, Opcode::kRedAdd, kF16, 0x6800, 0x3C00, 0x6800},   // 2048 + 1 = 2048
      {Opcode::kAtomicAdd, Opcode::kRedAdd, kBF16, 0x3F80, 0x3F80, 0x4000},  // 1 + 1 = 2
      {Opcode::kAtomicMin, Opcode::kRedMin, kI32, 0xFFFFFFFF, 1, 0xFFFFFFFF},
      {Opcode::kAtomicMin, Opcode::kRedMin, kU32, 0xFFFFFFFF, 1, 1},
      {Opcode::kAtomicMax, Opcode::kRedMax, kI64, minus_one, 1, 1},
      {Opcode::kAtomicMax, Opcode::kRedMax, kU64, minus_one, 1, minus_one},
      {Opcode::kAtomicAnd, Opcode::kRedAnd, kU32, 0xC, 0xA, 0x8},
      {Opcode::kAtomicOr, Opcode::kRedOr, kU32, 0xC, 0xA, 0xE},
      {Opcode::kAtomicXor, Opcode::kRedXor, kI64, 0xC, 0xA, 0x6},
      {Opcode::kAtomicExch, Opcode::kAtomicExch, kI32, 5, 9, 9},
  };
  for (const Case& c : cases) {
    const size_t bytes = c.type.bits / 8;
    for (const Opcode op : {c.op, c.reduction}) {
      for (const size_t shift : {size_t{0}, size_t{1}}) {  // aligned, and not
        alignas(8) uint8_t memory[24];
        std::memset(memory, 0xA5, sizeof(memory));
        std::memcpy(memory + 8 + shift, &c.memory, bytes);
        EXPECT_EQ(AtomicRmw(op, c.type, memory + 8 + shift, c.value), c.memory);
        uint64_t after = 0;
        std::memcpy(&after, memory + 8 + shift, bytes);
        EXPECT_EQ(after, c.after) << Row(op).mnemonic << " " << DTypeName(c.type);
        EXPECT_EQ(memory[7 + shift], 0xA5);
        EXPECT_EQ(memory[8 + shift + bytes], 0xA5);
      }
    }
  }
}

TEST(HostAtomic, FlushesSubnormalsWhereGlobalMemoryDoes) {
  struct Sum {
    uint32_t memory, value, kept, flushed;
  };
  const Sum sums[] = {
      {0x00000001, 0x00000001, 0x00000002, 0x00000000},  // subnormal operands
      {0x80000001, 0x80000001, 0x80000002, 0x80000000},
      {0x00800001, 0x80800000, 0x00000001, 0x00000000},  // a subnormal sum of normal operands
      {0x3F800000, 0x00000001, 0x3F800000, 0x3F800000},
      {0x00800000, 0x00400000, 0x00C00000, 0x00800000},  // the operand is lost
  };
  for (const Sum& c : sums) {
    uint32_t word = c.memory;
    EXPECT_EQ(AtomicRmw(Opcode::kRedAdd, kF32, &word, c.value), c.memory);
    EXPECT_EQ(word, c.kept);
    word = c.memory;
    EXPECT_EQ(AtomicRmw(Opcode::kRedAdd, kF32, &word, c.value, Subnormals::kFlush), c.memory);
    EXPECT_EQ(word, c.flushed);
  }
}

TEST(HostAtomic, CompareAndSwap) {
  uint32_t word = 7;
  EXPECT_EQ(AtomicCas(kI32, &word, 6, 1), 7u);
  EXPECT_EQ(word, 7u);
  EXPECT_EQ(AtomicCas(kU32, &word, 7, 1), 7u);
  EXPECT_EQ(word, 1u);
  uint64_t wide = uint64_t{1} << 40;
  EXPECT_EQ(AtomicCas(kU64, &wide, uint64_t{1} << 40, 3), uint64_t{1} << 40);
  EXPECT_EQ(wide, 3u);
}

TEST(HostAtomic, RefusesWhatTheTableRefuses) {
  uint64_t word = 7;
  EXPECT_EQ(AtomicRmw(Opcode::kAtomicMin, kF32, &word, 1), 0u);
  EXPECT_EQ(AtomicRmw(Opcode::kAtomicAdd, kI8, &word, 1), 0u);
  EXPECT_EQ(AtomicRmw(Opcode::kAdd, kI32, &word, 1), 0u);
  EXPECT_EQ(AtomicCas(kF32, &word, 7, 1), 0u);
  EXPECT_EQ(word, 7u);
}

TEST(HostAtomic, NoAdditionIsLost) {
  for (DType type : {kI32, kF32, kF64, kF16}) {
    alignas(8) uint16_t memory[8] = {};
    const int each = type == kF16 ? 250 : 20000;  // f16 counts to 2048
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, type] {
        const uint64_t one = type.IsFloat() ? EncodeFromDouble(type, 1) : 1;
        // The second f16 of a word, to detect damage to its neighbour.
        for (int i = 0; i < each; ++i) AtomicRmw(Opcode::kRedAdd, type, memory + 4, one);
      });
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t code = 0;
    std::memcpy(&code, memory + 4, type.bits / 8);
    EXPECT_EQ(DecodeToDouble(type, code), 4.0 * each) << DTypeName(type);
    EXPECT_EQ(memory[3], 0);
  }
}

}  // namespace
}  // namespace tarsia::host::host_atomic_test
