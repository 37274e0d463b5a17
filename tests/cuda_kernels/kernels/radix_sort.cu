// One pass of a radix sort by four bits, stable, in one block: counts of each digit by thread, a
// prefix sum over digits and threads, and the keys to their places.

constexpr int kThreads = 64;
constexpr int kEach = 4;
constexpr int kDigits = 16;

extern "C" __global__ void radix_pass(const unsigned* in, unsigned* out, int shift) {
  __shared__ unsigned short counts[kDigits][kThreads];
  __shared__ unsigned totals[kDigits];
  unsigned keys[kEach];
  for (int d = 0; d < kDigits; ++d) counts[d][threadIdx.x] = 0;
  for (int i = 0; i < kEach; ++i) {
    keys[i] = in[threadIdx.x * kEach + i];
    ++counts[keys[i] >> shift & (kDigits - 1)][threadIdx.x];
  }
  __syncthreads();
  if (threadIdx.x < kDigits) {
    unsigned sum = 0;
    for (int t = 0; t < kThreads; ++t) {
      const unsigned count = counts[threadIdx.x][t];
      counts[threadIdx.x][t] = sum;
      sum += count;
    }
    // finds FAULT_MISSING_SYNCWARP: race
    totals[threadIdx.x] = sum;
  }
#ifndef FAULT_MISSING_SYNCWARP
  // One warp wrote the totals, and reads them again.
  __syncwarp();
#endif
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (int d = 0; d < kDigits; ++d) {
      // finds FAULT_MISSING_SYNCWARP: race
      const unsigned count = totals[d];
      // finds FAULT_MISSING_SYNCWARP: race
      totals[d] = sum;
      sum += count;
    }
  }
  __syncthreads();
#ifdef FAULT_WIDE_DIGIT
  const int digits = 2 * kDigits;
#else
  const int digits = kDigits;
#endif
  for (int i = 0; i < kEach; ++i) {
    const unsigned digit = keys[i] >> shift & (digits - 1);
    // finds FAULT_WIDE_DIGIT: out_of_bounds
    // may find FAULT_WIDE_DIGIT: race
    const unsigned place = counts[digit][threadIdx.x]++;
    // finds FAULT_WIDE_DIGIT: out_of_bounds
    // may find FAULT_WIDE_DIGIT: uninitialised
    // may find FAULT_WIDE_DIGIT: race
    out[totals[digit] + place] = keys[i];
  }
}
