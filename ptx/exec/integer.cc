// Integer arithmetic.
#include <algorithm>
#include <limits>

#include "ptx/exec/exec.h"

namespace tarsia::ptx {
namespace {

constexpr auto kAddInteger = []<typename T>(T a, T b) -> T {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
};
constexpr auto kSubInteger = []<typename T>(T a, T b) -> T {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
};
constexpr auto kMulInteger = []<typename T>(T a, T b) -> T {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
};
constexpr auto kMulHi = []<typename T>(T a, T b) -> T {
  return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (sizeof(T) * 8));
};
constexpr auto kMad = []<typename T>(T a, T b, T c) -> T {
  return kAddInteger(kMulInteger(a, b), c);
};

int32_t Saturate(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                                                  std::numeric_limits<int32_t>::max()));
}

// An operation on both 16-bit halves.
template <auto F, typename T>
Step Halves(Warp& warp, const Inst& inst) {
  return Map<[](uint32_t a, uint32_t b) {
    const auto low = static_cast<uint16_t>(Call<F>(static_cast<T>(a), static_cast<T>(b)));
    const auto high =
        static_cast<uint16_t>(Call<F>(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return low | (uint32_t{high} << 16);
  },
             uint32_t, uint32_t, uint32_t>(warp, inst);
}

// Of one integer type, or of both halves of a packed one.
template <auto F>
Handler BinaryOrHalves(Type type) {
  if (type == Type::kU16X2) return &Halves<F, uint16_t>;
  if (type == Type::kS16X2) return &Halves<F, int16_t>;
  return IntegerBinary<F>(type);
}

// Wide multiplications have 16 and 32 bits only.
template <typename Maker>
Handler ForWide(Type type, const Maker& maker) {
  if (IsSigned(type)) return BytesOf(type) == 2 ? maker(int16_t{}) : maker(int32_t{});
  return BytesOf(type) == 2 ? maker(uint16_t{}) : maker(uint32_t{});
}

template <typename T>
Wide<T> MulWide(T a, T b) {
  return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}

// Division by zero gives all ones, as the hardware does; its remainder is the dividend.
constexpr auto kDiv = []<typename T>(T a, T b) -> T {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return kSubInteger(T{0}, a);  // the least number has no negative
  }
  return static_cast<T>(a / b);
};
constexpr auto kRem = []<typename T>(T a, T b) -> T {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
};
constexpr auto kNeg = []<typename T>(T a) -> T { return kSubInteger(T{0}, a); };
constexpr auto kAbs = []<typename T>(T a) -> T { return a < 0 ? kSubInteger(T{0}, a) : a; };
constexpr auto kMinInteger = []<typename T>(T a, T b) -> T { return std::min(a, b); };
constexpr auto kMaxInteger = []<typename T>(T a, T b) -> T { return std::max(a, b); };
constexpr auto kMinRelu = []<typename T>(T a, T b) -> T { return std::max<T>(std::min(a, b), 0); };
constexpr auto kMaxRelu = []<typename T>(T a, T b) -> T { return std::max<T>(std::max(a, b), 0); };
constexpr auto kMadHi = []<typename T>(T a, T b, T c) -> T { return kAddInteger(kMulHi(a, b), c); };
constexpr auto kSad = []<typename T>(T a, T b, T c) -> T {
  return kAddInteger(c, a < b ? kSubInteger(b, a) : kSubInteger(a, b));
};

// The low 24 bits of a source, extended by its sign.
template <typename T>
int64_t Low24(T value) {
  const auto bits = static_cast<uint32_t>(value) & 0xFFFFFF;
  if constexpr (!std::is_signed_v<T>) return bits;
  return static_cast<int32_t>(bits << 8) >> 8;
}
constexpr auto kMul24Lo = []<typename T>(T a, T b) -> T {
  return static_cast<T>(Low24(a) * Low24(b));
};
constexpr auto kMul24Hi = []<typename T>(T a, T b) -> T {
  return static_cast<T>((Low24(a) * Low24(b)) >> 16);
};
constexpr auto kMad24Lo = []<typename T>(T a, T b, T c) -> T {
  return kAddInteger(kMul24Lo(a, b), c);
};
constexpr auto kMad24Hi = []<typename T>(T a, T b, T c) -> T {
  return kAddInteger(kMul24Hi(a, b), c);
};

// ---- extended precision ------------------------------------------------------------------------

// a + b + carry, or a - b - borrow, on unsigned T; `write` keeps what comes out.
template <typename T, bool kSubtract>
void AddLanes(Warp& warp, const Inst& inst, const Operand* a, const Operand* b, const T* product,
              bool take, bool write) {
  uint32_t carry = warp.carry();
  ForLanes(warp.mask(), [&](int lane) {
    const T x = product != nullptr ? product[lane] : warp.Get<T>(*a, lane);
    const T y = warp.Get<T>(*b, lane);
    const auto in = static_cast<T>(take ? carry >> lane & 1 : 0);
    T out = 0;
    bool over = false;
    if constexpr (kSubtract) {
      out = static_cast<T>(x - y - in);
      over = x < y || (x == y && in != 0);
    } else {
      out = static_cast<T>(x + y + in);
      over = out < x || (out == x && in != 0 && y != 0);
    }
    StoreLane<T>(warp.Dest(inst.operands[0]), lane, out);
    if (write) carry = (carry & ~(uint32_t{1} << lane)) | (uint32_t{over} << lane);
  });
  warp.carry() = carry;
}

template <typename T, bool kSubtract, bool kTake>
Step Carry(Warp& warp, const Inst& inst) {
  AddLanes<T, kSubtract>(warp, inst, &inst.operands[1], &inst.operands[2], nullptr, kTake,
                         inst.Has(Mod::kCc));
  return Step::kNext;
}

template <bool kSubtract, bool kTake>
Handler CarryFor(const Inst& inst) {
  return BytesOf(inst.type[0]) == 4 ? &Carry<uint32_t, kSubtract, kTake>
                                    : &Carry<uint64_t, kSubtract, kTake>;
}

// The sum of a product's half and c; the product is of the type's own sign.
template <typename T, bool kTake>
Step MadCarry(Warp& warp, const Inst& inst) {
  using U = std::make_unsigned_t<T>;
  U product[kLanes] = {};
  ForLanes(warp.mask(), [&](int lane) {
    const T a = warp.Get<T>(inst.operands[1], lane);
    const T b = warp.Get<T>(inst.operands[2], lane);
    product[lane] = static_cast<U>(inst.Has(Mod::kHi) ? kMulHi(a, b) : kMulInteger(a, b));
  });
  AddLanes<U, false>(warp, inst, nullptr, &inst.operands[3], product, kTake, inst.Has(Mod::kCc));
  return Step::kNext;
}

template <bool kTake>
Handler MadCarryFor(const Inst& inst) {
  if (IsSigned(inst.type[0])) {
    return BytesOf(inst.type[0]) == 4 ? &MadCarry<int32_t, kTake> : &MadCarry<int64_t, kTake>;
  }
  return BytesOf(inst.type[0]) == 4 ? &MadCarry<uint32_t, kTake> : &MadCarry<uint64_t, kTake>;
}

// ---- dot products of small vectors -------------------------------------------------------------

int64_t Part(uint32_t word, int at, int bits, bool is_signed) {
  const uint32_t part = word >> (at * bits) & ((uint32_t{1} << bits) - 1);
  if (!is_signed || (part >> (bits - 1)) == 0) return part;
  return int64_t{part} - (int64_t{1} << bits);
}

template <bool kSignedA, bool kSignedB>
uint32_t Dot4(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = c;
  for (int i = 0; i < 4; ++i) sum += Part(a, i, 8, kSignedA) * Part(b, i, 8, kSignedB);
  return static_cast<uint32_t>(sum);
}

template <bool kSignedA, bool kSignedB, int kFirst>
uint32_t Dot2(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = c;
  for (int i = 0; i < 2; ++i) sum += Part(a, i, 16, kSignedA) * Part(b, kFirst + i, 8, kSignedB);
  return static_cast<uint32_t>(sum);
}

template <auto F>
constexpr Handler kTernary32 = &Map<F, uint32_t, uint32_t, uint32_t, uint32_t>;

template <bool kSignedA, bool kSignedB>
Handler Dot2For(const Inst& inst) {
  return inst.Has(Mod::kHi) ? kTernary32<&Dot2<kSignedA, kSignedB, 2>>
                            : kTernary32<&Dot2<kSignedA, kSignedB, 0>>;
}

template <auto F>
Handler IntegerOf32(Type type) {
  return type == Type::kS32 ? &Map<F, int32_t, int32_t, int32_t>
                            : &Map<F, uint32_t, uint32_t, uint32_t>;
}
template <auto F>
Handler TernaryOf32(Type type) {
  return type == Type::kS32 ? &Map<F, int32_t, int32_t, int32_t, int32_t>
                            : &Map<F, uint32_t, uint32_t, uint32_t, uint32_t>;
}

}  // namespace

