// atom and red: read, compute and write in one step that no other thread sees within.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "ptx/exec/exec.h"
#include "ptx/machine/atomic.h"
#include "ptx/machine/numeric.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

enum class Atomic : uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExch, kCas };

Atomic AtomicOf(const Inst& inst) {
  struct Name {
    Mod mod;
    Atomic atomic;
  };
  static constexpr Name kNames[] = {
      {Mod::kAdd, Atomic::kAdd}, {Mod::kMin, Atomic::kMin}, {Mod::kMax, Atomic::kMax},
      {Mod::kInc, Atomic::kInc}, {Mod::kDec, Atomic::kDec}, {Mod::kAnd, Atomic::kAnd},
      {Mod::kOr, Atomic::kOr},   {Mod::kXor, Atomic::kXor}, {Mod::kExch, Atomic::kExch},
      {Mod::kCas, Atomic::kCas},
  };
  for (const Name& name : kNames) {
    if (inst.Has(name.mod)) return name.atomic;
  }
  return Atomic::kExch;
}

uint16_t SumOfHalves(uint16_t a, uint16_t b, const FloatFormat& format) {
  const double sum = FromFormat(a, format) + FromFormat(b, format);
  return static_cast<uint16_t>(NearestCode(sum, format));
}

// Only sums: other operations on floats do not exist.
uint64_t SumOfFloats(uint64_t a, uint64_t b, Type type, bool flush) {
  if (type == Type::kF64) {
    return std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  }
  if (type == Type::kF32) {
    return SumOfF32(static_cast<uint32_t>(a), static_cast<uint32_t>(b), flush);
  }
  const bool f16 = type == Type::kF16 || type == Type::kF16X2;
  const FloatFormat& format = f16 ? kFormatF16 : kFormatBF16;
  uint64_t out = 0;
  for (int shift = 0; shift < InfoOf(type).bits; shift += 16) {
    out |= uint64_t{SumOfHalves(static_cast<uint16_t>(a >> shift),
                                static_cast<uint16_t>(b >> shift), format)}
           << shift;
  }
  return out;
}

int64_t SignedOf(uint64_t bits, int bytes) {
  return bytes == 4 ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits);
}

// A NaN gives way to a number.
uint64_t ExtremeOfHalves(uint64_t a, uint64_t b, Type type, bool least) {
  const FloatFormat& format = type == Type::kF16 ? kFormatF16 : kFormatBF16;
  const double x = FromFormat(static_cast<uint16_t>(a), format);
  const double y = FromFormat(static_cast<uint16_t>(b), format);
  if (x != x) return b;
  if (y != y) return a;
  return (x < y || (x == y && std::signbit(x))) == least ? a : b;
}

// What memory holds afterwards.
uint64_t Updated(Atomic atomic, Type type, bool flush, uint64_t old, uint64_t b, uint64_t c) {
  const bool is_float = IsFloat(type) || InfoOf(type).kind == TypeKind::kPacked;
  const bool is_signed = IsSigned(type);
  const int bytes = BytesOf(type);
  switch (atomic) {
    case Atomic::kAdd:
      return is_float ? SumOfFloats(old, b, type, flush) : old + b;
    case Atomic::kMin:
      if (is_float) return ExtremeOfHalves(old, b, type, true);
      if (is_signed) return SignedOf(old, bytes) < SignedOf(b, bytes) ? old : b;
      return std::min(old, b);
    case Atomic::kMax:
      if (is_float) return ExtremeOfHalves(old, b, type, false);
      if (is_signed) return SignedOf(old, bytes) > SignedOf(b, bytes) ? old : b;
      return std::max(old, b);
    case Atomic::kInc:
      return old >= b ? 0 : old + 1;
    case Atomic::kDec:
      return old == 0 || old > b ? b : old - 1;
    case Atomic::kAnd:
      return old & b;
    case Atomic::kOr:
      return old | b;
    case Atomic::kXor:
      return old ^ b;
    case Atomic::kExch:
      return b;
    case Atomic::kCas:
      return old == b ? c : old;
  }
  return old;
}

// What memory held, and what it holds now.
struct Exchanged {
  uint64_t old = 0;
  uint64_t now = 0;
};

