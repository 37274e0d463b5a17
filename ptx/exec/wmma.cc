// wmma: matrices in fragments whose layout PTX leaves open. Here the elements follow each other
// through the lanes, a lane's registers and a register's halves; where the registers have room for
// more than the elements (A and B of f16), they come again.
#include <algorithm>

#include "ptx/exec/exec.h"
#include "ptx/exec/matrix.h"
#include "ptx/exec/round.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

constexpr int kMostElements = 32 * 16;

MmaShape WmmaShapeOf(const Inst& inst) {
  if (inst.Has(Mod::kM16N16K16)) return {16, 16, 16};
  if (inst.Has(Mod::kM8N32K16)) return {8, 32, 16};
  if (inst.Has(Mod::kM32N8K16)) return {32, 8, 16};
  if (inst.Has(Mod::kM16N16K8)) return {16, 16, 8};
  return {8, 8, 4};
}

// One of the matrices A (M x K), B (K x N), C and D (M x N).
struct WmmaMatrix {
  char name = 'a';
  int rows = 0;
  int columns = 0;
  Type type = Type::kNone;

  WmmaMatrix(char matrix, const MmaShape& shape, Type element)
      : name(matrix),
        rows(matrix == 'b' ? shape.k : shape.m),
        columns(matrix == 'a' ? shape.k : shape.n),
        type(element) {}
  [[nodiscard]] int elements() const { return rows * columns; }
  [[nodiscard]] int bits() const { return InfoOf(type).bits; }
  [[nodiscard]] int PerRegister() const { return std::max(1, 32 / bits()); }
  [[nodiscard]] int Registers() const {
    // Every shape has as many of f16.
    if (type == Type::kF16 && name != 'c') return 8;
    return elements() / kLanes / PerRegister();
  }
  // The element in part `e` of register `r` of a lane.
  [[nodiscard]] int ElementAt(int lane, int r, int e) const {
    return ((lane * Registers() + r) * PerRegister() + e) % elements();
  }
};

// Whether the type and the shape have fragments.
bool Exists(const WmmaMatrix& matrix, const MmaShape& shape) {
  const bool sum = matrix.name == 'c';
  switch (shape.k) {
    case 4:
      return matrix.type == Type::kF64;
    case 8:
      return matrix.type == (sum ? Type::kF32 : Type::kTF32);
    default:
      break;
  }
  constexpr Type kFactors[] = {Type::kF16, Type::kBF16, Type::kU8, Type::kS8};
  constexpr Type kSums[] = {Type::kF16, Type::kF32, Type::kS32};
  return sum ? std::ranges::find(kSums, matrix.type) != std::end(kSums)
             : std::ranges::find(kFactors, matrix.type) != std::end(kFactors);
}

// ---- load and store ----------------------------------------------------------------------------

WmmaMatrix WmmaMatrixOf(const Inst& inst) {
  const char name = inst.Has(Mod::kA) ? 'a' : inst.Has(Mod::kB) ? 'b' : 'c';
  return {name, WmmaShapeOf(inst), inst.type[0]};
}

// Calls each(register, lane, part's shift, place of the element in memory, its address).
template <typename Each>
void ForMemory(Warp& warp, const Inst& inst, int list, int address, Access access,
               const Each& each) {
  warp.divergence().RequireAligned(inst);
  warp.undefined().Require(inst, inst[address], "the address");
  const WmmaMatrix matrix = WmmaMatrixOf(inst);
  const bool row_major = inst.Has(Mod::kRow);
  const auto bytes = static_cast<uint32_t>(BytesOf(matrix.type));
  const int stride_at = std::max(list, address) + 1;
  const bool strided = inst.CountAt(stride_at) != 0;
  if (strided) warp.undefined().Require(inst, inst[stride_at], "the stride");
  const auto registers = inst.At(list);
  ForLanes(warp.mask(), [&](int lane) {
    const auto packed = static_cast<uint64_t>(row_major ? matrix.columns : matrix.rows);
    const uint64_t stride = strided ? warp.Get<uint32_t>(inst[stride_at], lane) : packed;
    for (int r = 0; r < matrix.Registers(); ++r) {
      for (int e = 0; e < matrix.PerRegister(); ++e) {
        const int element = matrix.ElementAt(lane, r, e);
        const auto row = static_cast<uint64_t>(element / matrix.columns);
        const auto column = static_cast<uint64_t>(element % matrix.columns);
        const uint64_t at = row_major ? row * stride + column : column * stride + row;
        Place place;
        const uint64_t there = warp.Address(inst[address], lane) + at * bytes;
        const bool found = warp.memory().Find(inst, inst.space, lane, there, bytes, access, &place);
        each(registers[static_cast<size_t>(r)], lane, e * matrix.bits(), found ? &place : nullptr,
             there);
      }
    }
  });
}

