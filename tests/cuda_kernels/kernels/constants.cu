// Constant memory, a struct by value, globals of the module and a template.

struct Range {
  double scale;
  float low;
  int degree;
  short steps[2];
};

__constant__ float kCoefficients[5] = {0.5f, -1.25f, 2.0f, 0.125f, -0.75f};
__device__ int calls = 7;
__device__ unsigned long long flags[2];

template <typename T, int kTerms>
__device__ T Horner(const T* c, T x) {
  T sum = 0;
#pragma unroll
  for (int k = kTerms - 1; k >= 0; --k) sum = sum * x + c[k];
  return sum;
}

extern "C" __global__ void evaluate(Range range, const float* x, double* y, int n, float* second) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float t = x[i] - range.low;
  const float full = Horner<float, 5>(kCoefficients, t);
  float cut = 0;
  for (int k = range.degree; k >= 0; --k) cut = fmaf(cut, t, kCoefficients[k]);
  y[i] = range.scale * full + cut + range.steps[i % 2];
  if (i % 2 == 1) atomicAdd(&calls, 1);
  if (i < 2) flags[i] = ~0ull >> i;
  // `second` is the address of kCoefficients[1], as the host knows it.
#ifdef FAULT_WRITES_CONSTANT
  // finds FAULT_WRITES_CONSTANT: out_of_bounds
  if (i == 3) *second = t;
#else
  if (i == 3) y[i] += *second;
#endif
}
