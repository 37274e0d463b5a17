// ldmatrix, stmatrix, mma. Where the elements of a fragment lie (PTX ISA, "Matrix Fragments"), with
// g = lane / 4, t = lane % 4 and E elements a register:
//   A  register r, element e: row g + 8 (r % 2), column 4E (r / 2) + E t + e   (8 rows: r for r /
//   2) B  register r, element e: row 4E r + E t + e, column g C  32 bits and more: row g + 8 (r /
//   2), column 2t + r % 2; 16 bits: row g + 8 r, column 2t + e
#include <algorithm>
#include <array>

#include "ptx/exec/exec.h"
#include "ptx/exec/matrix.h"
#include "ptx/exec/round.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

// ---- ldmatrix and stmatrix ---------------------------------------------------------------------

int MatricesOf(const Inst& inst) { return inst.Has(Mod::kX4) ? 4 : inst.Has(Mod::kX2) ? 2 : 1; }

// The row whose address lane `8 * matrix + row` holds.
Space RowSpace(const Inst& inst) {
  return inst.space == Space::kGeneric ? Space::kGeneric : Space::kShared;
}

bool FindRow(Warp& warp, const Inst& inst, const Operand& address, int lane, Access access,
             Place* place) {
  return warp.memory().Find(inst, RowSpace(inst), lane, warp.Address(address, lane), 16, access,
                            place);
}

// Element e of register 0 in `lane` is at this row and column of the matrix.
void ElementAt(const Inst& inst, int lane, int e, int* row, int* column) {
  *row = lane / 4;
  *column = 2 * (lane % 4) + e;
  if (inst.Has(Mod::kTrans)) std::swap(*row, *column);
}

// The register of a lane.
uint32_t PairOf(const Inst& inst, const uint16_t (&matrix)[8][8], int lane) {
  uint32_t pair = 0;
  for (int e = 0; e < 2; ++e) {
    int row = 0;
    int column = 0;
    ElementAt(inst, lane, e, &row, &column);
    pair |= uint32_t{matrix[row][column]} << (16 * e);
  }
  return pair;
}

Step LoadMatrix(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  warp.undefined().Require(inst, inst[1], "the address");
  for (int m = 0; m < MatricesOf(inst); ++m) {
    uint16_t data[8][8] = {};
    uint16_t defined[8][8] = {};
    uint64_t all_defined = ~uint64_t{0};
    Origin origin;
    for (int row = 0; row < 8; ++row) {
      Place place;
      if (!FindRow(warp, inst, inst[1], 8 * m + row, Access::kRead, &place)) {
        std::memset(defined[row], 0xFF, sizeof defined[row]);  // that is reported
        continue;
      }
      for (int half = 0; half < 2; ++half) {
        const uint64_t bits = ReadBytes(place.data + 8 * half, 8);
        const uint64_t known = ReadBytes(place.defined + 8 * half, 8);
        std::memcpy(&data[row][4 * half], &bits, 8);
        std::memcpy(&defined[row][4 * half], &known, 8);
        all_defined &= known;
        if (known == ~uint64_t{0} || !origin.none()) continue;
        origin = warp.undefined().OriginOfLoad(inst, RowSpace(inst), 8 * m + row,
                                               warp.Address(inst[1], 8 * m + row), 16);
      }
    }
    const Operand& dest = inst.At(0)[static_cast<size_t>(m)];
    ForLanes(warp.mask(), [&](int lane) {
      warp.SetBits(dest, lane, PairOf(inst, data, lane));
      if (all_defined == ~uint64_t{0}) return;
      warp.undefined().Set(dest, lane, static_cast<uint32_t>(~PairOf(inst, defined, lane)), origin);
    });
    if (all_defined == ~uint64_t{0}) warp.undefined().Clear(dest, warp.mask());
  }
  return Step::kNext;
}

// Row `lane / 4` of the result is column `lane / 4` of the source.
Step TransposeMatrix(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  const Operand& source = inst[1];
  std::array<uint32_t, kLanes> words{};
  std::array<uint32_t, kLanes> undef{};
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int e = 0; e < 2; ++e) {
      const int row = 2 * (lane % 4) + e;
      const int column = lane / 4;
      const int from = 4 * row + column / 2;
      const int shift = 16 * (column % 2);
      const auto part = [&](uint64_t word) {
        return static_cast<uint32_t>(word >> shift & 0xFFFF) << (16 * e);
      };
      words[static_cast<size_t>(lane)] |= part(warp.Get<uint32_t>(source, from));
      undef[static_cast<size_t>(lane)] |= part(warp.undefined().Bits(source, from));
    }
  }
  ForLanes(warp.mask(), [&](int lane) {
    warp.SetBits(inst[0], lane, words[static_cast<size_t>(lane)]);
    warp.undefined().Set(inst[0], lane, undef[static_cast<size_t>(lane)]);
  });
  return Step::kNext;
}

