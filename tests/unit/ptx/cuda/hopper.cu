// Kernels for clusters and the tensor memory accelerator, as libcu++ and cooperative groups write
// them. hopper.ptx was made of this file, and its trailing blanks taken away, by nvcc 13.0.88:
//   nvcc -ptx -std=c++17 -arch=sm_90a hopper.cu
#include <cooperative_groups.h>
#include <cuda.h>

#include <cuda/barrier>
#include <utility>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
namespace cde = cuda::device::experimental;
using barrier = cuda::barrier<cuda::thread_scope_block>;

// Each block sums its part; the first block of each cluster adds the parts of all through
// distributed shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const int* in, int* out) {
  __shared__ int part;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  atomicAdd(&part, in[blockIdx.x * blockDim.x + threadIdx.x]);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x < cluster.num_blocks()) {
    atomicAdd(&out[blockIdx.x / 4], *cluster.map_shared_rank(&part, threadIdx.x));
  }
  cluster.sync();
}

// Adds 1 to a matrix, a tile of 16 x 32 a block, loaded and stored by tensor maps.
extern "C" __global__ void tile_add(const __grid_constant__ CUtensorMap from,
                                    const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) float tile[16][32];
  __shared__ barrier loaded;
  if (threadIdx.x == 0) {
    init(&loaded, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  const int x = blockIdx.x * 32;
  const int y = blockIdx.y * 16;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &from, x, y, loaded);
    token = cuda::device::barrier_arrive_tx(loaded, 1, sizeof(tile));
  } else {
    token = loaded.arrive();
  }
  loaded.wait(std::move(token));
  for (int row = 0; row < 16; ++row) tile[row][threadIdx.x] += 1.0f;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&to, x, y, &tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
    (&loaded)->~barrier();
  }
}

// Three times n numbers, 128 at a time through two buffers; the next are loaded meanwhile.
extern "C" __global__ void triple(const int* in, int* out, int n) {
  __shared__ alignas(16) int buffer[2][128];
  __shared__ barrier loaded[2];
  if (threadIdx.x == 0) {
    init(&loaded[0], 1);
    init(&loaded[1], 1);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  const auto load = [&](int tile) {
    if (threadIdx.x != 0) return;
    cuda::memcpy_async(buffer[tile & 1], in + tile * 128, cuda::aligned_size_t<16>(512),
                       loaded[tile & 1]);
    (void)cuda::device::barrier_arrive_tx(loaded[tile & 1], 1, 0);
  };
  load(0);
  for (int tile = 0; tile < n / 128; ++tile) {
    if (tile + 1 < n / 128) load(tile + 1);
    loaded[tile & 1].wait_parity(tile >> 1 & 1);
    out[tile * 128 + threadIdx.x] = buffer[tile & 1][threadIdx.x] * 3;
    __syncthreads();
  }
}
