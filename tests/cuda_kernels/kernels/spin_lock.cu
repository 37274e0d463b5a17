// A lock of a compare-and-swap loop around a sum that is no atomic, and a ticket lock.

__device__ int lock_word;
__device__ unsigned next_ticket;
__device__ volatile unsigned now_serving;

extern "C" __global__ void locked_sum(const int* x, long long* sum, int* most, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  // finds FAULT_NEVER_RELEASED: limit
  // may find FAULT_NEVER_RELEASED: deadlock
  while (atomicCAS(&lock_word, 0, 1) != 0) {
  }
#ifndef FAULT_MISSING_ACQUIRE
  __threadfence();
#endif
  // finds FAULT_MISSING_ACQUIRE: race
  // finds FAULT_MISSING_RELEASE: race
  *sum += x[i];
  // finds FAULT_MISSING_ACQUIRE: race
  // finds FAULT_MISSING_RELEASE: race
  if (x[i] > *most) *most = x[i];
#ifndef FAULT_MISSING_RELEASE
  __threadfence();
#endif
#ifdef FAULT_NEVER_RELEASED
  if (x[i] != x[0]) atomicExch(&lock_word, 0);
#else
  atomicExch(&lock_word, 0);
#endif
}

// One thread a block takes tickets; blocks append to a list in the order of their tickets.
extern "C" __global__ void ticket_order(int* list, int* length) {
  if (threadIdx.x == 0) {
    const unsigned own = atomicAdd(&next_ticket, 1);
    while (now_serving != own) {
    }
    __threadfence();
    list[*length] = blockIdx.x;
    *length += 1;
    __threadfence();
    now_serving = own + 1;
  }
}