Step StoreMatrix(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  warp.undefined().Require(inst, inst[0], "the address");
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
      const auto undef = static_cast<uint32_t>(warp.undefined().Bits(source, lane));
      for (int e = 0; e < 2; ++e) {
        int row = 0;
        int column = 0;
        ElementAt(inst, lane, e, &row, &column);
        const auto i = static_cast<size_t>(row);
        if (!found[i]) continue;
        WriteBytes(rows[i].data + 2 * column, 2, bits >> (16 * e));
        WriteBytes(rows[i].defined + 2 * column, 2, ~undef >> (16 * e));
        if (undef == 0) continue;
        const uint64_t at = warp.Address(inst[0], 8 * m + row) + static_cast<uint64_t>(2 * column);
        warp.undefined().NoteStore(inst, source, RowSpace(inst), lane, at, 2);
      }
    });
  }
  return Step::kNext;
}

// ---- mma ---------------------------------------------------------------------------------------

MmaShape ShapeOf(const Inst& inst) {
  if (inst.Has(Mod::kM8N8K4)) return {8, 8, 4};
  if (inst.Has(Mod::kM8N8K16)) return {8, 8, 16};
  if (inst.Has(Mod::kM16N8K4)) return {16, 8, 4};
  if (inst.Has(Mod::kM16N8K8)) return {16, 8, 8};
  if (inst.Has(Mod::kM16N8K16)) return {16, 8, 16};
  return {16, 8, 32};
}

constexpr int kMostK = 32;

// Values of up to 16 rows (A, C) or 32 (B), row by row.
template <typename T, int kRows, int kColumns>
struct Matrix {
  static constexpr int kWidth = kColumns;
  std::array<T, kRows * kColumns> values;
  // A row or a column with undefined elements: all that it has a part in is undefined.
  uint32_t undef_rows = 0;
  uint32_t undef_columns = 0;
  [[nodiscard]] T At(int row, int column) const {
    return values[static_cast<size_t>(row * kColumns + column)];
  }
};

// Where the elements of a register lie in a matrix of this width: the fragments' formulas are
// linear in lane / 4, lane % 4 and the element.
class RegisterLayout {
 public:
  RegisterLayout(const Fragment& at, int r, int width)
      : first_(Index(at, r, 0, 0, width)),
        by_group_(Index(at, r, 4, 0, width) - first_),
        by_lane_(Index(at, r, 1, 0, width) - first_),
        by_element_(Index(at, r, 0, 1, width) - first_) {}
  [[nodiscard]] size_t Of(int lane, int e) const {
    return static_cast<size_t>(first_ + lane / 4 * by_group_ + lane % 4 * by_lane_ +
                               e * by_element_);
  }

 private:
  static int Index(const Fragment& at, int r, int lane, int e, int width) {
    return at.Row(lane, r, e) * width + at.Column(lane, r, e);
  }
  int first_;
  int by_group_;
  int by_lane_;
  int by_element_;
};

// visit(lane, element) for the elements of a register that have undefined bits.
template <typename Visit>
void ForUndef(const Warp& warp, const Operand& reg, Type type, int per_register,
              const Visit& visit) {
  const int bits = InfoOf(type).bits;
  ForLanes(warp.undefined().Lanes(reg), [&](int lane) {
    for (int e = 0; e < per_register; ++e) {
      if ((warp.undefined().Bits(reg, lane) >> (e * bits) & AllBits(bits / 8)) != 0) visit(lane, e);
    }
  });
}

template <Type kType, typename M>
void ReadAs(const Warp& warp, std::span<const Operand> registers, const Fragment& at, M* matrix) {
  using T = typename decltype(matrix->values)::value_type;
  using Word = std::conditional_t<kType == Type::kF64, uint64_t, uint32_t>;
  const int bits = InfoOf(kType).bits;
  const uint64_t mask = AllBits(bits / 8);
  for (int r = 0; r < at.registers(); ++r) {
    const Operand& reg = registers[static_cast<size_t>(r)];
    const RegisterLayout layout(at, r, M::kWidth);
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto word = warp.Get<Word>(reg, lane);
      for (int e = 0; e < at.per_register; ++e) {
        matrix->values[layout.Of(lane, e)] = Decode(kType, word >> (e * bits) & mask, T{});
      }
    }
    ForUndef(warp, reg, kType, at.per_register, [&](int lane, int e) {
      matrix->undef_rows |= uint32_t{1} << at.Row(lane, r, e);
      matrix->undef_columns |= uint32_t{1} << at.Column(lane, r, e);
    });
  }
}

