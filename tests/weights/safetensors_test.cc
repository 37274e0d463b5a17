// Formats of .safetensors files. The tensors are random; the weights are computed from them here,
// one by one, as the format defines them.
#include <gtest/gtest.h>

#include <cmath>

#include "dtypes/simd.h"
#include "tests/harness/codec.h"
#include "tests/weights/files.h"
#include "tests/weights/layer.h"

namespace tarsia::weights {
namespace {

using harness::Decode;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint32_t Bits(int count) { return static_cast<uint32_t>(engine_() >> (64 - count)); }

 private:
  std::mt19937_64 engine_;
};

// Codes of a type that holds these, and their values.
struct Values {
  std::vector<uint64_t> codes;
  std::vector<double> numbers;
  [[nodiscard]] std::string Bytes(DType type) const {
    std::string out;
    for (const uint64_t code : codes) {
      for (int i = 0; i < type.bits; i += 8) out += static_cast<char>(code >> i & 0xFF);
    }
    return out;
  }
};

// Positive scales: all 1/2 if exact.
Values Scales(DType type, int64_t count, bool exact, Random& random) {
  Values out;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t code = *harness::EncodeExact(type, 0.5);
    const int low = std::min<int>(type.mantissa, 20);
    if (!exact && low > 0) code ^= random.Bits(low);
    if (!exact && type == kE8M0) code = 120 + random.Bits(3);
    out.codes.push_back(code);
    out.numbers.push_back(Decode(type, code));
  }
  return out;
}

std::string TypeName(DType type) {
  return type == kF16 ? "F16" : type == kBF16 ? "BF16" : type == kF32 ? "F32" : "F8_E4M3";
}

void PutBits(std::vector<uint32_t>* words, size_t bit, int width, uint32_t code) {
  for (int i = 0; i < width; ++i) {
    const size_t at = bit + static_cast<size_t>(i);
    (*words)[at / 32] |= (code >> i & 1) << at % 32;
  }
}

Layer Empty(std::string format, int64_t k, int64_t n, bool exact) {
  Layer out;
  out.file_name = "model.safetensors";
  out.name = "block.0.linear";
  out.format = std::move(format);
  out.k = k;
  out.n = n;
  out.exact = exact;
  out.weights.resize(static_cast<size_t>(k * n));
  return out;
}

void Put(Layer* layer, int64_t k, int64_t n, double code, double zero, double scale) {
  layer->at(k, n) = {(code - zero) * scale, (std::fabs(code) + std::fabs(zero)) * scale, 0};
}

// ---- GPTQ --------------------------------------------------------------------------------------

enum class Order { kPlain, kListed, kShuffled };

struct GptqKind {
  int bits;
  bool first_version;
  Order order;
  bool symmetric;
  DType scale;
};

