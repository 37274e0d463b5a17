// The direct formula for products of matrices.
#ifndef TARSIA_TESTS_CUDA_KERNELS_PRODUCT_H_
#define TARSIA_TESTS_CUDA_KERNELS_PRODUCT_H_

#include <vector>

namespace tarsia::cuda_kernels {

// d[m, n] = a[m, k] b[k, n], where `b_at` returns elements of b; whole numbers, so that sums are
// exact.
template <typename T, typename A, typename B>
std::vector<T> Product(const A& a, int m, int n, int k, const B& b_at) {
  std::vector<T> d(m * n);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      for (int i = 0; i < k; ++i)
        d[row * n + column] += static_cast<T>(a[row * k + i] * b_at(i, column));
    }
  }
  return d;
}

// The same for d[m, n] = a[m, k] b[n, k]'.
template <typename T>
std::vector<T> ProductOfRows(const std::vector<T>& a, const std::vector<T>& b, int m, int n,
                             int k) {
  return Product<T>(a, m, n, k, [&](int i, int column) { return b[column * k + i]; });
}

}  // namespace tarsia::cuda_kernels

#endif  // TARSIA_TESTS_CUDA_KERNELS_PRODUCT_H_