Step LoadWmma(Warp& warp, const Inst& inst) {
  const int bytes = BytesOf(inst.type[0]);
  uint64_t word = 0;
  uint64_t unknown = 0;
  Origin origin;
  ForMemory(warp, inst, 0, 1, Access::kRead,
            [&](const Operand& reg, int lane, int shift, const Place* place, uint64_t address) {
              if (shift == 0) word = unknown = 0;
              if (place != nullptr) {
                const uint64_t undef = ~ReadBytes(place->defined, bytes) & AllBits(bytes);
                word |= ReadBytes(place->data, bytes) << shift;
                unknown |= undef << shift;
                if (undef != 0)
                  origin = warp.undefined().OriginOfLoad(inst, inst.space, lane, address, 1);
              }
              warp.SetBits(reg, lane, word);
              warp.undefined().Set(reg, lane, unknown, origin);
            });
  return Step::kNext;
}

Step StoreWmma(Warp& warp, const Inst& inst) {
  const int bytes = BytesOf(inst.type[0]);
  const auto size = static_cast<uint64_t>(bytes);
  ForMemory(warp, inst, 1, 0, Access::kWrite,
            [&](const Operand& reg, int lane, int shift, const Place* place, uint64_t address) {
              if (place == nullptr) return;
              if (ResolveGeneric(inst.space, &address) == Space::kGlobal) {
                warp.undefined().RequireStored(inst, reg, lane, reg.bytes);
              } else {
                warp.undefined().NoteStore(inst, reg, Space::kShared, lane, address, size);
              }
              WriteBytes(place->data, bytes, warp.Bits(reg, lane) >> shift);
              WriteBytes(place->defined, bytes, ~warp.undefined().Bits(reg, lane) >> shift);
            });
  return Step::kNext;
}

bool MemoryFits(const Inst& inst, int list) {
  const WmmaMatrix matrix = WmmaMatrixOf(inst);
  return Exists(matrix, WmmaShapeOf(inst)) && inst.CountAt(list) == matrix.Registers();
}

// ---- multiply ----------------------------------------------------------------------------------

template <typename T>
struct Values {
  T value[kMostElements] = {};
  bool undef[kMostElements] = {};
};

template <typename T>
void Read(const Warp& warp, std::span<const Operand> registers, const WmmaMatrix& matrix,
          Values<T>* values) {
  const uint64_t mask = AllBits(BytesOf(matrix.type));
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int r = 0; r < matrix.Registers(); ++r) {
      const Operand& reg = registers[static_cast<size_t>(r)];
      const uint64_t word = warp.Bits(reg, lane);
      const uint64_t unknown = warp.undefined().Bits(reg, lane);
      for (int e = 0; e < matrix.PerRegister(); ++e) {
        const int element = matrix.ElementAt(lane, r, e);
        const int shift = e * matrix.bits();
        values->value[element] = Decode(matrix.type, word >> shift & mask, T{});
        values->undef[element] = (unknown >> shift & mask) != 0;
      }
    }
  }
}

// The types of D, A, B and C.
struct Types {
  Type d, a, b, c;
};

