// ldmatrix, stmatrix, mma. Where the elements of a fragment lie (PTX ISA, "Matrix Fragments"), with
// g = lane / 4, t = lane % 4 and E elements a register:
//   A  register r, element e: row g + 8 (r % 2), column 4E (r / 2) + E t + e   (8 rows: r for r /
//   2) B  register r, element e: row 4E r + E t + e, column g C  32 bits and more: row g + 8 (r /
//   2), column 2t + r % 2; 16 bits: row g + 8 r, column 2t + e
#include <algorithm>
#include <array>

#include "vm/ptx/access.h"
#include "vm/ptx/exec.h"
#include "vm/ptx/numeric.h"
#include "vm/ptx/round.h"

namespace tarsia::ptx {
namespace {

// ---- ldmatrix and stmatrix ---------------------------------------------------------------------

int MatricesOf(const Inst& inst) { return inst.Has(Mod::kX4) ? 4 : inst.Has(Mod::kX2) ? 2 : 1; }

// The row whose address lane `8 * matrix + row` holds.
bool FindRow(Warp& warp, const Inst& inst, const Operand& address, int lane, Access access,
             Place* place) {
  const Space space = inst.space == Space::kGeneric ? Space::kGeneric : Space::kShared;
  return warp.Find(inst, space, lane, warp.Address(address, lane), 16, access, place);
}

// Element e of register 0 in `lane` is at this row and column of the matrix.
void ElementAt(const Inst& inst, int lane, int e, int* row, int* column) {
  *row = lane / 4;
  *column = 2 * (lane % 4) + e;
  if (inst.Has(Mod::kTrans)) std::swap(*row, *column);
}

Step LoadMatrix(Warp& warp, const Inst& inst) {
  warp.NeedAligned(inst);
  warp.NeedDefined(inst, inst[1], "the address");
  for (int m = 0; m < MatricesOf(inst); ++m) {
    uint16_t data[8][8] = {};
    uint16_t defined[8][8] = {};
    for (int row = 0; row < 8; ++row) {
      Place place;
      if (!FindRow(warp, inst, inst[1], 8 * m + row, Access::kRead, &place)) continue;
      for (int column = 0; column < 8; ++column) {
        data[row][column] = static_cast<uint16_t>(ReadBytes(place.data + 2 * column, 2));
        defined[row][column] = static_cast<uint16_t>(ReadBytes(place.defined + 2 * column, 2));
      }
    }
    const Operand& dest = inst.At(0)[static_cast<size_t>(m)];
    ForLanes(warp.mask(), [&](int lane) {
      uint32_t bits = 0;
      uint32_t known = 0;
      for (int e = 0; e < 2; ++e) {
        int row = 0;
        int column = 0;
        ElementAt(inst, lane, e, &row, &column);
        bits |= uint32_t{data[row][column]} << (16 * e);
        known |= uint32_t{defined[row][column]} << (16 * e);
      }
      warp.SetBits(dest, lane, bits);
      warp.SetUndef(dest, lane, static_cast<uint32_t>(~known));
    });
  }
  return Step::kNext;
}

Step StoreMatrix(Warp& warp, const Inst& inst) {
  warp.NeedAligned(inst);
  warp.NeedDefined(inst, inst[0], "the address");
  for (int m = 0; m < MatricesOf(inst); ++m) {
    std::array<Place, 8> rows{};
    std::array<bool, 8> found{};
    for (int row = 0; row < 8; ++row) {
      const auto i = static_cast<size_t>(row);
      found[i] = FindRow(warp, inst, inst[0], 8 * m + row, Access::kWrite, &rows[i]);
    }
    const Operand& source = inst.At(1)[static_cast<size_t>(m)];
    ForLanes(warp.mask(), [&](int lane) {
      const auto bits = warp.Get<uint32_t>(source, lane);
      const auto undef = static_cast<uint32_t>(warp.Undef(source, lane));
      for (int e = 0; e < 2; ++e) {
        int row = 0;
        int column = 0;
        ElementAt(inst, lane, e, &row, &column);
        const auto i = static_cast<size_t>(row);
        if (!found[i]) continue;
        WriteBytes(rows[i].data + 2 * column, 2, bits >> (16 * e));
        WriteBytes(rows[i].defined + 2 * column, 2, ~undef >> (16 * e));
      }
    });
  }
  return Step::kNext;
}

// ---- mma ---------------------------------------------------------------------------------------

struct MmaShape {
  int m = 16;
  int n = 8;
  int k = 0;
};

MmaShape ShapeOf(const Inst& inst) {
  if (inst.Has(Mod::kM8N8K4)) return {8, 8, 4};
  if (inst.Has(Mod::kM8N8K16)) return {8, 8, 16};
  if (inst.Has(Mod::kM16N8K4)) return {16, 8, 4};
  if (inst.Has(Mod::kM16N8K8)) return {16, 8, 8};
  if (inst.Has(Mod::kM16N8K16)) return {16, 8, 16};
  return {16, 8, 32};
}

constexpr int kMostK = 32;

// A matrix of decoded elements and whether they are undefined.
template <typename T, int kRows, int kColumns>
struct Matrix {
  T value[kRows][kColumns] = {};
  bool undef[kRows][kColumns] = {};
};

template <typename T>
using MatrixA = Matrix<T, 16, kMostK>;
template <typename T>
using MatrixB = Matrix<T, kMostK, 8>;
template <typename T>
using MatrixC = Matrix<T, 16, 8>;

// Calls each(lane, register, element, row, column) for all of A, or of B.
template <typename Each>
void ForA(const MmaShape& shape, int per_register, const Each& each) {
  const int registers = shape.m * shape.k / 32 / per_register;
  const int halves = shape.m / 8;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int r = 0; r < registers; ++r) {
      for (int e = 0; e < per_register; ++e) {
        const int column = 4 * per_register * (r / halves) + per_register * (lane % 4) + e;
        each(lane, r, e, lane / 4 + 8 * (r % halves), column);
      }
    }
  }
}