// Once for each type, so that no element asks for it.
template <typename M>
void Read(const Warp& warp, std::span<const Operand> registers, Type type, const Fragment& at,
          M* matrix) {
  using T = typename decltype(matrix->values)::value_type;
  if constexpr (std::is_same_v<T, double>) {
    if (type == Type::kF16) return ReadAs<Type::kF16>(warp, registers, at, matrix);
    if (type == Type::kBF16) return ReadAs<Type::kBF16>(warp, registers, at, matrix);
    if (type == Type::kTF32) return ReadAs<Type::kTF32>(warp, registers, at, matrix);
    if (type == Type::kE4M3) return ReadAs<Type::kE4M3>(warp, registers, at, matrix);
    if (type == Type::kE5M2) return ReadAs<Type::kE5M2>(warp, registers, at, matrix);
    if (type == Type::kF64) return ReadAs<Type::kF64>(warp, registers, at, matrix);
    return ReadAs<Type::kF32>(warp, registers, at, matrix);
  } else {
    if (type == Type::kS8) return ReadAs<Type::kS8>(warp, registers, at, matrix);
    if (type == Type::kU8) return ReadAs<Type::kU8>(warp, registers, at, matrix);
    return ReadAs<Type::kS32>(warp, registers, at, matrix);
  }
}

constexpr int kColumnsOfC = 8;
template <typename Acc>
using Sums = std::array<Acc, 16 * kColumnsOfC>;
using Undefined = std::array<bool, 16 * kColumnsOfC>;

// sums += a * b. Products of the narrow floats are exact and sums of them are of 53 bits, rounded
// to the result's type once: PTX leaves order and precision open, and asks for f32's at least.
template <int kK, typename A, typename B, typename Acc>
void Multiply(int rows, const A& a, const B& b, Sums<Acc>* sums) {
  for (int row = 0; row < rows; ++row) {
    std::array<Acc, kColumnsOfC> of_row;  // in the host's registers
    Acc* const at = sums->data() + row * kColumnsOfC;
    std::copy_n(at, kColumnsOfC, of_row.begin());
    for (int k = 0; k < kK; ++k) {
      const auto factor = a.At(row, k);
      for (int column = 0; column < kColumnsOfC; ++column) {
        of_row[static_cast<size_t>(column)] += factor * b.At(k, column);
      }
    }
    std::copy_n(of_row.begin(), kColumnsOfC, at);
  }
}

// f64 has one rounding for each multiply-add, in the order of k.
template <typename A, typename B>
void MultiplyF64(const MmaShape& shape, RoundMode mode, const A& a, const B& b,
                 Sums<double>* sums) {
  for (int row = 0; row < shape.m; ++row) {
    for (int column = 0; column < shape.n; ++column) {
      double& sum = (*sums)[static_cast<size_t>(row * kColumnsOfC + column)];
      for (int k = 0; k < shape.k; ++k) sum = FmaF64(a.At(row, k), b.At(k, column), sum, mode);
    }
  }
}

template <typename A, typename B, typename Acc>
void MultiplyAll(const Inst& inst, const MmaShape& shape, const A& a, const B& b, Sums<Acc>* sums) {
  if constexpr (std::is_same_v<Acc, double>) {
    if (inst.type[0] == Type::kF64) return MultiplyF64(shape, RoundingOf(inst), a, b, sums);
  }
  switch (shape.k) {
    case 4:
      return Multiply<4>(shape.m, a, b, sums);
    case 8:
      return Multiply<8>(shape.m, a, b, sums);
    case 16:
      return Multiply<16>(shape.m, a, b, sums);
    default:
      return Multiply<32>(shape.m, a, b, sums);
  }
}

// Undefined elements of C make the elements of the result at the same places undefined.
void AddUndef(const Warp& warp, const Inst& inst, const Fragment& at, Undefined* undef) {
  for (int r = 0; r < at.registers(); ++r) {
    const RegisterLayout layout(at, r, kColumnsOfC);
    ForUndef(warp, inst.At(3)[static_cast<size_t>(r)], inst.type[3], at.per_register,
             [&](int lane, int e) { (*undef)[layout.Of(lane, e)] = true; });
  }
}

