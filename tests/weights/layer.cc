#include "tests/weights/layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/weights/packed_order.h"
#include "tests/harness/assembly.h"
#include "tests/harness/codec.h"
#include "tests/harness/run_case.h"
#include "tests/weights/files.h"

namespace tarsia::weights {
namespace {

constexpr int64_t kRows = 37;

std::vector<uint8_t> PartBytes(const PackedWeights& packed, WeightPart part) {
  const auto bytes = packed.part(part);
  return {bytes.begin(), bytes.end()};
}

// x[kRows, K], by the original columns. The exact one has few entries of -2, -1, 1 and 2 in a row,
// and in every column at least one.
std::vector<double> Activations(const Layer& layer) {
  std::mt19937_64 random(11);
  std::vector<double> x(static_cast<size_t>(kRows * layer.k));
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t k = 0; k < layer.k; ++k) {
      const auto draw = static_cast<double>(random() >> 54);  // 0 to 1023
      double& to = x[static_cast<size_t>(m * layer.k + k)];
      if (!layer.exact) to = (draw - 512) / 256;
      if (layer.exact && k % kRows == m) to = draw < 512 ? -1 : 1;
    }
  }
  return x;
}

harness::Expectation Products(const Layer& layer, const std::vector<double>& x) {
  std::vector<double> values, bounds;
  std::vector<uint64_t> codes;
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t n = 0; n < layer.n; ++n) {
      double sum = 0, magnitude = 0, rounding = 0;
      for (int64_t k = 0; k < layer.k; ++k) {
        const double activation = x[static_cast<size_t>(m * layer.k + k)];
        const Weight& w = layer.at(k, n);
        sum += activation * w.value;
        magnitude += std::fabs(activation) * w.parts;
        rounding += std::fabs(activation) * (w.rounding + layer.tolerance * w.parts);
      }
      values.push_back(sum);
      bounds.push_back(harness::OutputBound(layer.k, kF32, magnitude, kF16, sum, rounding));
      if (layer.exact) {
        const auto code = harness::EncodeExact(kF16, sum == 0 ? 0.0 : sum);
        EXPECT_TRUE(code) << "the data is not exact: " << sum;
        codes.push_back(code.value_or(0));
      }
    }
  }
  if (layer.exact) return harness::Expectation::Exact({kF16, {kRows, layer.n}, std::move(codes)});
  return harness::Expectation::WithinBounds(kF16, {kRows, layer.n}, std::move(values),
                                            std::move(bounds));
}

harness::Case CaseOf(const Layer& layer, const PackedWeights& packed) {
  const WeightInfo& info = packed.info();
  harness::Case c;
  c.title = layer.format;
  c.source = harness::ReadExample("matmul_packed.tsa");
  c.where = c.source.name();
  const auto set = [&c](const char* name, std::string value) {
    c.constants.push_back({name, std::move(value)});
  };
  set("K", std::to_string(info.k));
  set("N", std::to_string(info.n));
  set("G", std::to_string(info.group));
  set("W", std::string(DTypeName(info.type)));
  set("S", std::string(DTypeName(info.scale_type)));
  set("PACK", *PackedOrderText(info.type, info.compute));
  set("SPACK", ScaleOrderText(info.scale_type));
  set("TABLE", info.codebook.empty() ? "false" : "true");
  set("ZERO", info.zero == ZeroPoint::kNone ? "false" : "true");
  if (info.zero != ZeroPoint::kNone) {
    set("Z", std::string(DTypeName(info.zero_type)));
    set("ZPACK", ScaleOrderText(info.zero_type));
  }
  uint32_t scale = 0;
  std::memcpy(&scale, &info.tensor_scale, sizeof scale);
  c.scalars = {{"m", kRows}, {"scale", scale}};

  const std::vector<double> x = Activations(layer);
  const std::vector<int32_t> gather = packed.gather();
  harness::Tensor gathered{kF16, {kRows, layer.k}, {}};
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t k = 0; k < layer.k; ++k) {
      const int64_t from = gather.empty() ? k : gather[static_cast<size_t>(k)];
      gathered.codes.push_back(
          *harness::EncodeExact(kF16, x[static_cast<size_t>(m * layer.k + from)]));
    }
  }
  c.inputs = {{"x", gathered},
              {"w", {}, true, PartBytes(packed, WeightPart::kCodes)},
              {"s", {}, true, PartBytes(packed, WeightPart::kScales)},
              {"z", {}, true, PartBytes(packed, WeightPart::kZeros)},
              {"table", {}, true, PartBytes(packed, WeightPart::kCodebook)}};
  c.outputs = {{"y", Products(layer, x)}};
  c.compiled = harness::Case::Compiled::kNone;
  return c;
}

}  // namespace