Layer Gptq(const GptqKind& kind, bool exact) {
  constexpr int64_t kK = 96, kN = 64, kGroup = 32, kGroups = kK / kGroup;
  const int bits = kind.bits;
  Random random(5);
  Layer out = Empty(kind.first_version ? "gptq-v1" : "gptq-v2", kK, kN, exact);
  std::vector<int32_t> g_idx;
  for (int64_t k = 0; k < kK; ++k) {
    g_idx.push_back(
        static_cast<int32_t>(kind.order == Order::kShuffled ? k * 7 % kGroups : k / kGroup));
  }
  const Values scales = Scales(kind.scale, kGroups * kN, exact, random);
  std::vector<uint32_t> qzeros(static_cast<size_t>(kGroups * kN * bits / 32));
  std::vector<uint32_t> zeros;
  for (int64_t g = 0; g < kGroups; ++g) {
    for (int64_t n = 0; n < kN; ++n) {
      const uint32_t stored = kind.symmetric
                                  ? (uint32_t{1} << (bits - 1)) - (kind.first_version ? 1 : 0)
                                  : random.Bits(bits);
      PutBits(&qzeros, static_cast<size_t>((g * kN + n) * bits), bits, stored);
      zeros.push_back(kind.first_version ? stored + 1 : stored);
    }
  }
  // A word belongs to a column: the stream of each goes down the rows of words.
  std::vector<uint32_t> qweight(static_cast<size_t>(kK * bits / 32 * kN));
  for (int64_t n = 0; n < kN; ++n) {
    std::vector<uint32_t> column(static_cast<size_t>(kK * bits / 32));
    for (int64_t k = 0; k < kK; ++k) {
      const uint32_t code = random.Bits(bits);
      PutBits(&column, static_cast<size_t>(k * bits), bits, code);
      const auto at = static_cast<size_t>(g_idx[static_cast<size_t>(k)] * kN + n);
      Put(&out, k, n, code, zeros[at], scales.numbers[at]);
    }
    for (size_t i = 0; i < column.size(); ++i) qweight[i * kN + static_cast<size_t>(n)] = column[i];
  }
  std::vector<RawTensor> tensors = {
      {out.name + ".qweight", "I32", {kK * bits / 32, kN}, BytesOf(qweight)},
      {out.name + ".qzeros", "I32", {kGroups, kN * bits / 32}, BytesOf(qzeros)},
      {out.name + ".scales", TypeName(kind.scale), {kGroups, kN}, scales.Bytes(kind.scale)},
      {"block.0.norm.weight", "F16", {2}, "abcd"}};
  if (kind.order != Order::kPlain) {
    tensors.push_back({out.name + ".g_idx", "I32", {kK}, BytesOf(g_idx)});
    out.options.format = out.format;
  } else {
    out.config = "{\"bits\": " + std::to_string(bits) + ", \"checkpoint_format\": \"" +
                 (kind.first_version ? "gptq" : "gptq_v2") + "\", \"group_size\": 32}";
  }
  out.file = SafetensorsFile(tensors);
  return out;
}

TEST(Importers, RunOnTheVectorUnitThatIsAskedFor) {
  const Status available = CheckSimd();
  EXPECT_TRUE(available.ok()) << available.error().message;
}

TEST(Importers, Gptq) {
  const GptqKind kinds[] = {
      {4, true, Order::kPlain, false, kF16},     {4, false, Order::kListed, false, kF16},
      {4, true, Order::kShuffled, false, kBF16}, {2, true, Order::kListed, false, kF16},
      {3, false, Order::kPlain, false, kF16},    {3, true, Order::kShuffled, true, kF32},
      {4, true, Order::kPlain, true, kF16},      {8, false, Order::kListed, true, kF16}};
  for (const GptqKind& kind : kinds) {
    SCOPED_TRACE(kind.bits);
    CheckLayer(Gptq(kind, false));
    CheckLayer(Gptq(kind, true));
  }
}

TEST(Importers, SymmetricGptqNeedsNoZeroPoints) {
  const auto packed = ImportLayer(Gptq({4, true, Order::kShuffled, true, kF16}, false));
  ASSERT_EQ(packed.size(), 1U);
  EXPECT_EQ(packed[0].info().type, kI4);
  EXPECT_EQ(packed[0].info().zero, ZeroPoint::kNone);
  EXPECT_TRUE(packed[0].info().gathers);
}

// ---- AWQ ---------------------------------------------------------------------------------------

Layer Awq(bool exact) {
  constexpr int64_t kK = 128, kN = 72, kGroup = 64, kGroups = kK / kGroup;
  constexpr int kColumn[] = {0, 2, 4, 6, 1, 3, 5, 7};
  Random random(6);
  Layer out = Empty("awq", kK, kN, exact);
  const Values scales = Scales(kF16, kGroups * kN, exact, random);
  std::vector<uint32_t> qzeros, qweight;
  std::vector<double> zeros(static_cast<size_t>(kGroups * kN));
  for (int64_t i = 0; i < kGroups * kN / 8; ++i) {
    qzeros.push_back(random.Bits(32));
    for (int nibble = 0; nibble < 8; ++nibble) {
      zeros[static_cast<size_t>(i * 8 + kColumn[nibble])] = qzeros.back() >> (4 * nibble) & 15;
    }
  }
  for (int64_t i = 0; i < kK * kN / 8; ++i) {
    qweight.push_back(random.Bits(32));
    for (int nibble = 0; nibble < 8; ++nibble) {
      const int64_t k = i * 8 / kN, n = i * 8 % kN + kColumn[nibble];
      const auto at = static_cast<size_t>(k / kGroup * kN + n);
      Put(&out, k, n, qweight.back() >> (4 * nibble) & 15, zeros[at], scales.numbers[at]);
    }
  }
  out.file = SafetensorsFile({{out.name + ".qweight", "I32", {kK, kN / 8}, BytesOf(qweight)},
                              {out.name + ".qzeros", "I32", {kGroups, kN / 8}, BytesOf(qzeros)},
                              {out.name + ".scales", "F16", {kGroups, kN}, scales.Bytes(kF16)}});
  return out;
}

