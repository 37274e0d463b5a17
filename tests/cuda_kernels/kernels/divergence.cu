// Loops without end in sight and library code: every thread has its own number of turns, and ranges
// are reduced with a table in local memory.

extern "C" __global__ void collatz(const unsigned* start, unsigned* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = start[i];
  unsigned count = 0;
#ifdef FAULT_NEVER_ENDS
  // finds FAULT_NEVER_ENDS: limit
  while (x != 0) {
#else
  while (x != 1) {
#endif
    // finds FAULT_NEVER_ENDS: limit
    if (x % 2 == 0) {
      // finds FAULT_NEVER_ENDS: limit
      x /= 2;
    } else {
      // finds FAULT_NEVER_ENDS: limit
      x = 3 * x + 1;
    }
    // finds FAULT_NEVER_ENDS: limit
    ++count;
  }
  steps[i] = count;
}

extern "C" __global__ void waves(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = sinf(x[i]) * expf(-x[i] * x[i] / 1e12f) +
           sqrtf(fabsf(x[i])) / (1.0f + logf(1.0f + fabsf(x[i])));
  }
}
