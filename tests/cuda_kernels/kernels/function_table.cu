// Calls through pointers: each thread takes its function from a table.
using Function = unsigned (*)(unsigned, unsigned);

__device__ __noinline__ unsigned Sum(unsigned a, unsigned b) { return a + b; }
__device__ __noinline__ unsigned Product(unsigned a, unsigned b) { return a * b; }
__device__ __noinline__ unsigned Larger(unsigned a, unsigned b) { return a > b ? a : b; }

__device__ const Function table[] = {
    Sum,
    Product,
    Larger,
#ifdef FAULT_NO_FUNCTION
    nullptr,
#else
    Sum,
#endif
};

extern "C" __global__ void apply(const unsigned* which, const unsigned* a, const unsigned* b,
                                 unsigned* d) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned value = a[i];
  for (int step = 0; step < 3; ++step) {
    // finds FAULT_NO_FUNCTION: out_of_bounds
    value = table[(which[i] + step) % 4](value, b[i]);
    value += __reduce_add_sync(0xFFFFFFFFu, value);  // all come back together
  }
  d[i] = value;
}
