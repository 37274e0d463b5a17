// What the instructions on matrices share: where the elements of a fragment lie, how elements are
// decoded and results encoded.
#ifndef TARSIA_PTX_EXEC_MATRIX_H_
#define TARSIA_PTX_EXEC_MATRIX_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ptx/machine/numeric.h"
#include "ptx/table/code.h"
#include "ptx/table/types.h"

namespace tarsia::ptx {

struct MmaShape {
  int m = 16;
  int n = 8;
  int k = 0;
};

// Where element e of register r of a lane's fragment lies.
struct Fragment {
  char matrix = 'A';
  MmaShape shape;
  int per_register = 1;

  [[nodiscard]] int registers() const {
    const int elements = matrix == 'A'   ? shape.m * shape.k
                         : matrix == 'B' ? shape.k * shape.n
                                         : shape.m * shape.n;
    return elements / kLanes / per_register;
  }
  [[nodiscard]] int Row(int lane, int r, int e) const {
    if (matrix == 'A') return lane / 4 + 8 * (r % (shape.m / 8));
    if (matrix == 'B') return 4 * per_register * r + per_register * (lane % 4) + e;
    return lane / 4 + 8 * (per_register == 2 ? r % 2 : r / 2 % 2);
  }
  [[nodiscard]] int Column(int lane, int r, int e) const {
    if (matrix == 'A') {
      return 4 * per_register * (r / (shape.m / 8)) + per_register * (lane % 4) + e;
    }
    if (matrix == 'B') return lane / 4;
    const int block = per_register == 2 ? r / 2 : r / 4;  // of 8 columns
    return 8 * block + 2 * (lane % 4) + (per_register == 2 ? e : r % 2);
  }
};

// Elements of a 32-bit register (of f64: of a 64-bit one).
inline int PerRegister(Type type) { return type == Type::kF64 ? 1 : 32 / InfoOf(type).bits; }

// An element, decoded; everything that floats are is exact in double.
inline double Decode(Type type, uint64_t code, double) {
  const auto bits = static_cast<uint32_t>(code);
  if (type == Type::kF64) return std::bit_cast<double>(code);
  if (type == Type::kF16) return FromFormat(bits, kFormatF16);
  if (type == Type::kBF16) return FromFormat(bits, kFormatBF16);
  if (type == Type::kE4M3) return FromFormat(bits, kFormatE4M3);
  if (type == Type::kE5M2) return FromFormat(bits, kFormatE5M2);
  // The low 13 bits of a tf32 are ignored.
  return std::bit_cast<float>(type == Type::kTF32 ? bits & 0xFFFFE000 : bits);
}
inline int32_t Decode(Type type, uint64_t code, int32_t) {
  if (type == Type::kS8) return static_cast<int8_t>(code);
  return type == Type::kU8 ? static_cast<uint8_t>(code) : static_cast<int32_t>(code);
}

inline uint64_t EncodeResult(double value, Type type, bool /*satfinite*/) {
  if (type == Type::kF64) return std::bit_cast<uint64_t>(value);
  if (type == Type::kF16) return NearestCode(value, kFormatF16);
  return std::bit_cast<uint32_t>(CanonicalF32(static_cast<float>(value)));
}
inline uint64_t EncodeResult(int64_t value, Type, bool satfinite) {
  if (satfinite) value = std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
  return static_cast<uint32_t>(value);
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_EXEC_MATRIX_H_