template <typename Each>
void ForB(const MmaShape& shape, int per_register, const Each& each) {
  const int registers = shape.k * shape.n / 32 / per_register;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int r = 0; r < registers; ++r) {
      for (int e = 0; e < per_register; ++e) {
        each(lane, r, e, 4 * per_register * r + per_register * (lane % 4) + e, lane / 4);
      }
    }
  }
}

template <typename Each>
void ForC(const MmaShape& shape, int per_register, const Each& each) {
  const int registers = shape.m * shape.n / 32 / per_register;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int r = 0; r < registers; ++r) {
      for (int e = 0; e < per_register; ++e) {
        const int row = lane / 4 + 8 * (per_register == 2 ? r : r / 2);
        each(lane, r, e, row, 2 * (lane % 4) + (per_register == 2 ? e : r % 2));
      }
    }
  }
}

// An element of `bits` bits of a register, decoded.
template <typename T>
struct Element {
  Type type;
  [[nodiscard]] T Decode(uint64_t code) const;
};

template <>
float Element<float>::Decode(uint64_t code) const {
  const auto bits = static_cast<uint32_t>(code);
  if (type == Type::kF16) return static_cast<float>(FromFormat(bits, kFormatF16));
  if (type == Type::kBF16) return static_cast<float>(FromFormat(bits, kFormatBF16));
  if (type == Type::kE4M3) return static_cast<float>(FromFormat(bits, kFormatE4M3));
  if (type == Type::kE5M2) return static_cast<float>(FromFormat(bits, kFormatE5M2));
  // Of a tf32 the low 13 bits are not looked at.
  return std::bit_cast<float>(type == Type::kTF32 ? bits & 0xFFFFE000 : bits);
}

template <>
double Element<double>::Decode(uint64_t code) const {
  return std::bit_cast<double>(code);
}

template <>
int32_t Element<int32_t>::Decode(uint64_t code) const {
  if (type == Type::kS8) return static_cast<int8_t>(code);
  return type == Type::kU8 ? static_cast<uint8_t>(code) : static_cast<int32_t>(code);
}

template <typename T, typename M, typename Walk>
void Read(Warp& warp, const Inst& inst, int place, Type type, const Walk& walk, M* matrix) {
  const auto registers = inst.At(place);
  const Element<T> element{type};
  const int bits = InfoOf(type).bits;
  walk([&](int lane, int r, int e, int row, int column) {
    const Operand& reg = registers[static_cast<size_t>(r)];
    const uint64_t mask = AllBits(bits / 8);
    matrix->value[row][column] = element.Decode(warp.Bits(reg, lane) >> (e * bits) & mask);
    matrix->undef[row][column] = (warp.Undef(reg, lane) >> (e * bits) & mask) != 0;
  });
}

int PerRegister(Type type) { return type == Type::kF64 ? 1 : 32 / InfoOf(type).bits; }

// acc + a * b.
float Accumulate(float acc, float a, float b, RoundMode) { return std::fma(a, b, acc); }
double Accumulate(double acc, double a, double b, RoundMode mode) {
  return FmaF64(a, b, acc, mode);
}
int64_t Accumulate(int64_t acc, int32_t a, int32_t b, RoundMode) { return acc + int64_t{a} * b; }

