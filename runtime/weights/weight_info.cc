#include "runtime/weights/weight_info.h"

#include <fmt/format.h>

#include <cmath>

#include "dtypes/convert.h"
#include "runtime/diagnostics.h"
#include "runtime/weights/packed_order.h"
#include "runtime/weights/tsw.h"

namespace tarsia {
namespace {

bool IsScaleType(DType type) {
  return type == kF32 || type == kF16 || type == kBF16 || type == kF8E4M3FN || type == kE8M0;
}

bool IsZeroType(ZeroPoint zero, DType type) {
  switch (zero) {
    case ZeroPoint::kNone:
      return type.bits == 0;
    case ZeroPoint::kInteger:
      return type == kU8 || type == kI8;
    case ZeroPoint::kFloat:
      return type == kF32 || type == kF16 || type == kBF16;
  }
  return false;
}

Status CheckTypes(const WeightInfo& info, bool has_codebook) {
  if (!LowPrecision(info.type)) {
    return MakeDiagnostic(diag::kWeightsType, {}, DTypeName(info.type));
  }
  if (has_codebook && !info.type.IsUnsigned()) {
    return MakeDiagnostic(diag::kWeightsCodebook, {}, DTypeName(info.type));
  }
  TARSIA_CHECK(CheckPackedOrder(info.type, info.compute));
  if (!IsScaleType(info.scale_type)) {
    return MakeDiagnostic(diag::kWeightsScaleType, {}, DTypeName(info.scale_type));
  }
  if (!IsZeroType(info.zero, info.zero_type)) {
    return MakeDiagnostic(diag::kWeightsZeroType, {}, DTypeName(info.zero_type));
  }
  if (info.zero != ZeroPoint::kNone && (info.type.IsFloat() || has_codebook)) {
    return MakeDiagnostic(diag::kWeightsNoZeros, {},
                          has_codebook ? std::string_view("a codebook") : DTypeName(info.type));
  }
  return OkStatus();
}

Status CheckSizes(const WeightInfo& info) {
  if (info.k < 0 || info.n < 0) return MakeDiagnostic(diag::kWeightsShape, {}, info.k, info.n);
  if (info.k > INT32_MAX || info.n > INT32_MAX) {
    return MakeDiagnostic(diag::kWeightsTooLarge, {}, info.k, info.n, INT32_MAX);
  }
  if (info.group < 1 || info.k % info.group != 0) {
    return MakeDiagnostic(diag::kWeightsGroup, {}, info.group, info.k);
  }
  const bool within = info.first_k >= 0 && info.first_n >= 0 && info.whole_k <= INT32_MAX &&
                      info.whole_n <= INT32_MAX && info.first_k <= info.whole_k - info.k &&
                      info.first_n <= info.whole_n - info.n;
  if (!within) {
    return MakeDiagnostic(diag::kWeightsShard, {}, info.k, info.n, info.first_k, info.first_n,
                          info.whole_k, info.whole_n);
  }
  if (info.gathers && (info.first_k != 0 || info.k != info.whole_k)) {
    return MakeDiagnostic(diag::kWeightsGatherShard, {});
  }
  if (!std::isfinite(info.tensor_scale)) {
    return MakeDiagnostic(diag::kWeightsTensorScale, {}, info.tensor_scale);
  }
  return OkStatus();
}

}  // namespace

std::string_view NameOf(WeightPart part) {
  switch (part) {
    case WeightPart::kCodes:
      return "codes";
    case WeightPart::kScales:
      return "scale";
    case WeightPart::kZeros:
      return "zero point";
    case WeightPart::kGather:
      return "gather list";
    case WeightPart::kCodebook:
      return "codebook";
  }
  return "";
}

Result<WeightPlaces> PlaceWeights(const WeightInfo& info, bool has_codebook) {
  TARSIA_CHECK(CheckTypes(info, has_codebook));
  TARSIA_CHECK(CheckSizes(info));
  WeightPlaces out;
  TARSIA_TRY(out.codes, PackedOrder(info.type, info.compute, info.k, info.n));
  TARSIA_TRY(out.scales, ScaleOrder(info.scale_type, info.groups(), info.n));
  uint64_t sizes[kWeightParts] = {out.codes.SizeBytes(info.type.bits),
                                  out.scales.SizeBytes(info.scale_type.bits), 0, 0, 0};
  if (info.zero != ZeroPoint::kNone) {
    TARSIA_TRY(out.zeros, ScaleOrder(info.zero_type, info.groups(), info.n));
    sizes[2] = out.zeros.SizeBytes(info.zero_type.bits);
  }
  if (info.gathers) sizes[3] = static_cast<uint64_t>(info.k) * sizeof(int32_t);
  if (has_codebook) sizes[4] = (uint64_t{1} << info.type.bits) * sizeof(float);
  uint64_t at = kTswHeaderBytes;
  for (size_t part = 0; part < kWeightParts; ++part) {
    out.parts[part] = {at, sizes[part]};
    at = (at + sizes[part] + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
  }
  out.bytes = at;
  return out;
}

std::string_view ZeroTypeName(const WeightInfo& info) {
  return info.zero == ZeroPoint::kNone ? "none" : DTypeName(info.zero_type);
}

std::vector<float> CodeValues(const WeightInfo& info) {
  if (!info.codebook.empty()) return info.codebook;
  std::vector<float> out(size_t{1} << info.type.bits);
  for (size_t code = 0; code < out.size(); ++code) {
    out[code] = static_cast<float>(DecodeToDouble(info.type, code));
  }
  return out;
}

}  // namespace tarsia