TEST(Importers, Awq) {
  CheckLayer(Awq(false));
  CheckLayer(Awq(true));
}

// ---- compressed-tensors ------------------------------------------------------------------------

Layer PackedIntegers(int bits, bool zeros, bool exact) {
  constexpr int64_t kK = 96, kN = 50, kGroup = 48, kGroups = kK / kGroup;
  const int64_t per_word = 32 / bits;
  const int64_t words = (kK + per_word - 1) / per_word;
  const int64_t zero_words = (kN + per_word - 1) / per_word;
  Random random(7);
  Layer out = Empty("compressed-tensors", kK, kN, exact);
  const Values scales = Scales(kBF16, kN * kGroups, exact, random);  // [N, groups]
  std::vector<uint32_t> qzeros(static_cast<size_t>(zero_words * kGroups));
  std::vector<double> zero(static_cast<size_t>(kN * kGroups));
  const int offset = 1 << (bits - 1);
  for (int64_t n = 0; zeros && n < kN; ++n) {
    for (int64_t g = 0; g < kGroups; ++g) {
      const uint32_t code = random.Bits(bits);
      qzeros[static_cast<size_t>(n / per_word * kGroups + g)] |= code << (n % per_word * bits);
      zero[static_cast<size_t>(n * kGroups + g)] = static_cast<int>(code) - offset;
    }
  }
  std::vector<uint32_t> packed(static_cast<size_t>(kN * words));
  for (int64_t n = 0; n < kN; ++n) {
    for (int64_t k = 0; k < kK; ++k) {
      const uint32_t code = random.Bits(bits);
      packed[static_cast<size_t>(n * words + k / per_word)] |= code << (k % per_word * bits);
      const auto at = static_cast<size_t>(n * kGroups + k / kGroup);
      Put(&out, k, n, static_cast<int>(code) - offset, zero[at], scales.numbers[at]);
    }
  }
  std::vector<RawTensor> tensors = {
      {out.name + ".weight_packed", "I32", {kN, words}, BytesOf(packed)},
      {out.name + ".weight_shape", "I64", {2}, BytesOf(std::vector<int64_t>{kN, kK})},
      {out.name + ".weight_scale", "BF16", {kN, kGroups}, scales.Bytes(kBF16)}};
  if (zeros) {
    tensors.push_back(
        {out.name + ".weight_zero_point", "I32", {zero_words, kGroups}, BytesOf(qzeros)});
  }
  if (bits == 7) {
    out.config = R"({"quantization_config": {"quant_method": "compressed-tensors",
      "config_groups": {"group_0": {"weights": {"num_bits": 7}}}}})";
  }
  out.file = SafetensorsFile(tensors);
  return out;
}

TEST(Importers, PackedIntegers) {
  for (const int bits : {2, 3, 4, 5, 6, 7, 8}) {
    for (const bool zeros : {false, true}) {
      CheckLayer(PackedIntegers(bits, zeros, false));
      CheckLayer(PackedIntegers(bits, zeros, true));
    }
  }
}

// Small whole numbers of f8e4m3fn, if exact.
uint8_t FloatCode(DType type, bool exact, Random& random) {
  for (;;) {
    const auto code = static_cast<uint8_t>(random.Bits(type.bits));
    const double value = Decode(type, code);
    if (std::isnan(value) || std::isinf(value)) continue;
    if (!exact || (std::fabs(value) <= 16 && value == std::floor(value))) return code;
  }
}