// Writes the executing lanes' parts of C, a register at a time.
template <Type kType, typename Acc>
void WriteAs(Warp& warp, const Inst& inst, const Fragment& at, const Sums<Acc>& sums,
             const Undefined* undef) {
  using Word = std::conditional_t<kType == Type::kF64, uint64_t, uint32_t>;
  const int bits = InfoOf(kType).bits;
  const bool satfinite = inst.Has(Mod::kSatfinite);
  for (int r = 0; r < at.registers(); ++r) {
    const Operand& reg = inst.At(0)[static_cast<size_t>(r)];
    const RegisterLayout layout(at, r, kColumnsOfC);
    uint8_t* const into = warp.Dest(reg);
    ForLanes(warp.mask(), [&](int lane) {
      uint64_t word = 0;
      for (int e = 0; e < at.per_register; ++e) {
        word |= EncodeResult(sums[layout.Of(lane, e)], kType, satfinite) << (e * bits);
      }
      StoreLane(into, lane, static_cast<Word>(word));
    });
    if (undef == nullptr) {
      warp.undefined().Clear(reg, warp.mask());
      continue;
    }
    ForLanes(warp.mask(), [&](int lane) {
      uint64_t unknown = 0;
      for (int e = 0; e < at.per_register; ++e) {
        if ((*undef)[layout.Of(lane, e)]) unknown |= AllBits(bits / 8) << (e * bits);
      }
      warp.undefined().Set(reg, lane, unknown);
    });
  }
}

// `undef`: null if all of it is defined.
template <typename Acc>
void WriteResult(Warp& warp, const Inst& inst, const Fragment& at, const Sums<Acc>& sums,
                 const Undefined* undef) {
  if constexpr (std::is_same_v<Acc, double>) {
    if (inst.type[0] == Type::kF64) return WriteAs<Type::kF64>(warp, inst, at, sums, undef);
    if (inst.type[0] == Type::kF16) return WriteAs<Type::kF16>(warp, inst, at, sums, undef);
    return WriteAs<Type::kF32>(warp, inst, at, sums, undef);
  } else {
    return WriteAs<Type::kS32>(warp, inst, at, sums, undef);
  }
}

// T is what elements are multiplied as, Acc what they are summed in.
template <typename T, typename Acc>
Step Mma(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  const MmaShape shape = ShapeOf(inst);
  Matrix<T, 16, kMostK> a;
  Matrix<T, kMostK, kColumnsOfC> b;
  Matrix<T, 16, kColumnsOfC> c;
  Read(warp, inst.At(1), inst.type[1], {'A', shape, PerRegister(inst.type[1])}, &a);
  Read(warp, inst.At(2), inst.type[2], {'B', shape, PerRegister(inst.type[2])}, &b);
  const Fragment into{'C', shape, PerRegister(inst.type[3])};
  Read(warp, inst.At(3), inst.type[3], into, &c);
  Sums<Acc> sums;
  std::copy_n(c.values.begin(), shape.m * kColumnsOfC, sums.begin());
  MultiplyAll(inst, shape, a, b, &sums);
  const Fragment at{'C', shape, PerRegister(inst.type[0])};
  const bool all_defined = (a.undef_rows | b.undef_columns | c.undef_rows) == 0;
  if (all_defined) {
    WriteResult(warp, inst, at, sums, nullptr);
    return Step::kNext;
  }
  Undefined undef{};
  for (int row = 0; row < shape.m; ++row) {
    for (int column = 0; column < kColumnsOfC; ++column) {
      undef[static_cast<size_t>(row * kColumnsOfC + column)] =
          (a.undef_rows >> row & 1) != 0 || (b.undef_columns >> column & 1) != 0;
    }
  }
  AddUndef(warp, inst, into, &undef);
  WriteResult(warp, inst, at, sums, &undef);
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
PTX_BIND(MovMatrix) { return &TransposeMatrix; }
PTX_BIND(MmaHalf) {
  const bool bf16 = inst.type[1] == Type::kBF16;
  const bool fits = inst.type[1] == inst.type[2] && inst.type[0] == inst.type[3] &&
                    (!bf16 || inst.type[0] == Type::kF32);
  return fits && CountsFit(inst) ? &Mma<double, double> : nullptr;
}
PTX_BIND(MmaTf32) { return CountsFit(inst) ? &Mma<double, double> : nullptr; }
PTX_BIND(MmaF8) {
  return inst.type[0] == inst.type[3] && CountsFit(inst) ? &Mma<double, double> : nullptr;
}
PTX_BIND(MmaInt) { return CountsFit(inst) ? &Mma<int32_t, int64_t> : nullptr; }
PTX_BIND(MmaF64) { return CountsFit(inst) ? &Mma<double, double> : nullptr; }

}  // namespace tarsia::ptx
