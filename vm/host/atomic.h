// Relaxed atomic operations on elements of global or shared memory that several threads may touch
// at once, for the rows atomic.* and red.* of isa.def.
#ifndef TARSIA_VM_HOST_ATOMIC_H_
#define TARSIA_VM_HOST_ATOMIC_H_

#include <cstdint>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia::host {

// What an addition of f32 makes of subnormal operands and sums: itself, or zeros of their sign, as
// in global memory (PTX ISA, atom: `.add` of `.f32`).
enum class Subnormals : uint8_t { kKeep, kFlush };

// One read-modify-write of the element at `address`; returns the old code. `op` is kAtomicAdd ..
// kAtomicExch or kRedAdd .. kRedXor. Add: i32, u32, i64, u64 (wrapping), f16, bf16, f32, f64 (one
// rounding); the others: i32, u32, i64, u64. `value` is a code in the low bits. An access that is
// not aligned to the element is atomic only with respect to other misaligned ones. An operation or
// type that the row does not allow does nothing and returns 0.
uint64_t AtomicRmw(Opcode op, DType type, void* address, uint64_t value,
                   Subnormals subnormals = Subnormals::kKeep);

// Stores `desired` if the element equals `expected`; returns the old code. For i32, u32, i64, u64.
uint64_t AtomicCas(DType type, void* address, uint64_t expected, uint64_t desired);

// Of semaphores, for the same types. What a thread wrote before it added is visible to a thread
// that has loaded the sum, or a sum that was made of it.
uint64_t LoadAcquire(DType type, const void* address);
void AddRelease(DType type, void* address, uint64_t value);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_ATOMIC_H_