struct ByteKind {
  DType type;
  std::vector<int64_t> scale_shape;
  int64_t rows, columns;  // of w that share a scale
};

Layer Bytes(const ByteKind& kind, bool exact) {
  constexpr int64_t kK = 192, kN = 136;
  Random random(8);
  Layer out = Empty("compressed-tensors", kK, kN, exact);
  const int64_t groups = (kK + kind.rows - 1) / kind.rows;
  const int64_t across = (kN + kind.columns - 1) / kind.columns;
  const Values scales = Scales(kF32, across * groups, exact, random);
  std::string codes;
  for (int64_t n = 0; n < kN; ++n) {
    for (int64_t k = 0; k < kK; ++k) {
      const uint8_t code = FloatCode(kind.type, exact, random);
      codes += static_cast<char>(code);
      const auto at = static_cast<size_t>(n / kind.columns * groups + k / kind.rows);
      Put(&out, k, n, Decode(kind.type, code), 0, scales.numbers[at]);
    }
  }
  out.file =
      SafetensorsFile({{out.name + ".weight", kind.type == kI8 ? "I8" : "F8_E4M3", {kN, kK}, codes},
                       {out.name + ".weight_scale", "F32", kind.scale_shape, scales.Bytes(kF32)}});
  return out;
}

TEST(Importers, Bytes) {
  const ByteKind kinds[] = {{kI8, {136, 1}, 192, 1},       {kI8, {136}, 192, 1},
                            {kI8, {136, 4}, 48, 1},        {kF8E4M3FN, {1}, 192, 136},
                            {kF8E4M3FN, {136, 1}, 192, 1}, {kF8E4M3FN, {2, 2}, 128, 128}};
  for (const ByteKind& kind : kinds) {
    CheckLayer(Bytes(kind, false));
    CheckLayer(Bytes(kind, true));
  }
}

// ---- FP8 in blocks, NVFP4, MXFP4 ---------------------------------------------------------------

TEST(Importers, Fp8Blocks) {
  constexpr int64_t kK = 320, kN = 200;
  for (const bool exact : {false, true}) {
    Random random(9);
    Layer out = Empty("fp8-blocks", kK, kN, exact);
    const Values scales = Scales(kF32, 2 * 3, exact, random);
    std::string codes;
    for (int64_t n = 0; n < kN; ++n) {
      for (int64_t k = 0; k < kK; ++k) {
        const uint8_t code = FloatCode(kF8E4M3FN, exact, random);
        codes += static_cast<char>(code);
        const auto at = static_cast<size_t>(n / 128 * 3 + k / 128);
        Put(&out, k, n, Decode(kF8E4M3FN, code), 0, scales.numbers[at]);
      }
    }
    out.file =
        SafetensorsFile({{out.name + ".weight", "F8_E4M3", {kN, kK}, codes},
                         {out.name + ".weight_scale_inv", "F32", {2, 3}, scales.Bytes(kF32)}});
    CheckLayer(out);
  }
}

Layer Nvfp4(bool divides, bool exact) {
  constexpr int64_t kK = 96, kN = 40;
  Random random(10);
  Layer out = Empty("nvfp4", kK, kN, exact);
  const Values scales = Scales(kF8E4M3FN, kN * kK / 16, exact, random);
  const float factor = exact ? 2.0F : 3.25F;
  std::string codes;
  for (int64_t n = 0; n < kN; ++n) {
    for (int64_t k = 0; k < kK; k += 2) {
      const uint32_t both = random.Bits(8);
      codes += static_cast<char>(both);
      for (int64_t i = 0; i < 2; ++i) {
        const uint64_t code = both >> (4 * i) & 15;
        const double scale = scales.numbers[static_cast<size_t>(n * (kK / 16) + (k + i) / 16)];
        const auto f = static_cast<double>(factor);
        Put(&out, k + i, n, Decode(kF4E2M1, code), 0, divides ? scale / f : scale * f);
      }
    }
  }
  out.tolerance = exact || !divides ? 0 : 0x1p-22;  // 1 / factor is rounded
  out.file = SafetensorsFile(
      {{out.name + (divides ? ".weight_packed" : ".weight"), "U8", {kN, kK / 2}, codes},
       {out.name + ".weight_scale", "F8_E4M3", {kN, kK / 16}, scales.Bytes(kF8E4M3FN)},
       {out.name + (divides ? ".weight_global_scale" : ".weight_scale_2"),
        "F32",
        {1},
        BytesOf(std::vector<float>{factor})}});
  return out;
}

