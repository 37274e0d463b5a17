// Turns before a point of the plane runs away: every thread leaves its loop when it likes.

extern "C" __global__ void mandelbrot(unsigned short* turns, int width, int height, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const float cx = __fmaf_rn(px, 3.0f / 64, -2.0f);
  const float cy = __fmaf_rn(py, 2.0f / 32, -1.0f);
  float x = 0;
  float y = 0;
  int turn = 0;
  // The rounding of every product and sum is said, so that the host can do the same.
  for (; turn < limit; ++turn) {
    const float xx = __fmul_rn(x, x);
    const float yy = __fmul_rn(y, y);
    if (__fadd_rn(xx, yy) > 4) break;
    y = __fadd_rn(__fmul_rn(__fadd_rn(x, x), y), cy);
    x = __fadd_rn(__fsub_rn(xx, yy), cx);
  }
  turns[py * width + px] = turn;
}
