// Merges two sorted arrays: each thread finds by bisection where its part begins in both, then
// merges as many numbers as every other thread.

constexpr int kEach = 5;

extern "C" __global__ void merge(const int* a, int a_count, const int* b, int b_count, int* out) {
  const int total = a_count + b_count;
  const int begin = min(total, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kEach);
  int low = max(0, begin - b_count);
  int high = min(begin, a_count);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[begin - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int i = low;
  int j = begin - low;
  for (int k = begin; k < min(total, begin + kEach); ++k) {
#ifdef FAULT_NO_END_OF_B
    // finds FAULT_NO_END_OF_B: out_of_bounds
    // may find FAULT_NO_END_OF_B: uninitialised
    const bool from_a = i < a_count && a[i] <= b[j];
#else
    const bool from_a = i < a_count && (j >= b_count || a[i] <= b[j]);
#endif
    // may find FAULT_NO_END_OF_B: out_of_bounds
    // may find FAULT_NO_END_OF_B: uninitialised
    out[k] = from_a ? a[i++] : b[j++];
  }
}