template <typename T>
Exchanged Exchange(uint8_t* at, Atomic atomic, Type type, bool flush, uint64_t b, uint64_t c) {
  std::atomic_ref<T> memory(*reinterpret_cast<T*>(at));
  T old = memory.load();
  T now = 0;
  do {
    now = static_cast<T>(Updated(atomic, type, flush, old, b, c));
  } while (!memory.compare_exchange_weak(old, now));
  return {old, now};
}

Exchanged ExchangeBytes(uint8_t* at, Atomic atomic, Type type, bool flush, uint64_t b, uint64_t c) {
  switch (BytesOf(type)) {
    case 2:
      return Exchange<uint16_t>(at, atomic, type, flush, b, c);
    case 4:
      return Exchange<uint32_t>(at, atomic, type, flush, b, c);
    default:
      return Exchange<uint64_t>(at, atomic, type, flush, b, c);
  }
}

// Whether a compare-and-swap may do with undefined bits of memory: it compares them with an earlier
// look at the same place, which asks if they have changed, and puts them back as they were.
bool SwapsInPlace(Warp& warp, const Operand& expected, const Operand& swap, int lane,
                  uint64_t address, uint64_t old_undef) {
  const uint64_t undef = warp.undefined().Bits(expected, lane);
  return (old_undef & ~undef) == 0 && (warp.undefined().Bits(swap, lane) & ~undef) == 0 &&
         warp.undefined().AreThoseAt(expected, lane, address) &&
         warp.undefined().AreThoseAt(swap, lane, address);
}

// Which bits of memory are undefined afterwards. Bitwise operations keep to the bit; of others one
// undefined bit spoils all.
uint64_t UndefAfter(Atomic atomic, uint64_t old, uint64_t old_undef, uint64_t b, uint64_t undef) {
  switch (atomic) {
    case Atomic::kAnd:
      return (old_undef | undef) & (old | old_undef) & (b | undef);
    case Atomic::kOr:
      return (old_undef & ~(b & ~undef)) | (undef & ~(old & ~old_undef));
    case Atomic::kXor:
      return old_undef | undef;
    case Atomic::kExch:
      return undef;
    case Atomic::kAdd:
    case Atomic::kMin:
    case Atomic::kMax:
    case Atomic::kInc:
    case Atomic::kDec:
    case Atomic::kCas:
      break;
  }
  return (old_undef | undef) != 0 ? ~uint64_t{0} : 0;
}

bool IsBitwise(Atomic atomic) {
  return atomic == Atomic::kAnd || atomic == Atomic::kOr || atomic == Atomic::kXor;
}

struct AtomicShape {
  int dest = -1;
  int address = 0;
  int value = 1;
  int swap = -1;
};

// What a lane found, and which bits of it were undefined.
struct Found {
  uint64_t old = 0;
  uint64_t undef = 0;
  Origin origin;       // of those
  bool there = false;  // else nothing was, which is reported
  bool changed = false;
};

// A lane's step at an address within its space.
void UpdatePlace(Warp& warp, const Inst& inst, const AtomicShape& shape, int lane, Space space,
                 uint64_t address, const Place& place, Found* found) {
  const Atomic atomic = AtomicOf(inst);
  const Type type = inst.type[0];
  const int bytes = BytesOf(type);
  const Operand& value = inst[shape.value];
  const Operand* swap = shape.swap >= 0 ? &inst[shape.swap] : nullptr;
  const bool global = space == Space::kGlobal;
  uint64_t undef = warp.undefined().Bits(value, lane) |
                   (swap != nullptr ? warp.undefined().Bits(*swap, lane) : 0);
  const auto size = static_cast<uint64_t>(bytes);
  found->undef = ~ReadBytes(place.defined, bytes) & AllBits(bytes);
  if (found->undef != 0)
    found->origin = warp.undefined().OriginOfLoad(inst, space, lane, address, size);
  const bool in_place =
      swap != nullptr && SwapsInPlace(warp, value, *swap, lane, address, found->undef);
  // Bits that bitwise operations leave as they were do not matter.
  const bool reads = atomic != Atomic::kExch && !IsBitwise(atomic);
  if ((undef | (reads ? found->undef : 0)) != 0 && global && !in_place) {
    warp.undefined().Report(
        inst, lane, "updates global memory with bits that were never written",
        undef != 0 ? warp.undefined().OriginOfResult(inst, lane) : found->origin);
    undef = found->undef = 0;
  } else if (undef != 0) {
    warp.undefined().NoteStore(inst, value, space, lane, address, size);
  }
  if (warp.checking()) warp.races().NoteStrongWrite(inst, lane, space, address);
  const uint64_t b = warp.Bits(value, lane);
  const uint64_t c = swap != nullptr ? warp.Bits(*swap, lane) : 0;
  const Exchanged exchanged = ExchangeBytes(place.data, atomic, type, global, b, c);
  found->old = exchanged.old;
  found->changed = exchanged.now != exchanged.old;
  if (warp.checking()) warp.races().NoteStrongRead(inst, lane, space, address);
  uint64_t undef_after = UndefAfter(atomic, found->old, found->undef, b, undef);
  if (in_place) {
    undef_after =
        found->undef & (found->old == b ? warp.undefined().Bits(*swap, lane) : ~uint64_t{0});
    if (warp.undefined().Bits(value, lane) != 0)
      warp.undefined().SetLoadSource(value, lane, {address * 8, true});
  }
  WriteBytes(place.defined, bytes, ~undef_after);
}