PTX_BIND(AddInt) { return BinaryOrHalves<kAddInteger>(inst.type[0]); }
PTX_BIND(SubInt) { return BinaryOrHalves<kSubInteger>(inst.type[0]); }
PTX_BIND(AddSat) {
  return &Map<[](int32_t a, int32_t b) { return Saturate(int64_t{a} + b); }, int32_t, int32_t,
              int32_t>;
}
PTX_BIND(SubSat) {
  return &Map<[](int32_t a, int32_t b) { return Saturate(int64_t{a} - b); }, int32_t, int32_t,
              int32_t>;
}
PTX_BIND(MulLo) { return IntegerBinary<kMulInteger>(inst.type[0]); }
PTX_BIND(MulHi) { return IntegerBinary<kMulHi>(inst.type[0]); }
PTX_BIND(MulWide) {
  return ForWide(inst.type[0], []<typename T>(T) -> Handler {
    return &Map<[](T a, T b) { return MulWide(a, b); }, Wide<T>, T, T>;
  });
}
PTX_BIND(MadLo) { return IntegerTernary<kMad>(inst.type[0]); }
PTX_BIND(MadWide) {
  return ForWide(inst.type[0], []<typename T>(T) -> Handler {
    return &Map<[](T a, T b, Wide<T> c) { return kAddInteger(MulWide(a, b), c); }, Wide<T>, T, T,
                Wide<T>>;
  });
}

