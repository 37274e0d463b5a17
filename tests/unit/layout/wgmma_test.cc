// wgmma's operands in shared memory: every form against the offsets in the manual, descriptors bit
// by bit, and matrices that cannot be operands.
#include "layout/wgmma.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::wgmma_test {
namespace {

using testing::Ints;
using testing::Memory;

// The place of element (i, k) of an operand in bytes, from the manual: chunks of 16 bytes, and for
// each form the strides of the chunk's coordinates. `leading` and `stride` are the descriptor's
// offsets; `begin` is the start address of the step that k counts from.
int64_t ManualAddress(bool k_major, int swizzle, int64_t leading, int64_t stride, int bits,
                      int64_t begin, int64_t i, int64_t k) {
  const int64_t per_chunk = 128 / bits;
  int64_t address = begin;
  if (k_major) {
    const int64_t chunk = k / per_chunk, byte = k % per_chunk * bits / 8;
    switch (swizzle) {
      case 0:
        address += i % 8 * 16 + i / 8 * stride + chunk * leading + byte;
        break;
      default:
        address += i % 8 * swizzle + i / 8 * stride + chunk * 16 + byte;
    }
  } else {
    const int64_t chunk = i / per_chunk, byte = i % per_chunk * bits / 8;
    const int64_t per_atom = swizzle / 16;
    switch (swizzle) {
      case 0:
        address += chunk * stride + k % 8 * 16 + k / 8 * leading + byte;
        break;
      default:
        address += chunk % per_atom * 16 + chunk / per_atom * leading + k % 8 * swizzle +
                   k / 8 * stride + byte;
    }
  }
  // Bits 7 and up of the address are added, without carry, to the number of the chunk.
  if (swizzle == 32) address ^= (address >> 7 & 1) << 4;
  if (swizzle == 64) address ^= (address >> 7 & 3) << 4;
  if (swizzle == 128) address ^= (address >> 7 & 7) << 4;
  return address;
}

struct Case {
  int bits;
  const char* type;
};

TEST(WgmmaTest, EveryFormIsReadWhereTheManualSays) {
  int checked = 0;
  for (const Case& type :
       {Case{8, "f8e4m3"}, Case{8, "i8"}, Case{16, "f16"}, Case{16, "bf16"}, Case{32, "tf32"}}) {
    for (const int swizzle : {0, 32, 64, 128}) {
      for (const bool k_major : {true, false}) {
        for (const bool k_first : {false, true}) {
          for (const Ints& extents : {Ints{64, 256}, Ints{128, 128}, Ints{192, 1024}}) {
            const int64_t mn = extents[0], k = extents[1] / type.bits * 8;
            const std::string shape = k_first ? "k" + std::to_string(k) + "n" + std::to_string(mn)
                                              : "m" + std::to_string(mn) + "k" + std::to_string(k);
            const std::string name = "wgmma." + shape + "." + type.type + (k_major ? ".k" : ".mn") +
                                     std::to_string(swizzle);
            SCOPED_TRACE(name);
            const auto found = FindWgmmaLayout(name);
            ASSERT_TRUE(found.has_value());
            if (!k_major && type.bits != 16) {
              EXPECT_EQ(found->error().info, &diag::kWgmmaMajor);
              continue;
            }
            ASSERT_TRUE(found->ok()) << found->error().message;
            const MemLayout& memory = **found;
            ASSERT_EQ(memory, Memory(name));
            ASSERT_EQ(memory.SizeBits(type.bits), static_cast<uint64_t>(mn * k * type.bits));
            const auto descriptor = DescribeForWgmma(memory, type.bits, k_first ? 0 : 1);
            ASSERT_TRUE(descriptor.ok()) << descriptor.error().message;
            EXPECT_EQ(descriptor->major == WgmmaMajor::kK, k_major);
            EXPECT_EQ(descriptor->swizzle, swizzle);
            const int64_t step = 256 / type.bits;
            ASSERT_EQ(static_cast<int64_t>(descriptor->steps.size()), k / step);
            for (int64_t i = 0; i < mn; ++i) {
              for (int64_t kk = 0; kk < k; ++kk) {
                const Ints index = k_first ? Ints{kk, i} : Ints{i, kk};
                const int64_t begin = descriptor->steps[static_cast<size_t>(kk / step)];
                ASSERT_EQ(
                    memory.BitAddress(index, type.bits, 0),
                    static_cast<uint64_t>(8 * ManualAddress(k_major, swizzle, descriptor->leading,
                                                            descriptor->stride, type.bits, begin, i,
                                                            kk % step)))
                    << i << ", " << kk;
              }
            }
            ++checked;
          }
        }
      }
    }
  }
  EXPECT_EQ(checked, (5 * 4 + 2 * 4) * 2 * 3);
}

// The offsets of the canonical layouts, by hand: rows of 64 f16 are one atom wide.
TEST(WgmmaTest, DescriptorsByHand) {
  const auto k128 = DescribeForWgmma(Memory("wgmma.m64k64.f16.k128"), 16, 1);
  ASSERT_TRUE(k128.ok());
  EXPECT_EQ(k128->stride, 1024);  // 8 rows of 128 bytes
  EXPECT_EQ(k128->steps, (std::vector<int64_t>{0, 32, 64, 96}));
  // Start address 0x1000, leading 16 (not used), stride 1024, mode 1: fields without their last
  // four bits.
  EXPECT_EQ(k128->Encode(0x1000),
            uint64_t{0x100} | uint64_t{1} << 16 | uint64_t{64} << 32 | uint64_t{1} << 62);
  EXPECT_EQ(Memory("wgmma.m64k64.f16.k128"), Memory("swizzle(row_major(64, 64), 4, 3, 3)"));

  const auto none = DescribeForWgmma(Memory("wgmma.m64k16.f16.k0"), 16, 1);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->stride, 128);    // 8 rows of 16 bytes
  EXPECT_EQ(none->leading, 1024);  // 64 rows of 16 bytes
  EXPECT_EQ(none->Encode(0), uint64_t{64} << 16 | uint64_t{8} << 32);

