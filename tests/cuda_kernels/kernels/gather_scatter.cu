// Rows picked by an index, and rows put back by it; an index of -1 stands for no row.

constexpr int kWidth = 8;

extern "C" __global__ void gather(const int2* table, const int* index, int2* out, int rows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const int from = index[row];
#ifdef FAULT_UNCHECKED_INDEX
  // finds FAULT_UNCHECKED_INDEX: out_of_bounds
  // may find FAULT_UNCHECKED_INDEX: uninitialised
  out[row * kWidth + threadIdx.x] = table[from * kWidth + threadIdx.x];
#else
  const int2 none = {0, 0};
  out[row * kWidth + threadIdx.x] = from < 0 ? none : table[from * kWidth + threadIdx.x];
#endif
}

// Rows of the result that no index names keep what the other kernel wrote there.
extern "C" __global__ void fill(int2* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT_FILLS_HALF
  if (i < count / 2) out[i] = make_int2(-1, -2);
#else
  if (i < count) out[i] = make_int2(-1, -2);
#endif
}

extern "C" __global__ void scatter(const int2* rows, const int* index, int2* out, int count) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= count || index[row] < 0) return;
  out[index[row] * kWidth + threadIdx.x] = rows[row * kWidth + threadIdx.x];
}

// The sum of both parts of a row's numbers.
extern "C" __global__ void row_sums(const int2* in, int* sums, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int sum = 0;
  for (int k = 0; k < kWidth; ++k) sum += in[row * kWidth + k].x + in[row * kWidth + k].y;
  // finds FAULT_FILLS_HALF: uninitialised
  sums[row] = sum;
}