PTX_BIND(Mul24) {
  return inst.Has(Mod::kHi) ? IntegerOf32<kMul24Hi>(inst.type[0])
                            : IntegerOf32<kMul24Lo>(inst.type[0]);
}
PTX_BIND(Mad24) {
  return inst.Has(Mod::kHi) ? TernaryOf32<kMad24Hi>(inst.type[0])
                            : TernaryOf32<kMad24Lo>(inst.type[0]);
}
PTX_BIND(MadHi) { return IntegerTernary<kMadHi>(inst.type[0]); }
PTX_BIND(MadHiSat) {
  return &Map<[](int32_t a, int32_t b, int32_t c) { return Saturate(int64_t{kMulHi(a, b)} + c); },
              int32_t, int32_t, int32_t, int32_t>;
}
PTX_BIND(DivInt) { return IntegerBinary<kDiv>(inst.type[0]); }
PTX_BIND(RemInt) { return IntegerBinary<kRem>(inst.type[0]); }
PTX_BIND(AbsInt) { return IntegerUnary<kAbs>(inst.type[0]); }
PTX_BIND(NegInt) { return IntegerUnary<kNeg>(inst.type[0]); }
PTX_BIND(MinInt) { return BinaryOrHalves<kMinInteger>(inst.type[0]); }
PTX_BIND(MaxInt) { return BinaryOrHalves<kMaxInteger>(inst.type[0]); }
PTX_BIND(MinRelu) { return BinaryOrHalves<kMinRelu>(inst.type[0]); }
PTX_BIND(MaxRelu) { return BinaryOrHalves<kMaxRelu>(inst.type[0]); }
PTX_BIND(Sad) { return IntegerTernary<kSad>(inst.type[0]); }
PTX_BIND(AddCc) { return CarryFor<false, false>(inst); }
PTX_BIND(Addc) { return CarryFor<false, true>(inst); }
PTX_BIND(SubCc) { return CarryFor<true, false>(inst); }
PTX_BIND(Subc) { return CarryFor<true, true>(inst); }
PTX_BIND(MadCc) { return MadCarryFor<false>(inst); }
PTX_BIND(Madc) { return MadCarryFor<true>(inst); }
PTX_BIND(Dp4a) {
  const bool a = IsSigned(inst.type[0]);
  if (IsSigned(inst.type[1]))
    return a ? kTernary32<&Dot4<true, true>> : kTernary32<&Dot4<false, true>>;
  return a ? kTernary32<&Dot4<true, false>> : kTernary32<&Dot4<false, false>>;
}
PTX_BIND(Dp2a) {
  const bool a = IsSigned(inst.type[0]);
  if (IsSigned(inst.type[1])) return a ? Dot2For<true, true>(inst) : Dot2For<false, true>(inst);
  return a ? Dot2For<true, false>(inst) : Dot2For<false, false>(inst);
}

}  // namespace tarsia::ptx
