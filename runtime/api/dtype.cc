// The C API: element types.
#include <functional>

#include "dtypes/bulk.h"
#include "dtypes/convert.h"
#include "dtypes/dtype.h"
#include "runtime/api/api.h"
#include "runtime/api/handles.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

tarsia_dtype_kind ToC(DTypeKind kind) {
  switch (kind) {
    case DTypeKind::kUnsigned:
      return TARSIA_DTYPE_KIND_UNSIGNED;
    case DTypeKind::kSigned:
      return TARSIA_DTYPE_KIND_SIGNED;
    case DTypeKind::kBool:
      return TARSIA_DTYPE_KIND_BOOL;
    case DTypeKind::kFloat:
      return TARSIA_DTYPE_KIND_FLOAT;
    case DTypeKind::kExponent:
      return TARSIA_DTYPE_KIND_EXPONENT;
    case DTypeKind::kComplex:
      return TARSIA_DTYPE_KIND_COMPLEX;
  }
  return TARSIA_DTYPE_KIND_FORCE_32BIT;
}

const DTypeRow* FindRow(tarsia_dtype dtype) {
  for (const DTypeRow& row : AllDTypes()) {
    if (row.code == static_cast<unsigned>(dtype)) return &row;
  }
  return nullptr;
}

tarsia_status UnknownDType(tarsia_dtype dtype) {
  return Invalid(diag::kApiUnknownDTypeCode, "dtype", static_cast<unsigned>(dtype));
}

// The enumerators of the header are the codes of the table.
#define CHECK_DTYPE(c_name, constant) static_assert(TARSIA_DTYPE_##c_name == dtype_codes::constant);
namespace dtype_codes {
#define DTYPE(code, name, constant, kind, bits, exponent, mantissa, bias, specials, doc) \
  constexpr int constant = code;
#include "dtypes/dtypes.def"
#undef DTYPE
}  // namespace dtype_codes
CHECK_DTYPE(U1, kU1)
CHECK_DTYPE(U2, kU2)
CHECK_DTYPE(U3, kU3)
CHECK_DTYPE(U4, kU4)
CHECK_DTYPE(U5, kU5)
CHECK_DTYPE(U6, kU6)
CHECK_DTYPE(U7, kU7)
CHECK_DTYPE(U8, kU8)
CHECK_DTYPE(U16, kU16)
CHECK_DTYPE(U32, kU32)
CHECK_DTYPE(U64, kU64)
CHECK_DTYPE(I1, kI1)
CHECK_DTYPE(I2, kI2)
CHECK_DTYPE(I3, kI3)
CHECK_DTYPE(I4, kI4)
CHECK_DTYPE(I5, kI5)
CHECK_DTYPE(I6, kI6)
CHECK_DTYPE(I7, kI7)
CHECK_DTYPE(I8, kI8)
CHECK_DTYPE(I16, kI16)
CHECK_DTYPE(I32, kI32)
CHECK_DTYPE(I64, kI64)
CHECK_DTYPE(BOOL, kBoolType)
CHECK_DTYPE(F16, kF16)
CHECK_DTYPE(BF16, kBF16)
CHECK_DTYPE(TF32, kTF32)
CHECK_DTYPE(F32, kF32)
CHECK_DTYPE(F64, kF64)
CHECK_DTYPE(F3E1M1, kF3E1M1)
CHECK_DTYPE(F3E2M0, kF3E2M0)
CHECK_DTYPE(F4E1M2, kF4E1M2)
CHECK_DTYPE(F4E2M1, kF4E2M1)
CHECK_DTYPE(F4E3M0, kF4E3M0)
CHECK_DTYPE(F5E1M3, kF5E1M3)
CHECK_DTYPE(F5E2M2, kF5E2M2)
CHECK_DTYPE(F5E3M1, kF5E3M1)
CHECK_DTYPE(F5E4M0, kF5E4M0)
CHECK_DTYPE(F6E1M4, kF6E1M4)
CHECK_DTYPE(F6E2M3, kF6E2M3)
CHECK_DTYPE(F6E3M2, kF6E3M2)
CHECK_DTYPE(F6E4M1, kF6E4M1)
CHECK_DTYPE(F6E5M0, kF6E5M0)
CHECK_DTYPE(F7E1M5, kF7E1M5)
CHECK_DTYPE(F7E2M4, kF7E2M4)
CHECK_DTYPE(F7E3M3, kF7E3M3)
CHECK_DTYPE(F7E4M2, kF7E4M2)
CHECK_DTYPE(F7E5M1, kF7E5M1)
CHECK_DTYPE(F7E6M0, kF7E6M0)
CHECK_DTYPE(F8E1M6, kF8E1M6)
CHECK_DTYPE(F8E2M5, kF8E2M5)
CHECK_DTYPE(F8E3M4, kF8E3M4)
CHECK_DTYPE(F8E4M3, kF8E4M3)
CHECK_DTYPE(F8E5M2, kF8E5M2)
CHECK_DTYPE(F8E6M1, kF8E6M1)
CHECK_DTYPE(F8E7M0, kF8E7M0)
CHECK_DTYPE(F8E3M4FN, kF8E3M4FN)
CHECK_DTYPE(F8E4M3FN, kF8E4M3FN)
CHECK_DTYPE(F8E5M2FN, kF8E5M2FN)
CHECK_DTYPE(F8E3M4FNUZ, kF8E3M4FNUZ)
CHECK_DTYPE(F8E4M3FNUZ, kF8E4M3FNUZ)
CHECK_DTYPE(F8E5M2FNUZ, kF8E5M2FNUZ)
CHECK_DTYPE(F8E4M3B11FNUZ, kF8E4M3B11FNUZ)
CHECK_DTYPE(E8M0, kE8M0)
CHECK_DTYPE(C32, kC32)
CHECK_DTYPE(C64, kC64)
#undef CHECK_DTYPE

}  // namespace

