#include "dtypes/convert.h"

#include <bit>

#include "dtypes/exact.h"

namespace tarsia {
namespace {

using internal::DecodeExact;
using internal::EncodeExact;

uint64_t CastComplex(DType from, uint64_t code, DType to, CastOptions options, uint32_t random) {
  const DType part_from = ComponentOf(from), part_to = ComponentOf(to);
  const uint64_t real = CastCode(part_from, code, part_to, options, random);
  const uint64_t imaginary = CastCode(part_from, code >> part_from.bits, part_to, options, random);
  return imaginary << part_to.bits | real;
}

// Modulo 2^N, of the sign-extended source.
uint64_t WrapInteger(DType from, uint64_t code, DType to) {
  code &= CodeMask(from);
  const bool negative = from.IsSigned() && (code >> (from.bits - 1) & 1) != 0;
  return (negative ? code | ~CodeMask(from) : code) & CodeMask(to);
}

}  // namespace

uint64_t CastCode(DType from, uint64_t code, DType to, CastOptions options, uint32_t random) {
  if (from.IsComplex() && to.IsComplex() && from != to) {
    return CastComplex(from, code, to, options, random);
  }
  if (from == to && options.overflow == Overflow::kDefault) {
    if (from.IsBool()) return (code & CodeMask(from)) != 0 ? 1 : 0;
    return code & CodeMask(from) & (~uint64_t{0} << internal::UnusedLowBits(from));
  }
  if (from.IsComplex() && to.IsComplex()) return CastComplex(from, code, to, options, random);
  if (from.IsInteger() && to.IsInteger() && options.overflow == Overflow::kWrap) {
    return WrapInteger(from, code, to);
  }
  return EncodeExact(to, DecodeExact(from, code), options, random);
}

double DecodeToDouble(DType type, uint64_t code) {
  return std::bit_cast<double>(CastCode(type, code, kF64));
}

uint64_t EncodeFromDouble(DType type, double value, CastOptions options, uint32_t random) {
  return CastCode(kF64, std::bit_cast<uint64_t>(value), type, options, random);
}

}  // namespace tarsia