uint64_t EncodeResult(float value, Type type, bool) {
  if (type == Type::kF16) {
    return RoundToFormat(double{value}, kFormatF16, RoundMode::kNearest);
  }
  return std::bit_cast<uint32_t>(CanonicalF32(value));
}
uint64_t EncodeResult(double value, Type, bool) { return std::bit_cast<uint64_t>(value); }
uint64_t EncodeResult(int64_t value, Type, bool satfinite) {
  if (satfinite) value = std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
  return static_cast<uint32_t>(value);
}

template <typename T, typename Acc>
Step Mma(Warp& warp, const Inst& inst) {
  warp.NeedAligned(inst);
  const MmaShape shape = ShapeOf(inst);
  const auto a = std::make_unique<MatrixA<T>>();
  const auto b = std::make_unique<MatrixB<T>>();
  MatrixC<T> c;
  Read<T>(
      warp, inst, 1, inst.type[1],
      [&](const auto& each) { ForA(shape, PerRegister(inst.type[1]), each); }, a.get());
  Read<T>(
      warp, inst, 2, inst.type[2],
      [&](const auto& each) { ForB(shape, PerRegister(inst.type[2]), each); }, b.get());
  Read<T>(
      warp, inst, 3, inst.type[3],
      [&](const auto& each) { ForC(shape, PerRegister(inst.type[3]), each); }, &c);
  const RoundMode mode = RoundingOf(inst);
  const auto registers = inst.At(0);
  const int bits = InfoOf(inst.type[0]).bits;
  for (const Operand& reg : registers) {
    ForLanes(warp.mask(), [&](int lane) {
      warp.SetBits(reg, lane, 0);
      warp.SetUndef(reg, lane, 0);
    });
  }
  ForC(shape, PerRegister(inst.type[0]), [&](int lane, int r, int e, int row, int column) {
    if ((warp.mask() >> lane & 1) == 0) return;
    auto sum = static_cast<Acc>(c.value[row][column]);
    bool undef = c.undef[row][column];
    for (int k = 0; k < shape.k; ++k) {
      sum = Accumulate(sum, a->value[row][k], b->value[k][column], mode);
      undef = undef || a->undef[row][k] || b->undef[k][column];
    }
    const Operand& reg = registers[static_cast<size_t>(r)];
    const uint64_t code = EncodeResult(sum, inst.type[0], inst.Has(Mod::kSatfinite));
    warp.SetBits(reg, lane, warp.Bits(reg, lane) | code << (e * bits));
    if (undef) warp.SetUndef(reg, lane, warp.Undef(reg, lane) | AllBits(bits / 8) << (e * bits));
  });
  return Step::kNext;
}

// Whether the lists have as many registers as the shape needs.
bool CountsFit(const Inst& inst) {
  const MmaShape shape = ShapeOf(inst);
  const auto count = [](int elements, Type type) { return elements / 32 / PerRegister(type); };
  return inst.CountAt(0) == count(shape.m * shape.n, inst.type[0]) &&
         inst.CountAt(1) == count(shape.m * shape.k, inst.type[1]) &&
         inst.CountAt(2) == count(shape.k * shape.n, inst.type[2]) &&
         inst.CountAt(3) == count(shape.m * shape.n, inst.type[3]);
}

}  // namespace

PTX_BIND(LdMatrix) { return inst.CountAt(0) == MatricesOf(inst) ? &LoadMatrix : nullptr; }
PTX_BIND(StMatrix) { return inst.CountAt(1) == MatricesOf(inst) ? &StoreMatrix : nullptr; }
PTX_BIND(MmaHalf) {
  const bool bf16 = inst.type[1] == Type::kBF16;
  const bool fits = inst.type[1] == inst.type[2] && inst.type[0] == inst.type[3] &&
                    (!bf16 || inst.type[0] == Type::kF32);
  return fits && CountsFit(inst) ? &Mma<float, float> : nullptr;
}
PTX_BIND(MmaTf32) { return CountsFit(inst) ? &Mma<float, float> : nullptr; }
PTX_BIND(MmaF8) {
  return inst.type[0] == inst.type[3] && CountsFit(inst) ? &Mma<float, float> : nullptr;
}
PTX_BIND(MmaInt) { return CountsFit(inst) ? &Mma<int32_t, int64_t> : nullptr; }
PTX_BIND(MmaF64) { return CountsFit(inst) ? &Mma<double, double> : nullptr; }

}  // namespace tarsia::ptx