std::vector<PackedWeights> ImportLayer(const Layer& layer) {
  Folder folder;
  const std::string path = folder.Write(layer.file_name, layer.file);
  if (!layer.config.empty()) folder.Write("quantize_config.json", layer.config);
  std::vector<PackedWeights> out;
  const auto model = Model::Open(path, layer.options);
  EXPECT_TRUE(model.ok()) << model.error().message;
  if (!model.ok()) return out;
  EXPECT_EQ(model->weights().size(), 1U);
  for (const ModelWeights& weights : model->weights()) {
    EXPECT_EQ(weights.name, layer.name);
    EXPECT_EQ(weights.format, layer.format);
    const auto source = weights.read();
    EXPECT_TRUE(source.ok()) << source.error().message;
    if (!source.ok()) return out;
    auto packed = PackedWeights::Pack(*source);
    EXPECT_TRUE(packed.ok()) << packed.error().message;
    if (packed.ok()) out.push_back(*std::move(packed));
  }
  return out;
}

void CheckWeights(const Layer& layer, const PackedWeights& packed) {
  ASSERT_EQ(packed.info().k, layer.k);
  ASSERT_EQ(packed.info().n, layer.n);
  std::vector<float> got(layer.weights.size());
  packed.Dequantise(got);
  for (size_t i = 0; i < got.size(); ++i) {
    const Weight& want = layer.weights[i];
    const auto value = static_cast<double>(got[i]);
    if (layer.tolerance == 0) {
      ASSERT_EQ(got[i], static_cast<float>(want.value)) << i;
    } else {
      ASSERT_LE(std::fabs(value - want.value), layer.tolerance * want.parts) << i;
    }
  }
  const auto again = PackedWeights::FromBytes(packed.image());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->Unpack().codes, packed.Unpack().codes);
}

void CheckProduct(const Layer& layer, const PackedWeights& packed) {
  const harness::Case c = CaseOf(layer, packed);
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

namespace {

// The same weights but for one code, which means another number.
std::vector<PackedWeights> WithAnotherCode(const PackedWeights& packed) {
  UnpackedWeights parts = packed.Unpack();
  const std::vector<float> values = CodeValues(packed.info());
  uint8_t& code = parts.codes[parts.codes.size() * 2 / 3];
  const float before = values[code];
  uint8_t other = 0;
  // Far enough away to show in a sum of f16.
  const auto shows = [before](float value) {
    return std::fabs(value) <= 128 && std::fabs(value - before) >= 0.5F;
  };
  while (!shows(values[other])) ++other;
  code = other;
  CodeSource source;
  source.info = packed.info();
  source.scales = parts.scales;
  source.zeros = parts.zeros;
  source.gather = packed.gather();
  source.codes = [&](const Region& region, uint8_t* out, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      const int64_t at = (region.row + i) * packed.info().n + region.column;
      std::memcpy(out + i * stride, parts.codes.data() + at, static_cast<size_t>(region.columns));
    }
  };
  auto made = PackedWeights::Pack(source);
  EXPECT_TRUE(made.ok());
  std::vector<PackedWeights> out;
  if (made.ok()) out.push_back(*std::move(made));
  return out;
}

}  // namespace

void CheckLayer(const Layer& layer) {
  SCOPED_TRACE(layer.format + (layer.exact ? ", exact" : ""));
  const std::vector<PackedWeights> packed = ImportLayer(layer);
  ASSERT_EQ(packed.size(), 1U);
  CheckWeights(layer, packed[0]);
  CheckProduct(layer, packed[0]);
  if (!layer.exact) return;
  for (const PackedWeights& wrong : WithAnotherCode(packed[0])) {
    EXPECT_FALSE(harness::RunEverywhere(CaseOf(layer, wrong)).ok()) << "one code is wrong";
  }
}

}  // namespace tarsia::weights
