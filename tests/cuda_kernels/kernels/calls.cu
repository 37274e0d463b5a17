// Functions that stay functions: with a struct as result, and recursive.

struct Split {
  long long quotient;
  int remainder;
};

__noinline__ __device__ Split DivideBy(long long value, int by) {
  return {value / by, static_cast<int>(value % by)};
}

__noinline__ __device__ unsigned Ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
#ifdef FAULT_NO_END
  // finds FAULT_NO_END: limit
  return Ackermann(m, n + 1) + 1;
#else
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
#endif
}

extern "C" __global__ void split_digits(const long long* values, int* digits, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Split rest = {values[i], 0};
  int sum = 0;
  while (rest.quotient != 0) {
    rest = DivideBy(rest.quotient, 10);
    sum += rest.remainder;
  }
  digits[i] = sum;
}

extern "C" __global__ void ackermann(unsigned* out) {
  out[threadIdx.x] = Ackermann(threadIdx.x % 3, threadIdx.x / 3);
}
