// Whole algorithms of a block or a thread: normalisations, sorts, merges, sparse products,
// clusters of points, stencils, a matrix product.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"

namespace tarsia::cuda_kernels {
namespace {

void Softmax(Bench& bench) {
  const int rows = 5;
  const int columns = 77;
  const std::vector<float> x = Floats(rows * columns, 1);
  std::vector<double> expected(x.size());
  std::vector<double> bound(x.size());
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += std::exp(static_cast<double>(x[row * columns + i]));
    for (int i = 0; i < columns; ++i) {
      const int at = row * columns + i;
      expected[at] = std::exp(static_cast<double>(x[at])) / sum;
      // The exponentials are good to 2 ulp of f32 and an argument's rounding (at most 8 * 1.44 by
      // 2^-24), the sum to as many ulps as it has terms.
      bound[at] = expected[at] * (columns + 40) * 0x1p-23;
    }
  }
  const uint64_t at = bench.Put(x);
  const uint64_t y = bench.Room<float>(x.size());
  bench.Launch("softmax", {{rows}, {64}, 8}, Arguments(at, y, columns));
  bench.ExpectNear<float>(y, expected, bound);
  const uint64_t online = bench.Room<float>(x.size());
  bench.Launch("softmax_online", {{2}, {32, 3}}, Arguments(at, online, rows, columns));
  bench.ExpectNear<float>(online, expected, bound);
}

void Layernorm(Bench& bench) {
  const int rows = 3;
  const int columns = 150;
  const std::vector<float> x = Floats(rows * columns, 1);
  const std::vector<float> weights = Floats(2 * columns, 2);  // scale and shift by turns
  std::vector<double> expected(x.size());
  std::vector<double> bound(x.size());
  for (int row = 0; row < rows; ++row) {
    const auto begin = x.begin() + row * columns;
    const double mean = std::accumulate(begin, begin + columns, 0.0) / columns;
    double squares = 0;
    for (int i = 0; i < columns; ++i) squares += std::pow(static_cast<double>(begin[i]) - mean, 2);
    const double scale = 1 / std::sqrt(squares / columns + 1e-5);
    for (int i = 0; i < columns; ++i) {
      const auto w = static_cast<double>(weights[2 * i]);
      const auto shift = static_cast<double>(weights[2 * i + 1]);
      const int at = row * columns + i;
      expected[at] = (static_cast<double>(begin[i]) - mean) * scale * w + shift;
      // Some sixty merges of numbers up to 8, each with a handful of roundings.
      bound[at] = 300 * 0x1p-24 * (8 * scale * std::abs(w) + std::abs(shift));
    }
  }
  const uint64_t y = bench.Room<float>(x.size());
  bench.Launch("layernorm", {{rows}, {96}},
               Arguments(bench.Put(x), bench.Put(weights), y, columns));
  bench.ExpectNear<float>(y, expected, bound);
}

void Bitonic(Bench& bench) {
  auto keys = Wholes<uint32_t>(512, 1, -1000000, 1000000);
  const uint64_t at = bench.Put(keys);
  bench.Launch("bitonic", {{2}, {128}}, Arguments(at));
  std::sort(keys.begin(), keys.begin() + 256);
  std::sort(keys.begin() + 256, keys.end());
  bench.Expect(at, keys);
  auto few = Wholes<int32_t>(64, 2, -1000, 1000);
  const uint64_t at_few = bench.Put(few);
  bench.Launch("bitonic_warp", {{1}, {64}}, Arguments(at_few));
  std::sort(few.begin(), few.begin() + 32);
  std::sort(few.begin() + 32, few.end());
  bench.Expect(at_few, few);
}

void RadixSort(Bench& bench) {
  auto keys = Wholes<uint32_t>(256, 1, 0, 0xFFF);
  uint64_t from = bench.Put(keys);
  for (int shift = 0; shift < 12; shift += 4) {
    const uint64_t to = bench.Room<uint32_t>(keys.size());
    bench.Launch("radix_pass", {{1}, {64}}, Arguments(from, to, shift));
    if (shift == 4) {
      std::stable_sort(keys.begin(), keys.end(),
                       [](uint32_t a, uint32_t b) { return (a & 0xFF) < (b & 0xFF); });
      bench.Expect(to, keys);
    }
    if (bench.faulty()) return;
    from = to;
  }
  std::sort(keys.begin(), keys.end());
  bench.Expect(from, keys);
}

void MergePath(Bench& bench) {
  auto a = Wholes<int32_t>(120, 1, 0, 300);
  auto b = Wholes<int32_t>(128, 2, 0, 250);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<int32_t> expected(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
  const uint64_t out = bench.Room<int32_t>(expected.size());
  bench.Launch("merge", {{2}, {32}}, Arguments(bench.Put(a), 120, bench.Put(b), 128, out));
  bench.Expect(out, expected);
}

void Spmv(Bench& bench) {
  const int rows = 32;
  const int columns = 90;
  Random random(1);
  std::vector<int32_t> begin = {0};
  std::vector<int32_t> column;
  for (int row = 0; row < rows; ++row) {
    for (int c = 0; c < columns; ++c) {
      if (random.Whole(0, row % 5 + 1) == 0) column.push_back(c);
    }
    begin.push_back(static_cast<int32_t>(column.size()));
  }
  const std::vector<float> value = Floats(column.size(), 2);
  const std::vector<float> x = Floats(columns, 3);
  std::vector<float> expected(rows);  // products of 12 bits each: every sum is exact
  for (int row = 0; row < rows; ++row) {
    for (int i = begin[row]; i < begin[row + 1]; ++i) expected[row] += value[i] * x[column[i]];
  }
  const uint64_t at_begin = bench.Put(begin);
  const uint64_t at_column = bench.Put(column);
  const uint64_t at_value = bench.Put(value);
  const uint64_t at_x = bench.Put(x);
  for (const auto& [entry, grid] : {std::pair("spmv_warp", 8U), std::pair("spmv_thread", 1U)}) {
    const uint64_t y = bench.Room<float>(rows);
    bench.Launch(entry, {{grid}, {128}}, Arguments(at_begin, at_column, at_value, at_x, y, rows));
    bench.Expect(y, expected);
  }
}

void Kmeans(Bench& bench) {
  const int n = 150;
  const int k = 5;
  const std::vector<float> points = Floats(3 * n, 1);
  const std::vector<float> centres = Floats(3 * k, 2);
  std::vector<int32_t> nearest(n);
  std::vector<float> sums(3 * k);
  std::vector<int32_t> counts(k);
  for (int i = 0; i < n; ++i) {
    float least = std::numeric_limits<float>::infinity();
    for (int c = 0; c < k; ++c) {
      float distance = 0;  // exact
      for (int d = 0; d < 3; ++d) {
        const float difference = points[3 * i + d] - centres[3 * c + d];
        distance += difference * difference;
      }
      if (distance >= least) continue;
      least = distance;
      nearest[i] = c;
    }
    ++counts[nearest[i]];
    for (int d = 0; d < 3; ++d) sums[3 * nearest[i] + d] += points[3 * i + d];
  }
  const uint64_t at_nearest = bench.Room<int32_t>(n);
  const uint64_t at_sums = bench.Put(std::vector<float>(3 * k, 0.0F));
  const uint64_t at_counts = bench.Put(std::vector<int32_t>(k, 0));
  bench.Launch(
      "assign", {{3}, {64}},
      Arguments(bench.Put(points), n, bench.Put(centres), k, at_nearest, at_sums, at_counts));
  bench.Expect(at_nearest, nearest);
  bench.Expect(at_sums, sums);
  bench.Expect(at_counts, counts);
}

void Nearest(Bench& bench) {
  const int n = 75;
  const int count = 40;
  const std::vector<float> points = Floats(4 * n, 1);
  const std::vector<float> queries = Floats(4 * count, 2);
  std::vector<float> distances;
  std::vector<int32_t> indices;
  for (int q = 0; q < count; ++q) {
    std::vector<std::pair<float, int32_t>> all;
    for (int i = 0; i < n; ++i) {
      float distance = 0;  // exact
      for (int d = 0; d < 4; ++d) {
        const float difference = points[4 * i + d] - queries[4 * q + d];
        distance += difference * difference;
      }
      all.emplace_back(distance, i);
    }
    std::sort(all.begin(), all.end());
    for (int k = 0; k < 3; ++k) {
      distances.push_back(all[k].first);
      indices.push_back(all[k].second);
    }
  }
  const uint64_t at_distances = bench.Room<float>(distances.size());
  const uint64_t at_indices = bench.Room<int32_t>(indices.size());
  bench.Launch(
      "nearest", {{1}, {64}},
      Arguments(bench.Put(points), n, bench.Put(queries), count, at_distances, at_indices));
  bench.Expect(at_distances, distances);
  bench.Expect(at_indices, indices);
}

void Stencils(Bench& bench) {
  const int n = 150;
  const auto line = Wholes<int32_t>(n, 1, -100, 100);
  std::vector<int32_t> sums(n);
  for (int i = 0; i < n; ++i) {
    for (int k = -3; k <= 3; ++k) {
      if (i + k >= 0 && i + k < n) sums[i] += (4 - std::abs(k)) * line[i + k];
    }
  }
  const uint64_t at_sums = bench.Room<int32_t>(n);
  bench.Launch("stencil1d", {{3}, {64}}, Arguments(bench.Put(line), at_sums, n));
  bench.Expect(at_sums, sums);

  const int width = 37;
  const int height = 20;
  const std::vector<float> plane = Floats(width * height, 2);
  std::vector<float> smooth = plane;
  for (int y = 1; y < height - 1; ++y) {
    for (int x = 1; x < width - 1; ++x) {
      const float* p = &plane[y * width + x];
      smooth[y * width + x] = 0.5F * *p + 0.125F * (p[-1] + p[1] + p[-width] + p[width]);
    }
  }
  const uint64_t at_smooth = bench.Room<float>(plane.size());
  bench.Launch("stencil2d", {{3, 3}, {16, 8}},
               Arguments(bench.Put(plane), at_smooth, width, height));
  bench.Expect(at_smooth, smooth);

  const int nx = 20;
  const int ny = 11;
  const int nz = 5;
  const std::vector<float> box = Floats(nx * ny * nz, 3);
  const auto at = [&](int x, int y, int z) {
    const bool inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
    return inside ? box[(z * ny + y) * nx + x] : 0.0F;
  };
  std::vector<float> laplace;
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        laplace.push_back(at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) +
                          at(x, y, z - 1) + at(x, y, z + 1) - 6 * at(x, y, z));
      }
    }
  }
  const uint64_t at_laplace = bench.Room<float>(box.size());
  bench.Launch("stencil3d", {{2, 2}, {16, 8}}, Arguments(bench.Put(box), at_laplace, nx, ny, nz));
  bench.Expect(at_laplace, laplace);
}

void Sgemm(Bench& bench) {
  const int n = 45;
  const std::vector<float> a = Floats(n * n, 1);
  const std::vector<float> b = Floats(n * n, 2);
  std::vector<float> expected(n * n);  // every sum is exact
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      for (int k = 0; k < n; ++k) expected[row * n + column] += a[row * n + k] * b[k * n + column];
    }
  }
  const uint64_t at_a = bench.Put(a);
  const uint64_t at_b = bench.Put(b);
  for (const char* entry : {"sgemm", "sgemm_double"}) {
    const uint64_t c = bench.Room<float>(n * n);
    bench.Launch(entry, {{2, 2}, {32, 8}}, Arguments(at_a, at_b, c, n));
    bench.Expect(c, expected);
  }
}

constexpr Case kCases[] = {
    {"softmax", Softmax},      {"layernorm", Layernorm},  {"bitonic", Bitonic},
    {"radix_sort", RadixSort}, {"merge_path", MergePath}, {"spmv", Spmv},
    {"kmeans", Kmeans},        {"nearest", Nearest},      {"stencils", Stencils},
    {"sgemm", Sgemm},
};

}  // namespace

std::span<const Case> AlgorithmCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
