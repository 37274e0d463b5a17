// GPTQ, as AutoGPTQ and GPTQModel write it, and AWQ, as AutoAWQ writes it.
//
// GPTQ: `qweight` i32 [K * bits / 32, N]: the codes of a column are a stream of bits along K, the
// lowest first, in words of 32 bits. `qzeros` i32 [K / group, N * bits / 32]: the same along N. In
// version 1 of the format (checkpoint_format "gptq") the zero points are stored minus one; in
// version 2 as they are. `scales` [K / group, N]. `g_idx` i32 [K] is the group of each row: with
// activation order, the rows of a group are not adjacent.
//   w[k, n] = (q[k, n] - z[g_idx[k], n]) * scales[g_idx[k], n]
//
// AWQ: `qweight` i32 [K, N / 8], `qzeros` i32 [K / group, N / 8], `scales` [K / group, N]. The
// nibble i of a word belongs to column [0, 2, 4, 6, 1, 3, 5, 7][i].
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/importers/fill.h"
#include "runtime/importers/importers.h"
#include "runtime/weights/code_loops.h"
#include "support/extents.h"

namespace tarsia {
namespace {

constexpr int kAwqColumn[] = {0, 2, 4, 6, 1, 3, 5, 7};  // of nibble i
constexpr int kAwqNibble[] = {0, 4, 1, 5, 2, 6, 3, 7};  // the inverse

// The bits [bit, bit + width) of a stream of words, which lie `stride` words apart.
uint32_t StreamBits(const uint8_t* words, int64_t bit, int width, int64_t stride) {
  const int64_t word = bit / kStreamWordBits;
  const int shift = static_cast<int>(bit % kStreamWordBits);
  uint32_t value = LoadU32(words + word * stride * 4) >> shift;
  if (shift + width > kStreamWordBits) {
    value |= LoadU32(words + (word + 1) * stride * 4) << (kStreamWordBits - shift);
  }
  return value & ((uint32_t{1} << width) - 1);
}

struct GptqTensors {
  const TensorView* qweight = nullptr;
  const TensorView* qzeros = nullptr;
  const TensorView* scales = nullptr;
  const TensorView* g_idx = nullptr;  // null: rows in order
  int bits = 0;
  int64_t k = 0, n = 0, groups = 0;
};

Result<GptqTensors> FindGptq(const TensorSet& set, const std::string& layer,
                             const LayerOptions& options) {
  GptqTensors out;
  TARSIA_TRY(out.qweight, set.Need(layer + ".qweight", {kI32}, {-1, -1}));
  TARSIA_TRY(out.scales, set.Need(layer + ".scales", {kF16, kBF16, kF32}, {-1, -1}));
  out.n = out.qweight->extent(1);
  out.groups = out.scales->extent(0);
  if (set.Find(layer + ".g_idx") != nullptr) {
    TARSIA_TRY(out.g_idx, set.Need(layer + ".g_idx", {kI32}, {-1}));
    out.k = out.g_idx->extent(0);
  }
  const int64_t rows = out.qweight->extent(0);
  out.bits = options.bits;
  if (out.bits == 0 && out.k > 0)
    out.bits = static_cast<int>(std::min<int64_t>(rows * 32 / out.k, 99));
  if (out.bits < 1 || out.bits > 8) {
    Diagnostic error = TensorError(
        out.qweight->name, out.bits == 0 ? std::string("it does not say how many bits a code has")
                                         : fmt::format("the codes would have {} bits", out.bits));
    error.help = "give --bits";
    return error;
  }
  if (out.k == 0) out.k = rows * kStreamWordBits / out.bits;
  if (out.k % kStreamWordBits != 0 || rows * kStreamWordBits != out.k * out.bits) {
    return TensorError(out.qweight->name, fmt::format("{} words do not hold {} codes of {} bits",
                                                      rows, out.k, out.bits));
  }
  if (out.n * out.bits % kStreamWordBits != 0) {
    return TensorError(out.qweight->name,
                       fmt::format("{} columns of {} bits do not fill words", out.n, out.bits));
  }
  TARSIA_TRY(out.scales, set.Need(layer + ".scales", {kF16, kBF16, kF32}, {out.groups, out.n}));
  TARSIA_TRY(out.qzeros,
             set.Need(layer + ".qzeros", {kI32}, {out.groups, out.n * out.bits / kStreamWordBits}));
  return out;
}

// The rows group by group, in their order within each; empty if that is the order they have.
Result<std::vector<int32_t>> RowsByGroup(const TensorView& g_idx, int64_t groups, int64_t group) {
  std::vector<std::vector<int32_t>> rows(Size(groups));
  bool in_order = true;
  for (int64_t k = 0; k < g_idx.extent(0); ++k) {
    const auto g = static_cast<int32_t>(LoadU32(g_idx.data + 4 * k));
    if (g < 0 || g >= groups) {
      return TensorError(g_idx.name, fmt::format("row {} is in group {} of {}", k, g, groups));
    }
    rows[Size(g)].push_back(static_cast<int32_t>(k));
    in_order = in_order && g == k / group;
  }
  std::vector<int32_t> out;
  for (int64_t g = 0; g < groups; ++g) {
    if (rows[Size(g)].size() != Size(group)) {
      return TensorError(g_idx.name, fmt::format("group {} has {} rows, and should have {}", g,
                                                 rows[Size(g)].size(), group));
    }
    out.insert(out.end(), rows[Size(g)].begin(), rows[Size(g)].end());
  }
  if (in_order) out.clear();
  return out;
}

// Whether the groups divide the rows, and are those that the caller or the configuration has named.
Status CheckGroups(const TensorView& scales, int64_t k, int64_t groups,
                   const LayerOptions& options) {
  const std::string by = options.group_field.empty() ? "" : " by " + options.group_field;
  const int64_t wanted = options.group < 0 ? k : std::min(options.group, k);
  if (wanted > 0 && k % wanted != 0) {
    return TensorError(scales.name,
                       fmt::format("groups of {} rows{} do not divide {} rows", wanted, by, k));
  }
  if (groups < 1 || k % groups != 0) {
    return TensorError(scales.name, fmt::format("{} groups do not divide {} rows", groups, k));
  }
  if (wanted > 0 && wanted != k / groups) {
    return TensorError(scales.name, fmt::format("its groups have {} rows, and should have {}{}",
                                                k / groups, wanted, by));
  }
  return OkStatus();
}

WeightInfo IntegerInfo(int bits, int64_t k, int64_t n, int64_t group, const TensorView& scales) {
  WeightInfo info;
  info.type = {.kind = DTypeKind::kUnsigned, .bits = static_cast<uint8_t>(bits)};
  info.k = info.whole_k = k;
  info.n = info.whole_n = n;
  info.group = group;
  info.scale_type = *scales.info.type;
  info.zero = ZeroPoint::kInteger;
  info.zero_type = kU8;
  return info;
}

// The codes of a row.
void ReadRow(const GptqTensors& t, int64_t row, int64_t column, int64_t count, uint8_t* to) {
  const int64_t bit = row * t.bits;
  const uint8_t* const words = t.qweight->data + (bit / kStreamWordBits * t.n + column) * 4;
  const int shift = static_cast<int>(bit % kStreamWordBits);
  const uint32_t mask = (uint32_t{1} << t.bits) - 1;
  if (shift + t.bits <= kStreamWordBits) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<uint8_t>(LoadU32(words + 4 * i) >> shift & mask);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<uint8_t>(StreamBits(words + 4 * i, shift, t.bits, t.n));
  }
}

TileMap::Fill CodesOf(const GptqTensors& t, const std::vector<int32_t>& gather) {
  if (!gather.empty()) {
    return FromRows([t, gather](int64_t row, int64_t column, int64_t count, uint8_t* to) {
      ReadRow(t, gather[Size(row)], column, count, to);
    });
  }
  return [t](const Region& region, uint8_t* out, int64_t stride) {
    // Whole rows of words, if no code lies in two of them.
    const int64_t codes = kStreamWordBits / t.bits;
    const bool whole = 8 % t.bits == 0 && region.row % codes == 0;
    const int64_t split = region.columns / kSplitWords * kSplitWords;
    int64_t i = 0;
    for (; whole && i + codes <= region.rows; i += codes) {
      const int64_t word = ((region.row + i) / codes * t.n + region.column) * 4;
      SplitWords(t.qweight->data + word, split, t.bits, out + i * stride, stride);
      for (int64_t j = 0; j < codes && split < region.columns; ++j) {
        ReadRow(t, region.row + i + j, region.column + split, region.columns - split,
                out + (i + j) * stride + split);
      }
    }
    for (; i < region.rows; ++i) {
      ReadRow(t, region.row + i, region.column, region.columns, out + i * stride);
    }
  };
}

// The codes of a word of AWQ in the order of the columns.
void ReadAwqWord(uint32_t word, uint8_t* to) {
  const uint32_t low = word & 0x0F0F0F0FU, high = word >> 4 & 0x0F0F0F0FU;
  to[0] = static_cast<uint8_t>(low);
  to[1] = static_cast<uint8_t>(low >> 16);
  to[2] = static_cast<uint8_t>(high);
  to[3] = static_cast<uint8_t>(high >> 16);
  to[4] = static_cast<uint8_t>(low >> 8);
  to[5] = static_cast<uint8_t>(low >> 24);
  to[6] = static_cast<uint8_t>(high >> 8);
  to[7] = static_cast<uint8_t>(high >> 24);
}

}  // namespace