Types TypesOf(const Inst& inst) {
  if (inst.op == Op::kWmmaHalf) return {inst.type[0], Type::kF16, Type::kF16, inst.type[1]};
  return {inst.type[0], inst.type[1], inst.type[2], inst.type[3]};
}

template <typename T, typename Acc>
Step MultiplyWmma(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  const MmaShape shape = WmmaShapeOf(inst);
  const Types types = TypesOf(inst);
  Values<T> a;
  Values<T> b;
  Values<T> c;
  Read(warp, inst.At(1), {'a', shape, types.a}, &a);
  Read(warp, inst.At(2), {'b', shape, types.b}, &b);
  Read(warp, inst.At(3), {'c', shape, types.c}, &c);
  const WmmaMatrix into('c', shape, types.d);
  Values<uint64_t> d;
  for (int element = 0; element < into.elements(); ++element) {
    const int row = element / shape.n;
    const int column = element % shape.n;
    auto sum = static_cast<Acc>(c.value[element]);
    bool undef = c.undef[element];
    for (int k = 0; k < shape.k; ++k) {
      const int i = row * shape.k + k;
      const int j = k * shape.n + column;
      undef = undef || a.undef[i] || b.undef[j];
      if constexpr (std::is_same_v<Acc, double>) {
        sum = types.d == Type::kF64 ? FmaF64(a.value[i], b.value[j], sum, RoundingOf(inst))
                                    : sum + a.value[i] * b.value[j];
      } else {
        sum += static_cast<Acc>(a.value[i]) * b.value[j];
      }
    }
    d.value[element] = EncodeResult(sum, types.d, inst.Has(Mod::kSatfinite));
    d.undef[element] = undef;
  }
  ForLanes(warp.mask(), [&](int lane) {
    for (int r = 0; r < into.Registers(); ++r) {
      uint64_t word = 0;
      uint64_t unknown = 0;
      for (int e = 0; e < into.PerRegister(); ++e) {
        const int element = into.ElementAt(lane, r, e);
        word |= d.value[element] << (e * into.bits());
        if (d.undef[element]) unknown |= AllBits(BytesOf(types.d)) << (e * into.bits());
      }
      warp.SetBits(inst.At(0)[static_cast<size_t>(r)], lane, word);
      warp.undefined().Set(inst.At(0)[static_cast<size_t>(r)], lane, unknown);
    }
  });
  return Step::kNext;
}

bool MmaFits(const Inst& inst) {
  const MmaShape shape = WmmaShapeOf(inst);
  const Types types = TypesOf(inst);
  const WmmaMatrix matrices[] = {
      {'c', shape, types.d}, {'a', shape, types.a}, {'b', shape, types.b}, {'c', shape, types.c}};
  for (int i = 0; i < 4; ++i) {
    if (!Exists(matrices[i], shape) || inst.CountAt(i) != matrices[i].Registers()) return false;
  }
  return true;
}

}  // namespace

PTX_BIND(WmmaLoad) { return MemoryFits(inst, 0) ? &LoadWmma : nullptr; }
PTX_BIND(WmmaLoadF64) { return MemoryFits(inst, 0) ? &LoadWmma : nullptr; }
PTX_BIND(WmmaStore) { return MemoryFits(inst, 1) ? &StoreWmma : nullptr; }
PTX_BIND(WmmaStoreF64) { return MemoryFits(inst, 1) ? &StoreWmma : nullptr; }
PTX_BIND(WmmaHalf) { return MmaFits(inst) ? &MultiplyWmma<double, double> : nullptr; }
PTX_BIND(WmmaFloat) {
  const bool same = inst.type[1] == inst.type[2];
  return same && MmaFits(inst) ? &MultiplyWmma<double, double> : nullptr;
}
PTX_BIND(WmmaInt) {
  const bool same = inst.type[1] == inst.type[2];
  return same && MmaFits(inst) ? &MultiplyWmma<int32_t, int64_t> : nullptr;
}
PTX_BIND(WmmaF64) { return MmaFits(inst) ? &MultiplyWmma<double, double> : nullptr; }

}  // namespace tarsia::ptx