  const auto mn64 = DescribeForWgmma(Memory("wgmma.k32n128.bf16.mn64"), 16, 0);
  ASSERT_TRUE(mn64.ok());
  EXPECT_EQ(mn64->stride, 512);    // 8 indices of k, 64 bytes each
  EXPECT_EQ(mn64->leading, 2048);  // 32 of them
  EXPECT_EQ(mn64->steps, (std::vector<int64_t>{0, 1024}));
  EXPECT_EQ(mn64->Encode(0) >> 62, 2u);
  EXPECT_EQ(DescribeForWgmma(Memory("wgmma.k32n128.bf16.mn32"), 16, 0)->Encode(0) >> 62, 3u);
}

TEST(WgmmaTest, SaysWhyNoDescriptorFits) {
  const auto error = [](const char* memory, int bits, int k_dim) {
    return DescribeForWgmma(Memory(memory), bits, k_dim).error();
  };
  EXPECT_EQ(error("row_major(64, 64)", 16, 1).message,
            "no wgmma descriptor fits; K-major with a swizzle of 128 bytes comes closest, but "
            "element [1, 0] lies at byte 128, not at 144");
  EXPECT_EQ(error("row_major(60, 64)", 16, 1).message,
            "the extent of m (or n) is 60, which is not a positive multiple of 8");
  EXPECT_EQ(error("row_major(64, 24)", 16, 1).message,
            "the extent of k is 24, which is not a positive multiple of 16");
  EXPECT_EQ(error("row_major(64, 64)", 4, 1).info, &diag::kWgmmaWidth);
  EXPECT_EQ(error("row_major(64)", 16, 0).info, &diag::kWgmmaOperand);
  EXPECT_EQ(error("row_major(1048576, 1048576)", 16, 0).info, &diag::kLayoutTooLarge);
  // Eight rows and the next eight lie further apart than the field of the descriptor can hold.
  EXPECT_EQ(
      error("strided(shape=[16, 16], modes=[2, 8, 2, 8], strides=[200000, 8, 64, 1])", 16, 1).info,
      &diag::kWgmmaFields);
  // The same bytes as a transposed operand of wider elements are none.
  EXPECT_EQ(error("wgmma.m64k64.f16.mn128", 32, 0).info, &diag::kWgmmaNoDescriptor);
}

TEST(WgmmaTest, Names) {
  EXPECT_FALSE(FindWgmmaLayout("wgmma.m64n64k16.f16.a").has_value());
  EXPECT_FALSE(FindWgmmaLayout("wgmma.m64k64.f16.x128").has_value());
  EXPECT_FALSE(FindWgmmaLayout("wgmma.m64k64.f16").has_value());
  EXPECT_FALSE(FindWgmmaLayout("wgmma.m64k99999999999999999999.f16.k0").has_value());
  EXPECT_EQ(FindWgmmaLayout("wgmma.m64k64.f16.k48")->error().info, &diag::kWgmmaSwizzle);
  EXPECT_EQ(FindWgmmaLayout("wgmma.m64k32.f16.k128")->error().info, &diag::kWgmmaExtent);
  EXPECT_EQ(FindWgmmaLayout("wgmma.m64k0.f16.k0")->error().info, &diag::kWgmmaExtent);
  EXPECT_EQ(FindWgmmaLayout("wgmma.m64k64.u4.k0")->error().info, &diag::kWgmmaWidth);
  EXPECT_EQ(FindWgmmaLayout("wgmma.m9223372036854775800k64.f16.k0")->error().info,
            &diag::kLayoutTooLarge);
}

}  // namespace
}  // namespace tarsia::wgmma_test