TEST(Importers, Nvfp4) {
  for (const bool divides : {false, true}) {
    CheckLayer(Nvfp4(divides, false));
    CheckLayer(Nvfp4(divides, true));
  }
}

TEST(Importers, Mxfp4) {
  constexpr int64_t kK = 128, kN = 48;
  for (const bool exact : {false, true}) {
    Random random(11);
    Layer out = Empty("mxfp4", kK, kN, exact);
    const Values scales = Scales(kE8M0, kN * kK / 32, exact, random);
    std::string codes;
    for (int64_t n = 0; n < kN; ++n) {
      for (int64_t k = 0; k < kK; k += 2) {
        const uint32_t both = random.Bits(8);
        codes += static_cast<char>(both);
        for (int64_t i = 0; i < 2; ++i) {
          Put(&out, k + i, n, Decode(kF4E2M1, both >> (4 * i) & 15), 0,
              scales.numbers[static_cast<size_t>(n * (kK / 32) + (k + i) / 32)]);
        }
      }
    }
    out.file = SafetensorsFile({{out.name + "_blocks", "U8", {kN, kK / 32, 16}, codes},
                                {out.name + "_scales", "U8", {kN, kK / 32}, scales.Bytes(kE8M0)}});
    CheckLayer(out);
  }
}

// ---- HQQ ---------------------------------------------------------------------------------------

Layer Hqq(int bits, bool exact) {
  constexpr int64_t kK = 128, kN = 30, kGroup = 64;
  constexpr int64_t kRows = kN * kK / kGroup;
  const int64_t parts = bits == 3 ? 10 : 8 / bits;
  const int64_t packed_rows = (kRows + parts - 1) / parts;
  Random random(12);
  Layer out = Empty("hqq", kK, kN, exact);
  const Values scales = Scales(kF16, kRows, exact, random);
  Values zeros;
  for (int64_t i = 0; i < kRows; ++i) {
    const double zero = exact ? random.Bits(2) : random.Bits(6) / 8.0;
    zeros.codes.push_back(*harness::EncodeExact(kF16, zero));
    zeros.numbers.push_back(zero);
  }
  std::vector<uint32_t> packed(static_cast<size_t>(packed_rows * kGroup));
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kGroup; ++c) {
      const uint32_t code = random.Bits(bits);
      const int64_t shift = (parts - 1 - r / packed_rows) * bits;
      packed[static_cast<size_t>(r % packed_rows * kGroup + c)] |= code << shift;
      const int64_t flat = r * kGroup + c;
      const auto at = static_cast<size_t>(r);
      Put(&out, flat % kK, flat / kK, code, zeros.numbers[at], scales.numbers[at]);
    }
  }
  std::string bytes;
  for (const uint32_t word : packed) {
    bytes +=
        bits == 3 ? BytesOf(std::vector<uint32_t>{word}) : std::string(1, static_cast<char>(word));
  }
  out.file =
      SafetensorsFile({{out.name + ".W_q", bits == 3 ? "I32" : "U8", {packed_rows, kGroup}, bytes},
                       {out.name + ".scale", "F16", {kRows, 1}, scales.Bytes(kF16)},
                       {out.name + ".zero", "F16", {kRows, 1}, zeros.Bytes(kF16)},
                       {out.name + ".shape", "I64", {2}, BytesOf(std::vector<int64_t>{kN, kK})},
                       {out.name + ".nbits", "I32", {}, BytesOf(std::vector<int32_t>{bits})},
                       {out.name + ".axis", "I32", {}, BytesOf(std::vector<int32_t>{1})}});
  return out;
}

TEST(Importers, Hqq) {
  for (const int bits : {1, 2, 3, 4, 8}) {
    CheckLayer(Hqq(bits, false));
    CheckLayer(Hqq(bits, true));
  }
}