// A lane's step; `address` becomes one within its space.
Found UpdateLane(Warp& warp, const Inst& inst, const AtomicShape& shape, int lane,
                 uint64_t* address) {
  const uint64_t whole = *address;
  const Space space = ResolveGeneric(inst.space, address);
  Found found;
  found.there = warp.memory().FindAndUpdate(
      inst, inst.space, lane, whole, static_cast<uint32_t>(BytesOf(inst.type[0])),
      [&](const Place& place) {
        UpdatePlace(warp, inst, shape, lane, space, *address, place, &found);
      });
  return found;
}

Step RunAtomic(Warp& warp, const Inst& inst, const AtomicShape& shape) {
  const Operand& address = inst[shape.address];
  warp.undefined().Require(inst, address, "the address");
  bool changes = false;
  ForLanes(warp.mask(), [&](int lane) {
    uint64_t at = warp.Address(address, lane);
    const Found found = UpdateLane(warp, inst, shape, lane, &at);
    changes = changes || found.changed;
    if (shape.dest < 0) return;
    warp.SetBits(inst[shape.dest], lane, found.old);
    warp.undefined().Set(inst[shape.dest], lane, found.undef, found.origin);
    if (found.there && found.undef != 0)
      warp.undefined().SetLoadSource(inst[shape.dest], lane, {at * 8});
  });
  if (changes) {
    warp.divergence().NoteProgress();
  } else {
    warp.divergence().NotePoll(16);
  }
  return Step::kNext;
}

// Which types an operation takes. Minima and maxima of halves exist for vectors alone
// (atomic_vector.cc).
bool Takes(const Inst& inst) {
  const Type type = inst.type[0];
  const bool bits = InfoOf(type).kind == TypeKind::kBits;
  const bool is_half =
      type == Type::kF16 || type == Type::kF16X2 || type == Type::kBF16 || type == Type::kBF16X2;
  if (is_half != inst.Has(Mod::kNoFtz)) return false;
  switch (AtomicOf(inst)) {
    case Atomic::kAdd:
      return !bits && type != Type::kS64;
    case Atomic::kMin:
    case Atomic::kMax:
      return IsInteger(type);
    case Atomic::kInc:
    case Atomic::kDec:
      return type == Type::kU32;
    case Atomic::kAnd:
    case Atomic::kOr:
    case Atomic::kXor:
    case Atomic::kExch:
    case Atomic::kCas:
      break;
  }
  return bits;
}

}  // namespace

uint64_t UpdateMemory(const Inst& inst, Type type, uint8_t* at, uint64_t operand) {
  return ExchangeBytes(at, AtomicOf(inst), type, false, operand, 0).old;
}

PTX_BIND(Atom) {
  if (!Takes(inst)) return nullptr;
  return [](Warp& warp, const Inst& i) { return RunAtomic(warp, i, {0, 1, 2, -1}); };
}
PTX_BIND(AtomCas) {
  return [](Warp& warp, const Inst& i) { return RunAtomic(warp, i, {0, 1, 2, 3}); };
}
PTX_BIND(Red) {
  if (!Takes(inst)) return nullptr;
  return [](Warp& warp, const Inst& i) { return RunAtomic(warp, i, {-1, 0, 1, -1}); };
}

}  // namespace tarsia::ptx
