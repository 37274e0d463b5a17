// Boxes of matrices by tensor maps: in and out, to all blocks of a cluster, and for wgmma.
#include "ptx/memory/tensor_map.h"
#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"
#include "tests/cuda_kernels/numbers.h"
#include "tests/cuda_kernels/product.h"

namespace tarsia::cuda_kernels {
namespace {

// A CUtensorMap of cuda.h as a kernel argument.
struct alignas(128) Map {
  std::array<uint8_t, ptx::TensorMap::kBytes> bytes{};
};

// A matrix of `rows` and `columns` in rows of `pitch` elements.
struct Matrix {
  uint64_t address = 0;
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t pitch = 0;
};

Map MapOf(const Matrix& of, ptx::MapType type, uint64_t element_bytes, uint32_t box_rows,
          uint32_t box_columns, ptx::MapSwizzle swizzle = ptx::MapSwizzle::kNone) {
  ptx::TensorMap::Tiles tiles;
  tiles.type = type;
  tiles.rank = 2;
  tiles.address = of.address;
  tiles.sizes = {of.columns, of.rows, 1, 1, 1};
  tiles.strides = {of.pitch * element_bytes};
  tiles.box = {box_columns, box_rows, 1, 1, 1};
  tiles.swizzle = swizzle;
  const auto map = ptx::TensorMap::Tiled(tiles);
  EXPECT_TRUE(map.ok()) << (map.ok() ? "" : map.error().message);
  return map.ok() ? Map{map->Encode()} : Map{};
}

void TensorCopy(Bench& bench) {
  const int rows = 37;  // both matrices end within a tile, and the second is larger
  const int columns = 50;
  const int pitch = 52;
  const int out_rows = 42;
  const int out_columns = 60;
  const int out_pitch = 64;
  const auto in = Wholes<int32_t>(rows * pitch, 1, -1000, 1000);
  std::vector<int32_t> expected(48 * out_pitch, -1);
  const uint64_t out = bench.Put(expected);
  for (int y = 0; y < out_rows; ++y) {
    for (int x = 0; x < out_columns; ++x) {
      const int value = y < rows && x < columns ? in[y * pitch + x] : 0;
      expected[y * out_pitch + x] = 2 * value + 1;
    }
  }
  const Map from = MapOf({bench.Put(in), rows, columns, pitch}, ptx::MapType::kS32, 4, 16, 32);
  const Map to = MapOf({out, out_rows, out_columns, out_pitch}, ptx::MapType::kS32, 4, 16, 32);
  bench.Launch("twice_and_one", {{3}, {64}}, Arguments(from, to, rows, 2));
  bench.Expect(out, expected);
}

void Multicast(Bench& bench) {
  const int rows = 76;  // the last of 5 tiles has 12
  const auto in = Wholes<int32_t>(rows * 32, 1, -1000, 1000);
  std::vector<int32_t> sums(2 * 32);
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < rows * 32; ++i) {
      sums[rank * 32 + i % 32] += (i / 32 % 16 + 1 + 100 * rank) * in[i];
    }
  }
  const uint64_t out = bench.Room<int32_t>(sums.size());
  const Map map = MapOf({bench.Put(in), rows, 32, 32}, ptx::MapType::kS32, 4, 8, 32);
  bench.Launch("column_sums", {{2}, {32}}, Arguments(map, out, 5));
  bench.Expect(out, sums);
}

void TensorGemm(Bench& bench) {
  const int m = 80;  // m and k end within a tile
  const int n = 128;
  const int k = 304;
  const auto a = Wholes<float>(m * k, 1, -8, 8);
  const auto b = Wholes<float>(n * k, 2, -8, 8);
  const auto map_of = [](uint64_t address, uint64_t rows) {
    return MapOf({address, rows, k, k}, ptx::MapType::kF16, 2, 64, 64, ptx::MapSwizzle::k128B);
  };
  const Map map_a = map_of(bench.Put(HalfBits(a)), m);
  const Map map_b = map_of(bench.Put(HalfBits(b)), n);
  const uint64_t d = bench.Room<float>(m * n);
  constexpr uint64_t kStageBytes = uint64_t{2} * 64 * 64 * 2;
  bench.Launch("tensor_gemm", {{n / 64, 2}, {256}, 3 * kStageBytes},
               Arguments(map_a, map_b, d, m, n, k));
  bench.Expect(d, ProductOfRows(a, b, m, n, k));
}

constexpr Case kCases[] = {
    {"tensor_copy", TensorCopy},
    {"multicast", Multicast},
    {"tensor_gemm", TensorGemm},
};

}  // namespace

std::span<const Case> TensorCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
