// The functions of packed weights.
#include "runtime/api/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dtypes/diagnostics.h"
#include "layout/diagnostics.h"
#include "runtime/api/api.h"
#include "runtime/weights/packed_order.h"
#include "runtime/weights/packed_weights.h"
#include "runtime/weights/pair.h"
#include "runtime/weights/quantise.h"
#include "runtime/weights/shards.h"

namespace tarsia::api {

tarsia_status ReadTypeCode(tarsia_dtype code, const char* name, DType* out) {
  const auto value = static_cast<uint32_t>(code);
  const auto type = value <= 255 ? DTypeFromCode(static_cast<uint8_t>(value)) : std::nullopt;
  if (!type) return Invalid(diag::kApiUnknownDTypeCode, name, static_cast<int64_t>(code));
  *out = *type;
  return TARSIA_STATUS_OK;
}

tarsia_status ReadZeroPoint(tarsia_zero_point code, const char* name, ZeroPoint* out) {
  if (code < TARSIA_ZERO_POINT_NONE || code > TARSIA_ZERO_POINT_FLOAT) {
    return Invalid(diag::kApiEnumValue, name, static_cast<int64_t>(code), "tarsia_zero_point");
  }
  *out = static_cast<ZeroPoint>(code);
  return TARSIA_STATUS_OK;
}

namespace {

tarsia_status GiveWeights(Result<PackedWeights> made, tarsia_weights** out) {
  if (!made.ok()) return FailWith(made.error(), TARSIA_STATUS_REJECTED);
  const WeightInfo info = made->info();
  auto order = PackedOrderText(info.type, info.compute);
  if (!order.ok()) return FailWith(order.error(), TARSIA_STATUS_INTERNAL);
  const bool zeros = info.zero != ZeroPoint::kNone;
  *out = new tarsia_weights{*std::move(made), PackedLayoutId(info.type, info.compute),
                            *std::move(order), ScaleOrderText(info.scale_type),
                            zeros ? ScaleOrderText(info.zero_type) : std::string()};
  return TARSIA_STATUS_OK;
}

// Of tarsia_quantise_options or tarsia_codes.
template <typename Options>
Progress ProgressOf(const Options& from) {
  if (from.progress == nullptr && from.cancel == nullptr) return {};
  return [from](uint64_t done, uint64_t total) {
    if (from.progress != nullptr) from.progress(from.progress_user, done, total);
    return from.cancel == nullptr || !from.cancel(from.cancel_user);
  };
}

tarsia_status CheckExtents(int64_t k, int64_t n) {
  if (k < 0 || n < 0) return Invalid(diag::kWeightsShape, k, n);
  if (k <= INT32_MAX && n <= INT32_MAX) return TARSIA_STATUS_OK;
  return Invalid(diag::kWeightsTooLarge, k, n, INT32_MAX);
}

tarsia_status ReadOptions(const tarsia_quantise_options& from, QuantiseWeights* out) {
  QuantiseSpec& spec = out->spec;
  if (from.codebook != nullptr) {
    spec.codebook = FindCodebook(from.codebook);
    if (spec.codebook == nullptr) return Invalid(diag::kApiUnknownCodebook, from.codebook);
    spec.type = *CodeTypeOf(*spec.codebook);
  } else if (const auto status = ReadTypeCode(from.type, "options.type", &spec.type);
             status != TARSIA_STATUS_OK) {
    return status;
  }
  auto status = ReadTypeCode(from.compute, "options.compute", &out->compute);
  if (status == TARSIA_STATUS_OK) {
    status = ReadTypeCode(from.scale_type, "options.scale_type", &spec.scale_type);
  }
  if (status == TARSIA_STATUS_OK) status = ReadZeroPoint(from.zero, "options.zero", &spec.zero);
  if (status != TARSIA_STATUS_OK) return status;
  if (from.rule < TARSIA_SCALE_RULE_ABSMAX || from.rule > TARSIA_SCALE_RULE_LEAST_SQUARES) {
    return Invalid(diag::kApiEnumValue, "options.rule", static_cast<int64_t>(from.rule),
                   "tarsia_scale_rule");
  }
  spec.rule = static_cast<ScaleRule>(from.rule);
  spec.group = from.group;
  spec.columns = from.columns == 0 ? 1 : from.columns;
  return TARSIA_STATUS_OK;
}

tarsia_status Quantise(const void* data, size_t bytes, tarsia_dtype dtype, int64_t k, int64_t n,
                       bool transposed, const tarsia_quantise_options* options,
                       tarsia_weights** out) {
  if (data == nullptr) return NullArgument("data");
  if (options == nullptr) return NullArgument("options");
  tarsia_quantise_options read;
  auto status = ReadStruct(options, "options", &read);
  if (status == TARSIA_STATUS_OK) status = CheckExtents(k, n);
  FloatMatrix matrix{static_cast<const uint8_t*>(data), {}, k, n, transposed};
  if (status == TARSIA_STATUS_OK) status = ReadTypeCode(dtype, "dtype", &matrix.type);
  if (status != TARSIA_STATUS_OK) return status;
  if (!IsFloatMatrixType(matrix.type)) {
    return Invalid(diag::kApiMatrixType, DTypeName(matrix.type));
  }
  const auto wanted =
      static_cast<uint64_t>(k * n) * static_cast<uint64_t>(ContainerBytes(matrix.type));
  if (bytes != wanted) return Invalid(diag::kApiBytes, "data", bytes, wanted);
  QuantiseWeights request;
  status = ReadOptions(read, &request);
  if (status != TARSIA_STATUS_OK) return status;
  return GiveWeights(QuantiseAndPack(matrix, request, ProgressOf(read)), out);
}

// Checks a pointer to an array and its count; `wanted` elements are needed.
template <typename T>
tarsia_status CheckArray(const T* data, size_t count, uint64_t wanted, const char* name) {
  if (count != wanted) return Invalid(diag::kApiCount, name, count, wanted);
  if (data == nullptr && wanted != 0) return NullArgument(name);
  return TARSIA_STATUS_OK;
}

tarsia_status ReadCodes(const tarsia_codes& from, CodeSource* out) {
  WeightInfo& info = out->info;
  auto status = CheckExtents(from.k, from.n);
  if (status == TARSIA_STATUS_OK) status = ReadTypeCode(from.type, "codes.type", &info.type);
  if (status == TARSIA_STATUS_OK)
    status = ReadTypeCode(from.compute, "codes.compute", &info.compute);
  if (status == TARSIA_STATUS_OK) {
    status = ReadTypeCode(from.scale_type, "codes.scale_type", &info.scale_type);
  }
  if (status == TARSIA_STATUS_OK) status = ReadZeroPoint(from.zero, "codes.zero", &info.zero);
  if (status != TARSIA_STATUS_OK) return status;
  info.k = info.whole_k = from.k;
  info.n = info.whole_n = from.n;
  info.group = from.group;
  info.tensor_scale = from.tensor_scale == 0 ? 1 : from.tensor_scale;
  if (info.zero == ZeroPoint::kInteger) info.zero_type = info.type.IsSigned() ? kI8 : kU8;
  if (info.zero == ZeroPoint::kFloat) info.zero_type = kF32;
  if (from.codebook != nullptr && LowPrecision(info.type)) {
    info.codebook.assign(from.codebook, from.codebook + (size_t{1} << info.type.bits));
  }
  if (const auto places = PlaceWeights(info); !places.ok()) {
    return FailWith(places.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  }
  const auto scales = static_cast<uint64_t>(info.groups() * info.n);
  const bool zeros = info.zero != ZeroPoint::kNone;
  status = CheckArray(from.codes, from.code_count, static_cast<uint64_t>(from.k * from.n),
                      "codes.codes");
  if (status == TARSIA_STATUS_OK) {
    status = CheckArray(from.scales, from.scale_count, scales, "codes.scales");
  }
  if (status == TARSIA_STATUS_OK) {
    status = CheckArray(from.zeros, from.zero_count, zeros ? scales : 0, "codes.zeros");
  }
  if (status != TARSIA_STATUS_OK) return status;
  out->scales.assign(from.scales, from.scales + from.scale_count);
  out->zeros.assign(from.zeros, from.zeros + from.zero_count);
  if (from.gather != nullptr) out->gather.assign(from.gather, from.gather + from.k);
  out->codes = FillFrom(from.codes, from.n);
  return TARSIA_STATUS_OK;
}

tarsia_weights_info WeightsInfo(const tarsia_weights& weights) {
  const WeightInfo& info = weights.packed.info();
  const auto code = [](DType type) { return static_cast<tarsia_dtype>(DTypeCode(type)); };
  tarsia_weights_info out = {};
  out.type = code(info.type);
  out.compute = code(info.compute);
  out.scale_type = code(info.scale_type);
  out.zero_type = info.zero == ZeroPoint::kNone ? TARSIA_DTYPE_NONE : code(info.zero_type);
  out.zero = static_cast<tarsia_zero_point>(info.zero);
  out.k = info.k;
  out.n = info.n;
  out.group = info.group;
  out.tensor_scale = info.tensor_scale;
  out.finite = info.finite;
  out.gathers = info.gathers;
  out.codebook = !info.codebook.empty();
  out.whole_k = info.whole_k;
  out.whole_n = info.whole_n;
  out.first_k = info.first_k;
  out.first_n = info.first_n;
  out.layout_id = weights.layout_id.c_str();
  out.code_order = weights.code_order.c_str();
  out.scale_order = weights.scale_order.c_str();
  out.zero_order = weights.zero_order.c_str();
  out.file_bytes = weights.packed.image().size();
  return out;
}

tarsia_status UnpackParts(const PackedWeights& packed, uint8_t* codes, size_t code_count,
                          float* scales, size_t scale_count, float* zeros, size_t zero_count) {
  const WeightInfo& info = packed.info();
  const auto all = static_cast<uint64_t>(info.k * info.n);
  const auto groups = static_cast<uint64_t>(info.groups() * info.n);
  const bool has_zeros = info.zero != ZeroPoint::kNone;
  auto status = TARSIA_STATUS_OK;
  if (codes != nullptr) status = CheckArray(codes, code_count, all, "codes");
  if (status == TARSIA_STATUS_OK && scales != nullptr) {
    status = CheckArray(scales, scale_count, groups, "scales");
  }
  if (status == TARSIA_STATUS_OK && zeros != nullptr) {
    status = CheckArray(zeros, zero_count, has_zeros ? groups : 0, "zeros");
  }
  if (status != TARSIA_STATUS_OK) return status;
  const UnpackedWeights parts = packed.Unpack();
  if (codes != nullptr) std::copy(parts.codes.begin(), parts.codes.end(), codes);
  if (scales != nullptr) std::copy(parts.scales.begin(), parts.scales.end(), scales);
  if (zeros != nullptr) std::copy(parts.zeros.begin(), parts.zeros.end(), zeros);
  return TARSIA_STATUS_OK;
}

}  // namespace
}  // namespace tarsia::api

using namespace tarsia;
using namespace tarsia::api;

// Every function that makes a handle begins like this.
#define TARSIA_NEED_OUT(out)                        \
  if ((out) == nullptr) return NullArgument("out"); \
  *(out) = nullptr

tarsia_status tarsia_weights_quantise(const void* data, size_t bytes, tarsia_dtype dtype, int64_t k,
                                      int64_t n, bool transposed,
                                      const tarsia_quantise_options* options,
                                      tarsia_weights** out) {
  return Guarded([&]() -> tarsia_status {
    TARSIA_NEED_OUT(out);
    return Quantise(data, bytes, dtype, k, n, transposed, options, out);
  });
}

tarsia_status tarsia_weights_pack(const tarsia_codes* codes, tarsia_weights** out) {
  return Guarded([&]() -> tarsia_status {
    TARSIA_NEED_OUT(out);
    if (codes == nullptr) return NullArgument("codes");
    tarsia_codes read;
    auto status = ReadStruct(codes, "codes", &read);
    CodeSource source;
    if (status == TARSIA_STATUS_OK) status = ReadCodes(read, &source);
    if (status != TARSIA_STATUS_OK) return status;
    return GiveWeights(PackedWeights::Pack(source, ProgressOf(read)), out);
  });
}

tarsia_status tarsia_weights_load(const char* path, tarsia_weights** out) {
  return Guarded([&]() -> tarsia_status {
    TARSIA_NEED_OUT(out);
    if (path == nullptr) return NullArgument("path");
    return GiveWeights(PackedWeights::Load(path), out);
  });
}

tarsia_status tarsia_weights_load_memory(const void* bytes, size_t size, tarsia_weights** out) {
  return Guarded([&]() -> tarsia_status {
    TARSIA_NEED_OUT(out);
    if (bytes == nullptr) return NullArgument("bytes");
    return GiveWeights(PackedWeights::FromBytes({static_cast<const uint8_t*>(bytes), size}), out);
  });
}

tarsia_status tarsia_weights_save(const tarsia_weights* weights, const char* path) {
  return Guarded([&]() -> tarsia_status {
    if (weights == nullptr) return NullArgument("weights");
    if (path == nullptr) return NullArgument("path");
    const auto image = weights->packed.image();
    const Status written =
        WriteFile(path, {reinterpret_cast<const char*>(image.data()), image.size()});
    return written.ok() ? TARSIA_STATUS_OK : FailWith(written.error(), TARSIA_STATUS_REJECTED);
  });
}

tarsia_status tarsia_weights_get(const tarsia_weights* weights, tarsia_weights_info* info) {
  return Guarded([&]() -> tarsia_status {
    if (weights == nullptr) return NullArgument("weights");
    return WriteStruct(WeightsInfo(*weights), "info", info);
  });
}

tarsia_status tarsia_weights_part(const tarsia_weights* weights, tarsia_weights_part_kind part,
                                  const void** data, uint64_t* bytes) {
  return Guarded([&]() -> tarsia_status {
    if (weights == nullptr) return NullArgument("weights");
    if (part < TARSIA_WEIGHTS_CODES || part > TARSIA_WEIGHTS_CODEBOOK) {
      return Invalid(diag::kApiEnumValue, "part", static_cast<int64_t>(part),
                     "tarsia_weights_part_kind");
    }
    const auto range = weights->packed.part(static_cast<WeightPart>(part - TARSIA_WEIGHTS_CODES));
    if (data != nullptr) *data = range.empty() ? nullptr : range.data();
    if (bytes != nullptr) *bytes = range.size();
    return TARSIA_STATUS_OK;
  });
}

tarsia_status tarsia_weights_unpack(const tarsia_weights* weights, uint8_t* codes,
                                    size_t code_count, float* scales, size_t scale_count,
                                    float* zeros, size_t zero_count) {
  return Guarded([&]() -> tarsia_status {
    if (weights == nullptr) return NullArgument("weights");
    return UnpackParts(weights->packed, codes, code_count, scales, scale_count, zeros, zero_count);
  });
}

tarsia_status tarsia_weights_dequantise(const tarsia_weights* weights, float* out, size_t count) {
  return Guarded([&]() -> tarsia_status {
    if (weights == nullptr) return NullArgument("weights");
    const WeightInfo& info = weights->packed.info();
    const auto wanted = static_cast<uint64_t>(info.k * info.n);
    const auto status = CheckArray(out, count, wanted, "out");
    if (status == TARSIA_STATUS_OK) weights->packed.Dequantise({out, count});
    return status;
  });
}

tarsia_status tarsia_weights_shard(const tarsia_weights* const* pieces, size_t count, bool along_k,
                                   int64_t part, int64_t parts, tarsia_weights** out) {
  return Guarded([&]() -> tarsia_status {
    TARSIA_NEED_OUT(out);
    if (pieces == nullptr) return NullArgument("pieces");
    if (count == 0) return Invalid(diag::kApiCount, "pieces", count, "at least 1");
    std::vector<const PackedWeights*> all;
    for (size_t i = 0; i < count; ++i) {
      if (pieces[i] == nullptr) return NullArgument(fmt::format("pieces[{}]", i).c_str());
      all.push_back(&pieces[i]->packed);
    }
    return GiveWeights(ShardOf(all, along_k, part, parts), out);
  });
}

tarsia_status tarsia_weights_pair(const tarsia_weights* first, const tarsia_weights* second,
                                  tarsia_weights** out) {
  return Guarded([&]() -> tarsia_status {
    TARSIA_NEED_OUT(out);
    if (first == nullptr) return NullArgument("first");
    if (second == nullptr) return NullArgument("second");
    return GiveWeights(PairOf(first->packed, second->packed), out);
  });
}

tarsia_status tarsia_weights_image(const tarsia_weights* weights, const void** data,
                                   uint64_t* bytes) {
  return Guarded([&]() -> tarsia_status {
    if (weights == nullptr) return NullArgument("weights");
    if (data != nullptr) *data = weights->packed.image().data();
    if (bytes != nullptr) *bytes = weights->packed.image().size();
    return TARSIA_STATUS_OK;
  });
}

void tarsia_weights_destroy(tarsia_weights* weights) { delete weights; }
