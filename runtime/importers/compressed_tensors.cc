// compressed-tensors, as llm-compressor writes it; NVFP4 also as ModelOpt writes it. All matrices
// are [N, K].
//
// pack-quantized: `weight_packed` i32 [N, ceil(K / f)] with f = 32 / bits codes in a word, the
// lowest bits first; a code is the signed value plus 2^(bits - 1). `weight_shape` i64 [2] is [N,
// K]. `weight_scale` [N, K / group]; `weight_zero_point` i32 [ceil(N / f), K / group] is packed
// along N with the same offset, or i8 [N, K / group]. int-quantized and float-quantized: `weight`
// i8 or f8e4m3fn [N, K], `weight_scale` of one number, [N], [N, 1], [N, K / group] or, for blocks
// of 128, [ceil(N / 128), ceil(K / 128)]. nvfp4-pack-quantized: `weight_packed` u8 [N, K / 2], the
// even k in the low nibbles, `weight_scale` f8e4m3fn [N, K / 16], divided by `weight_global_scale`.
// ModelOpt: `weight` u8, and the scales are multiplied by `weight_scale_2`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/importers/fill.h"
#include "runtime/importers/importers.h"
#include "support/extents.h"

namespace tarsia {
namespace {

WeightInfo LayerInfo(DType type, int64_t k, int64_t n, int64_t group, DType scale_type) {
  WeightInfo info;
  info.type = type;
  info.k = info.whole_k = k;
  info.n = info.whole_n = n;
  info.group = group;
  info.scale_type = scale_type;
  return info;
}

// Bits per code, from the words in a row.
int BitsOf(const LayerOptions& options, int64_t k, int64_t words) {
  if (options.bits != 0) return options.bits;
  for (const int bits : {4, 8, 3, 5, 6, 2, 1}) {  // 7 is like 8, and is told by the configuration
    const int64_t per_word = kStreamWordBits / bits;
    if ((k + per_word - 1) / per_word == words) return bits;
  }
  return 0;
}

// The zero points [K / group, N], as signed values.
Result<std::vector<float>> PackedZeros(const TensorSet& set, const std::string& name, int bits,
                                       int64_t n, int64_t groups) {
  const int64_t per_word = kStreamWordBits / bits;
  const TensorView* const tensor = set.Find(name);
  if (tensor != nullptr && tensor->info.type == kI8) {
    TARSIA_TRY(const TensorView* const bytes, set.Need(name, {kI8}, {n, groups}));
    return Transpose(FloatsOf(*bytes), n, groups);
  }
  TARSIA_TRY(const TensorView* const words,
             set.Need(name, {kI32}, {(n + per_word - 1) / per_word, groups}));
  std::vector<float> out;
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t word = LoadU32(words->data + (i / per_word * groups + g) * 4);
      const uint32_t code = word >> (i % per_word * bits) & ((uint32_t{1} << bits) - 1);
      out.push_back(static_cast<float>(static_cast<int>(code) - (1 << (bits - 1))));
    }
  }
  return out;
}

// The scales [groups, N] of `weight_scale`, and the rows that share one.
struct LayerScales {
  std::vector<float> values;
  int64_t group = 0;
};

// The largest group of rows within which blocks of `block` rows have one scale.
int64_t GroupWithin(int64_t k, int64_t block) {
  int64_t a = k, b = block;
  while (b != 0) a = std::exchange(b, a % b);
  return std::max<int64_t>(a, 1);
}

LayerScales FromBlocks(const TensorView& tensor, int64_t k, int64_t n, int64_t rows,
                       int64_t columns) {
  const std::vector<float> blocks = FloatsOf(tensor);
  const int64_t across = tensor.extent(1);  // along K
  LayerScales out;
  out.group = GroupWithin(k, rows);
  for (int64_t g = 0; g < k / out.group; ++g) {
    for (int64_t i = 0; i < n; ++i) {
      out.values.push_back(blocks[Size(i / columns * across + g * out.group / rows)]);
    }
  }
  return out;
}

Result<LayerScales> ScalesOf(const TensorView& tensor, int64_t k, int64_t n) {
  if (tensor.elements() == 1) {
    return LayerScales{std::vector<float>(Size(n), FloatsOf(tensor)[0]), std::max<int64_t>(k, 1)};
  }
  const auto up = [](int64_t x) { return (x + 127) / 128; };
  const bool vector = tensor.rank() == 1 && tensor.extent(0) == n;
  if (vector) return LayerScales{FloatsOf(tensor), std::max<int64_t>(k, 1)};
  if (tensor.rank() == 2 && tensor.extent(0) == n && tensor.extent(1) > 0 &&
      k % tensor.extent(1) == 0) {
    const int64_t groups = tensor.extent(1);
    return LayerScales{Transpose(FloatsOf(tensor), n, groups), std::max<int64_t>(k / groups, 1)};
  }
  if (tensor.rank() == 2 && tensor.extent(0) == up(n) && tensor.extent(1) == up(k)) {
    return FromBlocks(tensor, k, n, 128, 128);
  }
  return TensorError(tensor.name, fmt::format("scales {} do not fit weights [{}, {}]",
                                              ShapeText(tensor.info.shape), n, k));
}

}  // namespace

