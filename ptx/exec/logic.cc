// Logic and shifts.
#include <algorithm>
#include <cstdlib>

#include "ptx/exec/exec.h"
#include "ptx/machine/bitops.h"

namespace tarsia::ptx {
namespace {

constexpr auto kAndBits = [](auto a, auto b) { return static_cast<decltype(a)>(a & b); };
constexpr auto kOrBits = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
constexpr auto kXorBits = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };
constexpr auto kNot = [](auto a) { return static_cast<decltype(a)>(~a); };

template <auto F>
Step PredicateBinary(Warp& warp, const Inst& inst) {
  warp.SetPredicate(inst.operands[0],
                    Call<F>(warp.Predicate(inst.operands[1]), warp.Predicate(inst.operands[2])));
  return Step::kNext;
}

Step NotPredicate(Warp& warp, const Inst& inst) {
  warp.SetPredicate(inst.operands[0], ~warp.Predicate(inst.operands[1]));
  return Step::kNext;
}

// Amounts beyond the width count as the width.
constexpr auto kShl = []<typename T>(T a, uint32_t by) -> T {
  return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << by);
};
constexpr auto kShr = []<typename T>(T a, uint32_t by) -> T {
  constexpr uint32_t kTypeBits = sizeof(T) * 8;
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(by, kTypeBits - 1));
  return by >= kTypeBits ? T{0} : static_cast<T>(a >> by);
};

template <auto F>
Handler Shift(Type type) {
  return ForInteger(type, []<typename T>(T) -> Handler { return &Map<F, T, T, uint32_t>; });
}

constexpr auto kCnot = []<typename T>(T a) -> T { return a == 0 ? 1 : 0; };

// Bit i of the table is the result where a, b, c are the bits of i, a the highest.
uint32_t Lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t out = 0;
  for (unsigned row = 0; row < 8; ++row) {
    if ((table >> row & 1) == 0) continue;
    out |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  return out;
}

// The selectors that the modes of prmt make of the low two bits of the third operand.
uint32_t SelectorOf(const Inst& inst, uint32_t c) {
  static constexpr uint16_t kF4e[] = {0x3210, 0x4321, 0x5432, 0x6543};
  static constexpr uint16_t kB4e[] = {0x5670, 0x6701, 0x7012, 0x0123};
  static constexpr uint16_t kRc8[] = {0x0000, 0x1111, 0x2222, 0x3333};
  static constexpr uint16_t kEcl[] = {0x3210, 0x3211, 0x3222, 0x3333};
  static constexpr uint16_t kEcr[] = {0x0000, 0x1110, 0x2210, 0x3210};
  static constexpr uint16_t kRc16[] = {0x1010, 0x3232, 0x1010, 0x3232};
  const uint32_t n = c & 3;
  if (inst.Has(Mod::kF4e)) return kF4e[n];
  if (inst.Has(Mod::kB4e)) return kB4e[n];
  if (inst.Has(Mod::kRc8)) return kRc8[n];
  if (inst.Has(Mod::kEcl)) return kEcl[n];
  if (inst.Has(Mod::kEcr)) return kEcr[n];
  return inst.Has(Mod::kRc16) ? kRc16[n] : c;
}

Step Permute(Warp& warp, const Inst& inst) {
  uint8_t* dest = warp.Dest(inst.operands[0]);
  ForLanes(warp.mask(), [&](int lane) {
    const uint32_t selector = SelectorOf(inst, warp.Get<uint32_t>(inst.operands[3], lane));
    StoreLane(dest, lane,
              PermuteBytes(warp.Get<uint32_t>(inst.operands[1], lane),
                           warp.Get<uint32_t>(inst.operands[2], lane), selector));
  });
  return Step::kNext;
}

template <bool kLeft, bool kClamp>
uint32_t Funnel(uint32_t low, uint32_t high, uint32_t by) {
  by = kClamp ? std::min<uint32_t>(by, 32) : by & 31;
  return kLeft ? FunnelLeft(low, high, by) : FunnelRight(low, high, by);
}

constexpr auto kPopc = []<typename T>(T a) { return static_cast<uint32_t>(std::popcount(a)); };
constexpr auto kClz = []<typename T>(T a) { return static_cast<uint32_t>(std::countl_zero(a)); };

// The highest bit that is not the sign; all ones if there is none.
template <bool kShiftAmount>
constexpr auto kBfind = []<typename T>(T a) -> uint32_t {
  using U = std::make_unsigned_t<T>;
  auto bits = static_cast<U>(a);
  if constexpr (std::is_signed_v<T>) bits = a < 0 ? static_cast<U>(~bits) : bits;
  if (bits == 0) return UINT32_MAX;
  const auto leading = static_cast<uint32_t>(std::countl_zero(bits));
  return kShiftAmount ? leading : static_cast<uint32_t>(sizeof(T) * 8 - 1) - leading;
};