Result<CodeSource> ReadGptq(const TensorSet& set, const std::string& layer,
                            const LayerOptions& options) {
  TARSIA_TRY(const GptqTensors t, FindGptq(set, layer, options));
  TARSIA_CHECK(CheckGroups(*t.scales, t.k, t.groups, options));
  CodeSource out;
  out.info = IntegerInfo(t.bits, t.k, t.n, t.k / t.groups, *t.scales);
  if (t.g_idx != nullptr) {
    TARSIA_TRY(out.gather, RowsByGroup(*t.g_idx, t.groups, out.info.group));
  }
  out.scales = FloatsOf(*t.scales);
  const uint32_t add = options.zeros_minus_one ? 1 : 0;
  out.zeros.resize(out.scales.size());
  for (int64_t g = 0; g < t.groups; ++g) {
    const uint8_t* const row = t.qzeros->data + g * t.qzeros->extent(1) * 4;
    for (int64_t n = 0; n < t.n; ++n) {
      out.zeros[Size(g * t.n + n)] =
          static_cast<float>(StreamBits(row, n * t.bits, t.bits, 1) + add);
    }
  }
  out.codes = CodesOf(t, out.gather);
  DropMiddleZeros(&out);
  return out;
}

Result<CodeSource> ReadAwq(const TensorSet& set, const std::string& layer,
                           const LayerOptions& options) {
  constexpr int kBits = 4;
  constexpr int64_t kPerWord = 8;
  TARSIA_TRY(const TensorView* const qweight, set.Need(layer + ".qweight", {kI32}, {-1, -1}));
  if (options.bits != 0 && options.bits != kBits) {
    return TensorError(qweight->name, fmt::format("AWQ with {} bits is unknown", options.bits));
  }
  const int64_t k = qweight->extent(0), words = qweight->extent(1);
  const int64_t n = words * kPerWord;
  TARSIA_TRY(const TensorView* const scales,
             set.Need(layer + ".scales", {kF16, kBF16, kF32}, {-1, n}));
  const int64_t groups = scales->extent(0);
  TARSIA_TRY(const TensorView* const qzeros, set.Need(layer + ".qzeros", {kI32}, {groups, words}));
  TARSIA_CHECK(CheckGroups(*scales, k, groups, options));
  CodeSource out;
  out.info = IntegerInfo(kBits, k, n, k / groups, *scales);
  out.scales = FloatsOf(*scales);
  out.zeros.resize(out.scales.size());
  for (int64_t i = 0; i < groups * words; ++i) {
    const uint32_t word = LoadU32(qzeros->data + 4 * i);
    for (int64_t nibble = 0; nibble < kPerWord; ++nibble) {
      out.zeros[Size(i * kPerWord + kAwqColumn[nibble])] =
          static_cast<float>(word >> (4 * nibble) & 15);
    }
  }
  out.codes = FromRows([qweight, words](int64_t row, int64_t column, int64_t count, uint8_t* to) {
    const uint8_t* const from = qweight->data + row * words * 4;
    int64_t i = 0;
    for (; column % kPerWord == 0 && i + kPerWord <= count; i += kPerWord) {
      ReadAwqWord(LoadU32(from + (column + i) / kPerWord * 4), to + i);
    }
    for (; i < count; ++i) {
      const int64_t at = column + i;
      const int shift = 4 * kAwqNibble[at % kPerWord];
      to[i] = static_cast<uint8_t>(LoadU32(from + at / kPerWord * 4) >> shift & 15);
    }
  });
  DropMiddleZeros(&out);
  return out;
}

}  // namespace tarsia