size_t tarsia_dtype_count(void) { return AllDTypes().size(); }

tarsia_status tarsia_dtype_at(size_t index, tarsia_dtype* out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    if (index >= AllDTypes().size()) return BadIndex("index", index, AllDTypes().size());
    *out = static_cast<tarsia_dtype>(AllDTypes()[index].code);
    return TARSIA_STATUS_OK;
  });
}

tarsia_status tarsia_dtype_find(const char* name, tarsia_dtype* out) {
  return Guarded([&] {
    if (name == nullptr) return NullArgument("name");
    if (out == nullptr) return NullArgument("out");
    const auto found = FindDType(name);
    if (!found) {
      Diagnostic error = MakeDiagnostic(diag::kApiUnknownDType, Location(), name);
      error.help = DidYouMean(name, DTypeNames());
      return Fail(TARSIA_STATUS_NOT_FOUND, error);
    }
    *out = api::ToC(*found);
    return TARSIA_STATUS_OK;
  });
}

tarsia_status tarsia_dtype_get(tarsia_dtype dtype, tarsia_dtype_info* out) {
  return Guarded([&] {
    const DTypeRow* const row = FindRow(dtype);
    if (row == nullptr) return UnknownDType(dtype);
    tarsia_dtype_info info = {};
    info.dtype = dtype;
    info.kind = ToC(row->type.kind);
    info.bits = row->type.bits;
    info.exponent_bits = row->type.exponent;
    info.mantissa_bits = row->type.mantissa;
    info.bias = row->type.bias;
    info.has_infinity = row->type.HasInfinity();
    info.has_nan = row->type.HasNan();
    info.name = row->name.data();  // string literals of the table
    info.doc = row->doc.data();
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_dtype_encode(tarsia_dtype dtype, double value, tarsia_rounding rounding,
                                  tarsia_overflow overflow, uint32_t random, uint64_t* code) {
  return Guarded([&] {
    const DTypeRow* const row = FindRow(dtype);
    if (row == nullptr) return UnknownDType(dtype);
    if (code == nullptr) return NullArgument("code");
    if (rounding < TARSIA_ROUNDING_NEAREST_EVEN || rounding > TARSIA_ROUNDING_STOCHASTIC) {
      return Invalid(diag::kApiEnumValue, "rounding", static_cast<int>(rounding),
                     "tarsia_rounding");
    }
    if (overflow < TARSIA_OVERFLOW_DEFAULT || overflow > TARSIA_OVERFLOW_WRAP) {
      return Invalid(diag::kApiEnumValue, "overflow", static_cast<int>(overflow),
                     "tarsia_overflow");
    }
    const CastOptions options{static_cast<Rounding>(rounding), static_cast<Overflow>(overflow)};
    *code = EncodeFromDouble(row->type, value, options, random);
    return TARSIA_STATUS_OK;
  });
}

tarsia_status tarsia_dtype_decode(tarsia_dtype dtype, uint64_t code, double* value) {
  return Guarded([&] {
    const DTypeRow* const row = FindRow(dtype);
    if (row == nullptr) return UnknownDType(dtype);
    if (value == nullptr) return NullArgument("value");
    *value = DecodeToDouble(row->type, code);
    return TARSIA_STATUS_OK;
  });
}

tarsia_status tarsia_dtype_cast(tarsia_dtype from_type, const void* from, tarsia_dtype to_type,
                                void* to, size_t count) {
  return Guarded([&] {
    const DTypeRow* const source = FindRow(from_type);
    if (source == nullptr) return UnknownDType(from_type);
    const DTypeRow* const target = FindRow(to_type);
    if (target == nullptr) return UnknownDType(to_type);
    if (count == 0) return TARSIA_STATUS_OK;
    if (from == nullptr) return NullArgument("from");
    if (to == nullptr) return NullArgument("to");
    const size_t read = count * static_cast<size_t>(ContainerBytes(source->type));
    const size_t written = count * static_cast<size_t>(ContainerBytes(target->type));
    const auto* const begin = static_cast<const uint8_t*>(from);
    const auto* const end = static_cast<const uint8_t*>(to);
    const std::less<> before;
    const bool apart = !before(begin, end + written) || !before(end, begin + read);
    if (!apart && !(from == to && read == written)) return Invalid(diag::kApiOverlap, "to", "from");
    CastBulk(source->type, from, target->type, to, count);
    return TARSIA_STATUS_OK;
  });
}

static_assert(static_cast<int>(Rounding::kStochastic) == TARSIA_ROUNDING_STOCHASTIC);
static_assert(static_cast<int>(Rounding::kTowardZero) == TARSIA_ROUNDING_TOWARD_ZERO);
static_assert(static_cast<int>(Overflow::kSaturate) == TARSIA_OVERFLOW_SATURATE);
static_assert(static_cast<int>(Overflow::kNonSaturating) == TARSIA_OVERFLOW_NON_SATURATING);
static_assert(static_cast<int>(Overflow::kWrap) == TARSIA_OVERFLOW_WRAP);