Result<CodeSource> ReadPackedIntegers(const TensorSet& set, const std::string& layer,
                                      const LayerOptions& options) {
  const std::string name = layer + ".weight_packed";
  TARSIA_TRY(const TensorView* const packed, set.Need(name, {kI32}, {-1, -1}));
  const int64_t n = packed->extent(0), words = packed->extent(1);
  TARSIA_TRY(const TensorView* const shape, set.Need(layer + ".weight_shape", {kI64, kI32}, {2}));
  const std::vector<float> extents = FloatsOf(*shape);  // exact up to 2^24
  const auto k = extents[1] >= 0 && extents[1] <= 0x1p24F ? static_cast<int64_t>(extents[1]) : -1;
  const int bits = k >= 0 ? BitsOf(options, k, words) : 0;
  const int64_t per_word = bits > 0 && bits <= 8 ? kStreamWordBits / bits : 1;
  if (extents[0] != static_cast<float>(n) || bits < 1 || bits > 8 ||
      (k + per_word - 1) / per_word != words) {
    return TensorError(
        name, fmt::format("{} words in a row do not hold weights [{}, {}] of {} bits", words,
                          extents[0], extents[1], bits));
  }
  TARSIA_TRY(const TensorView* const scale,
             set.Need(layer + ".weight_scale", {kF16, kBF16, kF32}, {n, -1}));
  const int64_t groups = scale->extent(1);
  if (groups < 1 || k % groups != 0) {
    return TensorError(scale->name, fmt::format("{} groups do not divide {} rows", groups, k));
  }
  if (set.Find(layer + ".weight_g_idx") != nullptr) {
    return TensorError(layer + ".weight_g_idx", "activation order is not supported in this format");
  }
  CodeSource out;
  const DType type = {.kind = DTypeKind::kSigned, .bits = static_cast<uint8_t>(bits)};
  out.info = LayerInfo(type, k, n, std::max<int64_t>(k / groups, 1), *scale->info.type);
  out.scales = Transpose(FloatsOf(*scale), n, groups);
  if (set.Find(layer + ".weight_zero_point") != nullptr) {
    TARSIA_TRY(out.zeros, PackedZeros(set, layer + ".weight_zero_point", bits, n, groups));
    out.info.zero = ZeroPoint::kInteger;
    out.info.zero_type = kI8;
  }
  out.codes = FromColumns(
      [packed, words, per_word, bits](int64_t column, int64_t row, int64_t count, uint8_t* to) {
        const uint8_t* const from = packed->data + column * words * 4;
        const uint32_t mask = (uint32_t{1} << bits) - 1, flip = uint32_t{1} << (bits - 1);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t at = row + i;
          const uint32_t word = LoadU32(from + at / per_word * 4);
          to[i] = static_cast<uint8_t>((word >> (at % per_word * bits) & mask) ^ flip);
        }
      });
  return out;
}

Result<CodeSource> ReadBytes(const TensorSet& set, const std::string& layer,
                             const LayerOptions& /*options*/) {
  TARSIA_TRY(const TensorView* const weight,
             set.Need(layer + ".weight", {kI8, kF8E4M3FN, kF8E5M2}, {-1, -1}));
  const int64_t n = weight->extent(0), k = weight->extent(1);
  const TensorView* scale = set.Find(layer + ".weight_scale");
  if (scale == nullptr || !scale->info.type->IsFloat() || scale->info.type->bits < 16) {
    return TensorError(layer + ".weight_scale", "it is missing, or its elements are no scales");
  }
  TARSIA_TRY(LayerScales scales, ScalesOf(*scale, k, n));
  CodeSource out;
  out.info = LayerInfo(*weight->info.type, k, n, scales.group, *scale->info.type);
  out.scales = std::move(scales.values);
  if (set.Find(layer + ".weight_zero_point") != nullptr) {
    TARSIA_TRY(const TensorView* const zero,
               set.Need(layer + ".weight_zero_point", {kI8}, {n, out.info.groups()}));
    if (weight->info.type != kI8) return TensorError(zero->name, "floats have no zero points");
    out.zeros = Transpose(FloatsOf(*zero), n, out.info.groups());
    out.info.zero = ZeroPoint::kInteger;
    out.info.zero_type = kI8;
  }
  out.codes = FromColumns([weight, k](int64_t column, int64_t row, int64_t count, uint8_t* to) {
    std::copy_n(weight->data + column * k + row, count, to);
  });
  return out;
}