constexpr auto kBrev = []<typename T>(T a) -> T {
  T out = 0;
  for (size_t i = 0; i < sizeof(T) * 8; ++i) {
    out = static_cast<T>(out | (a >> i & 1) << (sizeof(T) * 8 - 1 - i));
  }
  return out;
};

// The offset-th set bit from `base`, upward or downward.
uint32_t FindNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (base > 31) return UINT32_MAX;
  if (offset == 0) return (mask >> base & 1) != 0 ? base : UINT32_MAX;
  int64_t left = std::abs(int64_t{offset});
  const int step = offset > 0 ? 1 : -1;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<uint32_t>(at);
  }
  return UINT32_MAX;
}

constexpr auto kBfe = []<typename T>(T a, uint32_t position, uint32_t length) -> T {
  return static_cast<T>(ExtractField(static_cast<std::make_unsigned_t<T>>(a), position, length,
                                     sizeof(T) * 8, std::is_signed_v<T>));
};
constexpr auto kBfi = []<typename T>(T a, T b, uint32_t position, uint32_t length) -> T {
  return static_cast<T>(InsertField(a, b, position, length, sizeof(T) * 8));
};

// Unsigned 32 or 64 bits to 32.
template <auto F>
Handler CountOf(Type type) {
  return BytesOf(type) == 4 ? &Map<F, uint32_t, uint32_t> : &Map<F, uint32_t, uint64_t>;
}

template <auto F>
Handler FindOf(Type type) {
  if (IsSigned(type)) {
    return BytesOf(type) == 4 ? &Map<F, uint32_t, int32_t> : &Map<F, uint32_t, int64_t>;
  }
  return CountOf<F>(type);
}

}  // namespace

PTX_BIND(And) {
  return inst.type[0] == Type::kPred ? &PredicateBinary<kAndBits>
                                     : IntegerBinary<kAndBits>(inst.type[0]);
}
PTX_BIND(Or) {
  return inst.type[0] == Type::kPred ? &PredicateBinary<kOrBits>
                                     : IntegerBinary<kOrBits>(inst.type[0]);
}
PTX_BIND(Xor) {
  return inst.type[0] == Type::kPred ? &PredicateBinary<kXorBits>
                                     : IntegerBinary<kXorBits>(inst.type[0]);
}
PTX_BIND(Not) {
  return inst.type[0] == Type::kPred ? &NotPredicate : IntegerUnary<kNot>(inst.type[0]);
}
PTX_BIND(Shl) { return Shift<kShl>(inst.type[0]); }
PTX_BIND(Shr) { return Shift<kShr>(inst.type[0]); }

PTX_BIND(Cnot) { return IntegerUnary<kCnot>(inst.type[0]); }
PTX_BIND(Lop3) { return &Map<&Lop3, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>; }
PTX_BIND(Prmt) { return &Permute; }
PTX_BIND(Shf) {
  const auto pick = []<auto F>() -> Handler {
    return &Map<F, uint32_t, uint32_t, uint32_t, uint32_t>;
  };
  const bool clamp = inst.Has(Mod::kClamp);
  if (inst.Has(Mod::kL)) {
    return clamp ? pick.operator()<&Funnel<true, true>>() : pick.operator()<&Funnel<true, false>>();
  }
  return clamp ? pick.operator()<&Funnel<false, true>>() : pick.operator()<&Funnel<false, false>>();
}
PTX_BIND(Popc) { return CountOf<kPopc>(inst.type[0]); }
PTX_BIND(Clz) { return CountOf<kClz>(inst.type[0]); }
PTX_BIND(Bfind) {
  return inst.Has(Mod::kShiftamt) ? FindOf<kBfind<true>>(inst.type[0])
                                  : FindOf<kBfind<false>>(inst.type[0]);
}
PTX_BIND(Brev) { return IntegerUnary<kBrev>(inst.type[0]); }
PTX_BIND(Fns) { return &Map<&FindNthSet, uint32_t, uint32_t, uint32_t, int32_t>; }
PTX_BIND(Bfe) {
  return ForInteger(inst.type[0],
                    []<typename T>(T) -> Handler { return &Map<kBfe, T, T, uint32_t, uint32_t>; });
}
PTX_BIND(Bfi) {
  return BytesOf(inst.type[0]) == 4 ? &Map<kBfi, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>
                                    : &Map<kBfi, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>;
}

}  // namespace tarsia::ptx
