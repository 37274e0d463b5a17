// Masks of bits and fields that are extended.
#include "ptx/exec/exec.h"

namespace tarsia::ptx {
namespace {

constexpr uint32_t kBits = 32;

// The low `width` bits set, of any width.
uint32_t LowMask(uint32_t width) { return width >= kBits ? ~0U : (1U << width) - 1; }

// `b` bits from bit `a` on; those beyond bit 31 are cut off.
template <bool kClamp>
uint32_t Mask(uint32_t a, uint32_t b) {
  if (!kClamp) {
    a %= kBits;
    b %= kBits;
  }
  return a >= kBits ? 0 : LowMask(b) << a;
}

// The low `b` bits of `a`, extended by 0 or by the highest of them.
template <typename T, bool kClamp>
T Extended(T a, uint32_t b) {
  if (!kClamp) b %= kBits;
  if (b == 0) return 0;
  const auto low = static_cast<uint32_t>(a) & LowMask(b);
  const bool negative = std::is_signed_v<T> && b < kBits && (low >> (b - 1) & 1) != 0;
  return static_cast<T>(negative ? low | ~LowMask(b) : low);
}

}  // namespace

PTX_BIND(Bmsk) {
  return inst.Has(Mod::kClamp) ? &Map<&Mask<true>, uint32_t, uint32_t, uint32_t>
                               : &Map<&Mask<false>, uint32_t, uint32_t, uint32_t>;
}
PTX_BIND(Szext) {
  const bool clamp = inst.Has(Mod::kClamp);
  if (inst.type[0] == Type::kS32) {
    return clamp ? &Map<&Extended<int32_t, true>, int32_t, int32_t, uint32_t>
                 : &Map<&Extended<int32_t, false>, int32_t, int32_t, uint32_t>;
  }
  return clamp ? &Map<&Extended<uint32_t, true>, uint32_t, uint32_t, uint32_t>
               : &Map<&Extended<uint32_t, false>, uint32_t, uint32_t, uint32_t>;
}

}  // namespace tarsia::ptx
