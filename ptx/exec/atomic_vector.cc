// atom and red on vectors of floats in global memory. Each element is updated in one step; the
// vector as a whole is not.
#include <atomic>

#include "ptx/exec/exec.h"
#include "ptx/machine/numeric.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

constexpr int kHalfBits = 16;

enum class Update : uint8_t { kAdd, kMin, kMax };

Update UpdateOf(const Inst& inst) {
  if (inst.Has(Mod::kAdd)) return Update::kAdd;
  return inst.Has(Mod::kMin) ? Update::kMin : Update::kMax;
}

const FloatFormat& VectorFormatOf(Type type) {
  if (type == Type::kF32) return kFormatF32;
  return type == Type::kF16 || type == Type::kF16X2 ? kFormatF16 : kFormatBF16;
}

// One number. Of two, of which one is NaN, the least and the greatest is the other; -0 is less
// than +0.
uint32_t Updated(Update update, const FloatFormat& format, uint32_t a, uint32_t b) {
  if (format.mantissa_bits == kFormatF32.mantissa_bits) {
    // They only add, and flush as single numbers do: ptxas 13.5 makes REDG.E.ADD.F32x4.FTZ of it.
    return SumOfF32(a, b, true);
  }
  const double x = FromFormat(a, format);
  const double y = FromFormat(b, format);
  if (update == Update::kAdd) return NearestCode(x + y, format);
  if (std::isnan(x)) return std::isnan(y) ? format.nan : b;
  if (std::isnan(y)) return a;
  const bool a_less = x < y || (x == y && std::signbit(x));
  return a_less == (update == Update::kMin) ? a : b;
}

// An element: one number, or two halves.
template <typename T>
uint32_t Exchange(uint8_t* at, Update update, Type type, uint32_t b) {
  const FloatFormat& format = VectorFormatOf(type);
  const int width = format.exponent_bits + format.mantissa_bits + 1;
  const auto mask = static_cast<uint32_t>(AllBits(width / 8));
  const bool pair = InfoOf(type).bits == 2 * kHalfBits && width == kHalfBits;
  std::atomic_ref<T> memory(*reinterpret_cast<T*>(at));
  T old = memory.load();
  uint32_t now = 0;
  do {
    now = Updated(update, format, old & mask, b & mask);
    if (pair) now |= Updated(update, format, old >> kHalfBits, b >> kHalfBits) << kHalfBits;
  } while (!memory.compare_exchange_weak(old, static_cast<T>(now)));
  return old;
}

// The places of the operands; no destination in red.
struct VectorShape {
  int dest = -1;
  int address = 0;
  int value = 1;
};

void UpdateElement(Warp& warp, const Inst& inst, const VectorShape& shape, size_t element, int lane,
                   const Place& place) {
  const Type type = inst.type[0];
  const int bytes = BytesOf(type);
  const Operand& value = inst.At(shape.value)[element];
  uint8_t* const data = place.data + element * static_cast<size_t>(bytes);
  uint8_t* const defined = place.defined + element * static_cast<size_t>(bytes);
  const uint64_t old_undef = ~ReadBytes(defined, bytes) & AllBits(bytes);
  const uint64_t undef = warp.undefined().Bits(value, lane);
  if ((old_undef | undef) != 0) {
    warp.undefined().Report(
        inst, lane, "updates global memory with bits that were never written",
        undef != 0 ? warp.undefined().OriginOfResult(inst, lane) : Origin::Of(inst));
    WriteBytes(defined, bytes, AllBits(bytes));
  }
  const auto b = static_cast<uint32_t>(warp.Bits(value, lane));
  const Update update = UpdateOf(inst);
  const uint32_t old = bytes == 2 ? Exchange<uint16_t>(data, update, type, b)
                                  : Exchange<uint32_t>(data, update, type, b);
  if (shape.dest < 0) return;
  const Operand& dest = inst.At(shape.dest)[element];
  warp.SetBits(dest, lane, old);
  warp.undefined().Set(dest, lane, 0);
}

Step RunVectorAtomic(Warp& warp, const Inst& inst, const VectorShape& shape) {
  const Operand& address = inst[shape.address];
  warp.undefined().Require(inst, address, "the address");
  const auto elements = static_cast<size_t>(inst.CountAt(shape.value));
  const auto bytes = static_cast<uint32_t>(elements) * static_cast<uint32_t>(BytesOf(inst.type[0]));
  ForLanes(warp.mask(), [&](int lane) {
    const auto update = [&](const Place& place) {
      for (size_t i = 0; i < elements; ++i) UpdateElement(warp, inst, shape, i, lane, place);
    };
    const uint64_t at = warp.Address(address, lane);
    if (warp.memory().FindAndUpdate(inst, Space::kGeneric, lane, at, bytes, update)) return;
    if (shape.dest < 0) return;
    for (const Operand& dest : inst.At(shape.dest)) {
      warp.SetBits(dest, lane, 0);
      warp.undefined().Set(dest, lane, 0);
    }
  });
  warp.divergence().NoteProgress();
  return Step::kNext;
}

// f32 only adds; halves say that they keep subnormals; a vector has at most 16 bytes.
bool Fits(const Inst& inst) {
  const bool f32 = inst.type[0] == Type::kF32;
  const int elements = inst.Has(Mod::kV2) ? 2 : inst.Has(Mod::kV4) ? 4 : 8;
  return f32 != inst.Has(Mod::kNoFtz) && (!f32 || inst.Has(Mod::kAdd)) &&
         elements * BytesOf(inst.type[0]) <= 16;
}

Handler AtomFor(const Inst& inst) {
  if (!Fits(inst)) return nullptr;
  return [](Warp& warp, const Inst& i) { return RunVectorAtomic(warp, i, {0, 1, 2}); };
}
Handler RedFor(const Inst& inst) {
  if (!Fits(inst)) return nullptr;
  return [](Warp& warp, const Inst& i) { return RunVectorAtomic(warp, i, {-1, 0, 1}); };
}

}  // namespace

PTX_BIND(AtomVector) { return AtomFor(inst); }
PTX_BIND(RedVector) { return RedFor(inst); }

}  // namespace tarsia::ptx