// ---- bitsandbytes ------------------------------------------------------------------------------

// The values of NF4 (QLoRA, appendix E), or whole numbers.
std::vector<float> QuantMap(bool exact) {
  if (exact) return {-8, -7, -6, -5, -4, -3, -2, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  return {-1.0F,        -0.69619280F, -0.52507305F, -0.39491749F, -0.28444138F, -0.18477343F,
          -0.09105004F, 0.0F,         0.07958030F,  0.16093020F,  0.24611230F,  0.33791524F,
          0.44070983F,  0.56261700F,  0.72295684F,  1.0F};
}

Layer Nf4(bool nested, int64_t k, bool exact) {
  constexpr int64_t kN = 40, kBlock = 64, kOuter = 32;
  Random random(13);
  Layer out = Empty("bitsandbytes", k, kN, exact);
  const std::vector<float> map = QuantMap(exact);
  const int64_t blocks = (kN * k + kBlock - 1) / kBlock;
  std::vector<uint8_t> inner;
  std::vector<float> nested_map, outer, absmax;
  for (int i = 0; i < 256; ++i) nested_map.push_back(exact ? 0.25F : static_cast<float>(i) / 255);
  for (int64_t i = 0; i < (blocks + kOuter - 1) / kOuter; ++i) {
    outer.push_back(exact ? 1.0F : 0.5F + static_cast<float>(i) / 8);
  }
  const float offset = exact ? 0.25F : 0.375F;
  for (int64_t i = 0; i < blocks; ++i) {
    inner.push_back(static_cast<uint8_t>(random.Bits(8)));
    const float by = outer[static_cast<size_t>(i / kOuter)];
    absmax.push_back(nested  ? nested_map[inner.back()] * by + offset
                     : exact ? 0.5F
                             : static_cast<float>(1 + random.Bits(8)) / 256);
  }
  std::string codes;
  for (int64_t at = 0; at < kN * k; at += 2) {
    const uint32_t both = random.Bits(8);
    codes += static_cast<char>(both);
    for (int64_t i = 0; i < 2; ++i) {
      const auto value = static_cast<double>(map[both >> (i == 0 ? 4 : 0) & 15]);
      const auto scale = static_cast<double>(absmax[static_cast<size_t>((at + i) / kBlock)]);
      Put(&out, (at + i) % k, (at + i) / k, value, 0, scale);
      Weight& weight = out.at((at + i) % k, (at + i) / k);
      if (!exact) weight.rounding = harness::UlpAt(kF16, value) / 2 * scale;
    }
  }
  std::string state = R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float16", "shape": [)" +
                      std::to_string(kN) + ", " + std::to_string(k) + "]";
  if (nested) state += ", \"nested_blocksize\": 32, \"nested_offset\": " + std::to_string(offset);
  state += "}";
  const std::string w = out.name + ".weight";
  std::vector<RawTensor> tensors = {
      {w, "U8", {kN * k / 2, 1}, codes},
      {w + ".quant_map", "F32", {16}, BytesOf(map)},
      {w + ".quant_state.bitsandbytes__nf4", "U8", {static_cast<int64_t>(state.size())}, state}};
  if (nested) {
    tensors.push_back({w + ".absmax", "U8", {blocks}, BytesOf(inner)});
    tensors.push_back(
        {w + ".nested_absmax", "F32", {static_cast<int64_t>(outer.size())}, BytesOf(outer)});
    tensors.push_back({w + ".nested_quant_map", "F32", {256}, BytesOf(nested_map)});
  } else {
    tensors.push_back({w + ".absmax", "F32", {blocks}, BytesOf(absmax)});
  }
  out.file = SafetensorsFile(tensors);
  return out;
}

TEST(Importers, Nf4) {
  for (const bool exact : {false, true}) {
    CheckLayer(Nf4(false, 128, exact));
    CheckLayer(Nf4(true, 128, exact));
    CheckLayer(Nf4(false, 96, exact));  // blocks that do not end with a row
  }
}

}  // namespace
}  // namespace tarsia::weights
