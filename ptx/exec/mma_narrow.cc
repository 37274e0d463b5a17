// mma on integers of 4 bits and on single bits. The fragments are those of matrix.h.
#include "ptx/exec/exec.h"
#include "ptx/exec/matrix.h"

namespace tarsia::ptx {
namespace {

constexpr int kMostNarrowK = 256;

MmaShape NarrowShapeOf(const Inst& inst) {
  if (inst.Has(Mod::kM8N8K32)) return {8, 8, 32};
  if (inst.Has(Mod::kM16N8K32)) return {16, 8, 32};
  if (inst.Has(Mod::kM16N8K64)) return {16, 8, 64};
  if (inst.Has(Mod::kM8N8K128)) return {8, 8, 128};
  if (inst.Has(Mod::kM16N8K128)) return {16, 8, 128};
  return {16, 8, 256};
}

// A and B as rows and columns along K.
struct Lines {
  int8_t value[16][kMostNarrowK] = {};
  bool undef[16] = {};
};

int8_t Narrow(Type type, uint32_t code) {
  return static_cast<int8_t>(type == Type::kS4 && code >= 8 ? static_cast<int>(code) - 16
                                                            : static_cast<int>(code));
}

void Read(const Warp& warp, std::span<const Operand> registers, Type type, const Fragment& at,
          Lines* lines) {
  const int bits = InfoOf(type).bits;
  const uint32_t mask = (1U << bits) - 1;
  for (int r = 0; r < at.registers(); ++r) {
    const Operand& reg = registers[static_cast<size_t>(r)];
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto word = warp.Get<uint32_t>(reg, lane);
      const bool along_rows = at.matrix == 'A';
      const int line = along_rows ? at.Row(lane, r, 0) : at.Column(lane, r, 0);
      lines->undef[line] |= warp.undefined().Bits(reg, lane) != 0;
      for (int e = 0; e < at.per_register; ++e) {
        const int k = along_rows ? at.Column(lane, r, e) : at.Row(lane, r, e);
        lines->value[line][k] = Narrow(type, word >> (e * bits) & mask);
      }
    }
  }
}

enum class Product : uint8_t { kTimes, kAnd, kXor };

template <Product kProduct>
int64_t Dot(const int8_t* a, const int8_t* b, int k) {
  int sum = 0;
  for (int i = 0; i < k; ++i) {
    sum += kProduct == Product::kXor   ? a[i] ^ b[i]
           : kProduct == Product::kAnd ? a[i] & b[i]
                                       : a[i] * b[i];
  }
  return sum;
}

template <Product kProduct>
Step MmaNarrow(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  const MmaShape shape = NarrowShapeOf(inst);
  Lines a;
  Lines b;
  Read(warp, inst.At(1), inst.type[1], {'A', shape, PerRegister(inst.type[1])}, &a);
  Read(warp, inst.At(2), inst.type[2], {'B', shape, PerRegister(inst.type[2])}, &b);
  const Fragment into{'C', shape, 1};
  for (int r = 0; r < into.registers(); ++r) {
    const Operand& dest = inst.At(0)[static_cast<size_t>(r)];
    const Operand& c = inst.At(3)[static_cast<size_t>(r)];
    ForLanes(warp.mask(), [&](int lane) {
      const int row = into.Row(lane, r, 0);
      const int column = into.Column(lane, r, 0);
      const int64_t sum =
          warp.Get<int32_t>(c, lane) + Dot<kProduct>(a.value[row], b.value[column], shape.k);
      const bool undef = a.undef[row] || b.undef[column] || warp.undefined().Bits(c, lane) != 0;
      StoreLane(warp.Dest(dest), lane,
                static_cast<uint32_t>(EncodeResult(sum, Type::kS32, inst.Has(Mod::kSatfinite))));
      warp.undefined().Set(dest, lane, undef ? 0xFFFFFFFF : 0);
    });
  }
  return Step::kNext;
}

bool NarrowCountsFit(const Inst& inst) {
  const MmaShape shape = NarrowShapeOf(inst);
  const int bits = InfoOf(inst.type[1]).bits;
  return inst.CountAt(0) == shape.m * shape.n / kLanes && inst.CountAt(3) == inst.CountAt(0) &&
         inst.CountAt(1) == shape.m * shape.k * bits / 32 / kLanes &&
         inst.CountAt(2) == shape.n * shape.k * bits / 32 / kLanes;
}

}  // namespace

PTX_BIND(MmaInt4) { return NarrowCountsFit(inst) ? &MmaNarrow<Product::kTimes> : nullptr; }
PTX_BIND(MmaBit) {
  if (!NarrowCountsFit(inst)) return nullptr;
  return inst.Has(Mod::kXor) ? &MmaNarrow<Product::kXor> : &MmaNarrow<Product::kAnd>;
}

}  // namespace tarsia::ptx