Result<CodeSource> ReadNvfp4(const TensorSet& set, const std::string& layer,
                             const LayerOptions& /*options*/) {
  const bool divides = set.Find(layer + ".weight_packed") != nullptr;
  TARSIA_TRY(const TensorView* const weight,
             set.Need(layer + (divides ? ".weight_packed" : ".weight"), {kU8}, {-1, -1}));
  const int64_t n = weight->extent(0), half = weight->extent(1);
  const int64_t k = 2 * half;
  if (k % 16 != 0) return TensorError(weight->name, fmt::format("{} is no multiple of 16", k));
  TARSIA_TRY(const TensorView* const scale,
             set.Need(layer + ".weight_scale", {kF8E4M3FN}, {n, k / 16}));
  const std::string whole = layer + (divides ? ".weight_global_scale" : ".weight_scale_2");
  const TensorView* const tensor_scale = set.Find(whole);
  if (tensor_scale == nullptr || tensor_scale->info.type != kF32) {
    return TensorError(whole, "it is missing, or not f32");
  }
  TARSIA_TRY(const double factor, NumberOf(*tensor_scale));
  CodeSource out;
  out.info = LayerInfo(kF4E2M1, k, n, 16, kF8E4M3FN);
  out.info.tensor_scale = static_cast<float>(divides ? 1 / factor : factor);
  if (!std::isfinite(out.info.tensor_scale)) return TensorError(whole, "it is no scale");
  out.scales = Transpose(FloatsOf(*scale), n, k / 16);
  out.codes = FromColumns([weight, half](int64_t column, int64_t row, int64_t count, uint8_t* to) {
    const uint8_t* const from = weight->data + column * half;
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<uint8_t>(from[(row + i) / 2] >> ((row + i) % 2 * 4) & 15);
    }
  });
  return out;
}

// DeepSeek's FP8: `weight` f8e4m3fn [N, K], `weight_scale_inv` f32 [ceil(N / 128), ceil(K / 128)];
// the weights are multiplied by it, whatever its name says.
Result<CodeSource> ReadFp8Blocks(const TensorSet& set, const std::string& layer,
                                 const LayerOptions& /*options*/) {
  constexpr int64_t kBlock = 128;
  TARSIA_TRY(const TensorView* const weight, set.Need(layer + ".weight", {kF8E4M3FN}, {-1, -1}));
  const int64_t n = weight->extent(0), k = weight->extent(1);
  const auto up = [](int64_t x) { return (x + kBlock - 1) / kBlock; };
  TARSIA_TRY(const TensorView* const scale,
             set.Need(layer + ".weight_scale_inv", {kF32, kBF16}, {up(n), up(k)}));
  LayerScales scales = FromBlocks(*scale, k, n, kBlock, kBlock);
  CodeSource out;
  out.info = LayerInfo(kF8E4M3FN, k, n, scales.group, *scale->info.type);
  out.scales = std::move(scales.values);
  out.codes = FromColumns([weight, k](int64_t column, int64_t row, int64_t count, uint8_t* to) {
    std::copy_n(weight->data + column * k + row, count, to);
  });
  return out;
}

// MXFP4 as in gpt-oss: `blocks` u8 [experts, N, K / 32, 16], the even k in the low nibbles,
// `scales` u8 [experts, N, K / 32], e8m0; without the first extent if there is one matrix.
Result<CodeSource> ReadMxfp4(const TensorSet& set, const std::string& layer, int64_t expert) {
  const TensorView* const any = set.Find(layer + "_blocks");
  const bool several = any != nullptr && any->rank() == 4;
  const std::string blocks_name = layer + "_blocks", scales_name = layer + "_scales";
  TARSIA_TRY(const TensorView* const blocks, several
                                                 ? set.Need(blocks_name, {kU8}, {-1, -1, -1, 16})
                                                 : set.Need(blocks_name, {kU8}, {-1, -1, 16}));
  const size_t first = several ? 1 : 0;
  const int64_t n = blocks->extent(first), groups = blocks->extent(first + 1);
  TARSIA_TRY(const TensorView* const scales,
             several ? set.Need(scales_name, {kU8, kE8M0}, {blocks->extent(0), n, groups})
                     : set.Need(scales_name, {kU8, kE8M0}, {n, groups}));
  if (expert < 0 || expert >= (several ? blocks->extent(0) : 1)) {
    return TensorError(blocks->name, fmt::format("it has no expert {}", expert));
  }
  CodeSource out;
  out.info = LayerInfo(kF4E2M1, 32 * groups, n, 32, kE8M0);
  TensorView exponents = *scales;
  exponents.info.type = kE8M0;
  exponents.info.bytes = static_cast<uint64_t>(n * groups);
  exponents.data += expert * n * groups;
  out.scales = Transpose(FloatsOf(exponents), n, groups);
  const uint8_t* const codes = blocks->data + expert * n * groups * 16;
  out.codes = FromColumns([codes, groups](int64_t column, int64_t row, int64_t count, uint8_t* to) {
    const uint8_t* const from = codes + column * groups * 16;
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<uint8_t>(from[(row + i) / 2] >> ((row + i) % 2 * 4) & 15);
    }
  });
  return out;
}

}  // namespace tarsia
