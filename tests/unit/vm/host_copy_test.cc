// vm/host/copy.h against index arithmetic, one element at a time.
#include "vm/host/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/harness/tensor.h"
#include "tests/unit/vm/host_testing.h"

namespace tarsia::host::host_copy_test {
namespace {

using harness::Elements;
using harness::IndexOf;

constexpr DType kContainers[] = {kU8, kU16, kU32, kU64};

int64_t ElementOf(const std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
  int64_t element = 0;
  for (size_t d = 0; d < shape.size(); ++d) element = element * shape[d] + index[d];
  return element;
}

Array Numbered(DType type, int64_t n) {
  std::vector<uint64_t> codes;
  for (int64_t i = 0; i < n; ++i)
    codes.push_back(static_cast<uint64_t>(i * 7 + 1) & CodeMask(type));
  return {type, codes};
}

void CheckPermute(DType type, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& order) {
  const int64_t n = Elements(shape);
  const Array src = Numbered(type, n);
  Array out(type, static_cast<size_t>(n));
  Permute(ContainerBytes(type), src.data(), shape, order, out.data());
  std::vector<int64_t> out_shape;
  for (int64_t d : order) out_shape.push_back(shape[static_cast<size_t>(d)]);
  for (int64_t i = 0; i < n; ++i) {
    const std::vector<int64_t> index = IndexOf(out_shape, i);
    std::vector<int64_t> from(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) from[static_cast<size_t>(order[d])] = index[d];
    ASSERT_EQ(out[static_cast<size_t>(i)], src[static_cast<size_t>(ElementOf(from, shape))]);
  }
  EXPECT_TRUE(out.GuardIsWhole());
}

TEST(HostPermute, EveryOrder) {
  for (DType type : kContainers) {
    for (std::vector<int64_t> shape : {std::vector<int64_t>{3, 4, 2, 5},
                                       {1, 17, 1, 9},
                                       {20, 1, 33, 2},
                                       {2, 70, 65, 1},
                                       {0, 3, 4, 5}}) {
      std::vector<int64_t> order = {0, 1, 2, 3};
      do {
        CheckPermute(type, shape, order);
      } while (std::next_permutation(order.begin(), order.end()));
    }
    CheckPermute(type, {}, {});
    CheckPermute(type, {1}, {0});
    CheckPermute(type, {129, 67}, {1, 0});
  }
}

TEST(HostBroadcast, RepeatsAxesOfExtentOne) {
  for (DType type : kContainers) {
    const std::vector<int64_t> out_shape = {3, 4, 2, 5};
    for (unsigned ones = 0; ones < 16; ++ones) {
      std::vector<int64_t> shape = out_shape;
      for (size_t d = 0; d < 4; ++d) {
        if ((ones >> d & 1) != 0) shape[d] = 1;
      }
      const Array src = Numbered(type, Elements(shape));
      Array out(type, 120);
      Broadcast(ContainerBytes(type), src.data(), shape, out_shape, out.data());
      for (int64_t i = 0; i < 120; ++i) {
        std::vector<int64_t> index = IndexOf(out_shape, i);
        for (size_t d = 0; d < 4; ++d) index[d] = shape[d] == 1 ? 0 : index[d];
        ASSERT_EQ(out[static_cast<size_t>(i)], src[static_cast<size_t>(ElementOf(index, shape))]);
      }
      EXPECT_TRUE(out.GuardIsWhole());
    }
  }
}

TEST(HostCopyStrided, GathersAndScattersBoxes) {
  for (DType type : kContainers) {
    // The box [2..5) x [1..6) of a 7 x 8 array, every second column of a 10 x 20 one.
    const Array src = Numbered(type, 56);
    Array out(type, std::vector<uint64_t>(200, 0));
    const auto bytes = static_cast<size_t>(ContainerBytes(type));
    const int64_t src_strides[] = {8, 1}, dst_strides[] = {20, 2}, shape[] = {3, 5};
    CopyStrided(ContainerBytes(type), static_cast<const uint8_t*>(src.data()) + 17 * bytes,
                src_strides, out.data(), dst_strides, shape);
    for (size_t r = 0; r < 10; ++r) {
      for (size_t c = 0; c < 20; ++c) {
        const bool inside = r < 3 && c < 10 && c % 2 == 0;
        ASSERT_EQ(out[r * 20 + c], inside ? src[(r + 2) * 8 + 1 + c / 2] : 0) << r << ", " << c;
      }
    }
  }
}

TEST(HostCopyStrided, WalksBackward) {
  const Array src(kU16, {1, 2, 3, 4});
  Array out(kU16, 4);
  const int64_t back[] = {-1}, forth[] = {1}, shape[] = {4};
  CopyStrided(2, static_cast<const uint16_t*>(src.data()) + 3, back, out.data(), forth, shape);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], 4 - i);
}

}  // namespace
}  // namespace tarsia::host::host_copy_test
