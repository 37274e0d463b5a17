// mbarriers, bulk copies and tensor maps as functions, each one instruction of PTX.
#pragma once

#include <cuda.h>

#include <cstdint>

__device__ inline uint32_t Shared(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline void Init(uint64_t* barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :
               : "r"(Shared(barrier)), "r"(count)
               : "memory");
}

// Shows what was initialised to other blocks and to copies.
__device__ inline void FenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void Arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(Shared(barrier)) : "memory");
}

__device__ inline void Expect(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(Shared(barrier)), "r"(bytes)
               : "memory");
}

__device__ inline void Wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra AGAIN;\n}"
      :
      : "r"(Shared(barrier)), "r"(parity)
      : "memory");
}

__device__ inline void CopyIn(void* to, const void* from, int bytes, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(Shared(to)), "l"(from), "r"(bytes), "r"(Shared(barrier))
      : "memory");
}

__device__ inline void CopyOut(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(to), "r"(Shared(from)), "r"(bytes)
               : "memory");
}

// Boxes of a matrix: x counts columns, y rows.
__device__ inline void LoadBox(void* to, const CUtensorMap& map, int x, int y, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];"
      :
      : "r"(Shared(to)), "l"(&map), "r"(x), "r"(y), "r"(Shared(barrier))
      : "memory");
}

__device__ inline void LoadBoxes(void* to, const CUtensorMap& map, int x, int y, uint64_t* barrier,
                                 uint16_t ranks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
      :
      : "r"(Shared(to)), "l"(&map), "r"(x), "r"(y), "r"(Shared(barrier)), "h"(ranks)
      : "memory");
}

__device__ inline void StoreBox(const CUtensorMap& map, int x, int y, const void* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
               :
               : "l"(&map), "r"(x), "r"(y), "r"(Shared(from))
               : "memory");
}

__device__ inline void CommitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ inline void WaitStores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ inline void WaitStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ inline void FenceProxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
