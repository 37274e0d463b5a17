// Stencils in one, two and three dimensions.

constexpr int kThreads = 64;
constexpr int kRadius = 3;

// A weighted sum of seven neighbours; beyond the ends lies nothing.
extern "C" __global__ void stencil1d(const int* in, int* out, int n) {
  __shared__ int tile[kThreads + 2 * kRadius];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  tile[kRadius + threadIdx.x] = i < n ? in[i] : 0;
#ifndef FAULT_NO_HALO
  if (threadIdx.x < kRadius) {
    tile[threadIdx.x] = i >= kRadius ? in[i - kRadius] : 0;
    tile[kRadius + kThreads + threadIdx.x] = i + kThreads < n ? in[i + kThreads] : 0;
  }
#endif
  __syncthreads();
  int sum = 0;
  for (int k = -kRadius; k <= kRadius; ++k) {
    sum += (kRadius + 1 - abs(k)) * tile[kRadius + threadIdx.x + k];
  }
  // finds FAULT_NO_HALO: uninitialised
  if (i < n) out[i] = sum;
}

// Five points; the border stays as it is.
extern "C" __global__ void stencil2d(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int at = y * width + x;
#ifdef FAULT_NO_BORDER
  const bool border = x == 0 || x == width - 1;
#else
  const bool border = x == 0 || x == width - 1 || y == 0 || y == height - 1;
#endif
  // may find FAULT_NO_BORDER: uninitialised
  out[at] =
      border ? in[at]
             // finds FAULT_NO_BORDER: out_of_bounds
             : 0.5f * in[at] + 0.125f * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
}

// Seven points; each thread walks along z with three values in registers, its plane in shared
// memory.
extern "C" __global__ void stencil3d(const float* in, float* out, int nx, int ny, int nz) {
  __shared__ float plane[8 + 2][16 + 2];
  const int x = blockIdx.x * 16 + threadIdx.x;
  const int y = blockIdx.y * 8 + threadIdx.y;
  const auto load = [&](int px, int py, int pz) {
    const bool inside = px >= 0 && px < nx && py >= 0 && py < ny && pz >= 0 && pz < nz;
    return inside ? in[(pz * ny + py) * nx + px] : 0.0f;
  };
  const int tx = threadIdx.x + 1;
  const int ty = threadIdx.y + 1;
  float below = 0;
  float here = load(x, y, 0);
  for (int z = 0; z < nz; ++z) {
    const float above = load(x, y, z + 1);
    // finds FAULT_ONE_BARRIER: race
    plane[ty][tx] = here;
    // finds FAULT_ONE_BARRIER: race
    if (tx == 1) plane[ty][0] = load(x - 1, y, z);
    // finds FAULT_ONE_BARRIER: race
    if (tx == 16) plane[ty][17] = load(x + 1, y, z);
    // finds FAULT_ONE_BARRIER: race
    if (ty == 1) plane[0][tx] = load(x, y - 1, z);
    // finds FAULT_ONE_BARRIER: race
    if (ty == 8) plane[9][tx] = load(x, y + 1, z);
    __syncthreads();
    // finds FAULT_ONE_BARRIER: race
    const float sum = plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx];
    if (x < nx && y < ny) out[(z * ny + y) * nx + x] = sum + below + above - 6 * here;
#ifndef FAULT_ONE_BARRIER
    __syncthreads();
#endif
    below = here;
    here = above;
  }
}
