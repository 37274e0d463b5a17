// arch: sm_90a
// Bulk copies: in by an mbarrier that counts bytes, through two buffers, and out by a bulk group.
#include <cstdint>

constexpr int kTile = 256;  // numbers of a tile

__device__ uint32_t Shared(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void Init(uint64_t* barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(Shared(barrier)), "r"(count) : "memory");
}

__device__ void Expect(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(Shared(barrier)), "r"(bytes) : "memory");
}

__device__ void Wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra AGAIN;\n}" ::"r"(Shared(barrier)), "r"(parity) : "memory");  // finds FAULT_TOO_MANY_BYTES: deadlock
}

__device__ void CopyIn(void* to, const void* from, int bytes, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(Shared(to)),
      "l"(from), "r"(bytes), "r"(Shared(barrier)) : "memory");  // finds FAULT_NO_STORE_WAIT: async; finds FAULT_NO_INIT_FENCE: mbarrier; may find FAULT_WRONG_PARITY: async
}

__device__ void CopyOut(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(Shared(from)), "r"(bytes) : "memory");  // finds FAULT_NO_PROXY_FENCE: proxy; may find FAULT_WRONG_PARITY: async; may find FAULT_WRONG_PARITY: uninitialised
}

extern "C" __global__ void double_numbers(const int* in, int* out, int tiles) {
  __shared__ alignas(128) int buffers[2][kTile];
  __shared__ uint64_t full[2];
  const bool leader = threadIdx.x == 0;
  if (leader) {
    Init(&full[0], 1);
    Init(&full[1], 1);
#ifndef FAULT_NO_INIT_FENCE
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }
  __syncthreads();
  const int bytes = kTile * sizeof(int);
  const auto fetch = [&](int t) {
#ifdef FAULT_TOO_MANY_BYTES
    Expect(&full[t % 2], bytes + 16);
#else
    Expect(&full[t % 2], bytes);
#endif
    CopyIn(buffers[t % 2], in + t * kTile, bytes, &full[t % 2]);
  };
  if (leader) fetch(0);
  for (int t = 0; t < tiles; ++t) {
    if (leader && t + 1 < tiles) {
      // The buffer's last store must have read it.
#ifndef FAULT_NO_STORE_WAIT
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
      fetch(t + 1);
    }
#ifdef FAULT_WRONG_PARITY
    Wait(&full[t % 2], (t / 2 + 1) % 2);
#else
    Wait(&full[t % 2], t / 2 % 2);
#endif
    for (int i = threadIdx.x; i < kTile; i += blockDim.x) {
      const int value = buffers[t % 2][i];  // finds FAULT_WRONG_PARITY: async
      buffers[t % 2][i] = 2 * value;  // finds FAULT_NO_PROXY_FENCE: proxy; may find FAULT_WRONG_PARITY: async
    }
#ifndef FAULT_NO_PROXY_FENCE
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncthreads();
    if (leader) {
      CopyOut(out + t * kTile, buffers[t % 2], bytes);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  if (leader) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
