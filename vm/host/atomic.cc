#include "vm/host/atomic.h"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "dtypes/arith.h"

namespace tarsia::host {
namespace {

// Elements that no hardware atomic covers take one of these locks, by address.
std::mutex& LockFor(const void* address) {
  static std::array<std::mutex, 64> locks;
  return locks[(reinterpret_cast<uintptr_t>(address) >> 3) % locks.size()];
}

// Replaces the element by update(element); returns the old value. U: unsigned, of the element's
// size.
template <typename U, typename Update>
U Exchange(void* address, const Update& update,
           std::memory_order order = std::memory_order_relaxed) {
  if (reinterpret_cast<uintptr_t>(address) % std::atomic_ref<U>::required_alignment != 0) {
    const std::lock_guard lock(LockFor(address));
    U old;
    std::memcpy(&old, address, sizeof(U));
    const U next = update(old);
    std::memcpy(address, &next, sizeof(U));
    return old;
  }
  const std::atomic_ref<U> element(*static_cast<U*>(address));
  U old = element.load(std::memory_order_relaxed);
  while (!element.compare_exchange_weak(old, update(old), order, std::memory_order_relaxed)) {
  }
  return old;
}

// T: the value type of the same size, for arith.h.
template <typename T, typename U, typename Operation>
U Combine(void* address, U value, const Operation& operation) {
  return Exchange<U>(address, [&](U old) {
    return std::bit_cast<U>(operation(std::bit_cast<T>(old), std::bit_cast<T>(value)));
  });
}

enum class Action : uint8_t { kNone, kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange };

Action ActionOf(Opcode op) {
  if (op == Opcode::kAtomicAdd || op == Opcode::kRedAdd) return Action::kAdd;
  if (op == Opcode::kAtomicMin || op == Opcode::kRedMin) return Action::kMin;
  if (op == Opcode::kAtomicMax || op == Opcode::kRedMax) return Action::kMax;
  if (op == Opcode::kAtomicAnd || op == Opcode::kRedAnd) return Action::kAnd;
  if (op == Opcode::kAtomicOr || op == Opcode::kRedOr) return Action::kOr;
  if (op == Opcode::kAtomicXor || op == Opcode::kRedXor) return Action::kXor;
  return op == Opcode::kAtomicExch ? Action::kExchange : Action::kNone;
}

template <typename T, typename U>
U AddTo(void* address, U value) {
  return Combine<T>(address, value, [](T a, T b) { return arith::Add(a, b); });
}

float Flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }

uint32_t AddF32(void* address, uint32_t value, Subnormals subnormals) {
  if (subnormals == Subnormals::kKeep) return AddTo<float>(address, value);
  return Combine<float>(
      address, value, [](float a, float b) { return Flushed(arith::Add(Flushed(a), Flushed(b))); });
}

template <typename T, typename U>
U IntegerRmw(Action action, void* address, U value) {
  switch (action) {
    case Action::kAdd:
      return AddTo<T>(address, value);
    case Action::kMin:
      return Combine<T>(address, value, [](T a, T b) { return arith::Min(a, b); });
    case Action::kMax:
      return Combine<T>(address, value, [](T a, T b) { return arith::Max(a, b); });
    case Action::kAnd:
      return Combine<T>(address, value, [](T a, T b) { return arith::And(a, b); });
    case Action::kOr:
      return Combine<T>(address, value, [](T a, T b) { return arith::Or(a, b); });
    case Action::kXor:
      return Combine<T>(address, value, [](T a, T b) { return arith::Xor(a, b); });
    case Action::kExchange:
      return Combine<T>(address, value, [](T, T b) { return b; });
    case Action::kNone:
      break;
  }
  return 0;
}

template <typename U>
U CompareExchange(void* address, U expected, U desired) {
  return Exchange<U>(address, [&](U old) { return old == expected ? desired : old; });
}

}  // namespace

uint64_t AtomicRmw(Opcode op, DType type, void* address, uint64_t value, Subnormals subnormals) {
  const Action action = ActionOf(op);
  const auto low = static_cast<uint32_t>(value);
  const auto half = static_cast<uint16_t>(value);
  if (type == kI32) return IntegerRmw<int32_t>(action, address, low);
  if (type == kU32) return IntegerRmw<uint32_t>(action, address, low);
  if (type == kI64) return IntegerRmw<int64_t>(action, address, value);
  if (type == kU64) return IntegerRmw<uint64_t>(action, address, value);
  if (action != Action::kAdd) return 0;
  if (type == kF32) return AddF32(address, low, subnormals);
  if (type == kF64) return AddTo<double>(address, value);
  if (type == kF16) return AddTo<arith::F16>(address, half);
  if (type == kBF16) return AddTo<arith::BF16>(address, half);
  return 0;
}

uint64_t AtomicCas(DType type, void* address, uint64_t expected, uint64_t desired) {
  if (!type.IsInteger()) return 0;
  if (type.bits == 32) {
    return CompareExchange(address, static_cast<uint32_t>(expected),
                           static_cast<uint32_t>(desired));
  }
  return type.bits == 64 ? CompareExchange(address, expected, desired) : 0;
}

uint64_t LoadAcquire(DType type, const void* address) {
  // An addition of zero, which serves elements that are not aligned, too.
  void* const element = const_cast<void*>(address);
  const auto same = [](auto x) { return x; };
  if (type.bits == 32) return Exchange<uint32_t>(element, same, std::memory_order_acq_rel);
  return Exchange<uint64_t>(element, same, std::memory_order_acq_rel);
}

void AddRelease(DType type, void* address, uint64_t value) {
  if (type.bits == 32) {
    const auto low = static_cast<uint32_t>(value);
    Exchange<uint32_t>(address, [low](uint32_t x) { return x + low; }, std::memory_order_acq_rel);
    return;
  }
  Exchange<uint64_t>(address, [value](uint64_t x) { return x + value; }, std::memory_order_acq_rel);
}

}  // namespace tarsia::host
