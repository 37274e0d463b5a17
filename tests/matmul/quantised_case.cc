#include "tests/matmul/quantised_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "runtime/matmul/matmul_blob.h"
#include "tests/harness/codec.h"
#include "tests/harness/expectation.h"

namespace tarsia::runtime::quantised_case {
namespace {

using harness::Decode;

// Codes whose sums are exact: small multiples of a quarter.
std::vector<uint8_t> UsableCodes(const Spec& spec) {
  std::vector<uint8_t> out;
  for (uint32_t code = 0; code < (1U << spec.type.bits); ++code) {
    const double value = Decode(spec.type, code);
    if (!std::isfinite(value)) continue;
    const bool small = std::fabs(value) <= 15 && value * 4 == std::floor(value * 4);
    const bool moderate = std::fabs(value) <= 1024 && (value == 0 || std::fabs(value) > 1e-3);
    const bool usable = spec.exact ? spec.codebook || small : moderate;
    if (usable) out.push_back(static_cast<uint8_t>(code));
  }
  return out;
}

double Act(Activation activation, double v) {
  switch (activation) {
    case Activation::kNone:
      return v;
    case Activation::kGelu:
      return v * (1 + std::erf(v / std::sqrt(2.0))) / 2;
    case Activation::kGeluTanh:
      return v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))) / 2;
    case Activation::kSilu:
      return v / (1 + std::exp(-v));
    case Activation::kRelu:
      return std::max(v, 0.0);
  }
  return v;
}

struct Sum {
  double value = 0;
  double bound = 0;  // of its error before the output is rounded
};

// Of a row of x and a column of w, with bias. `rounds`: weights are rounded to the type of x once.
Sum SumOf(const Spec& spec, const Data& data, int64_t row, int64_t column, bool rounds) {
  Sum out;
  double magnitude = 0;
  double rounding = 0;
  for (int64_t k = 0; k < spec.k; ++k) {
    const auto group = static_cast<size_t>(k / spec.group * spec.n + column);
    const double code = data.codes[static_cast<size_t>(k * spec.n + column)];
    const double zero = spec.zero == ZeroPoint::kNone ? 0 : data.zeros[group];
    const int64_t from = spec.gathers ? data.gather[static_cast<size_t>(k)] : k;
    const double x = data.x[static_cast<size_t>(row * spec.k + from)];
    const double scale = data.scales[group];
    out.value += x * (code - zero) * scale;
    magnitude += std::fabs(x) * (std::fabs(code) + std::fabs(zero)) * scale;
    if (rounds) rounding += std::fabs(x) * harness::UlpAt(spec.compute, (code - zero) * scale) / 2;
  }
  const double factor =
      spec.tensor_scale * (data.row_scales.empty() ? 1 : data.row_scales[static_cast<size_t>(row)]);
  out.value *= factor;
  magnitude *= factor;
  if (spec.bias) out.value += data.bias[static_cast<size_t>(column)];
  if (spec.bias) magnitude += std::fabs(data.bias[static_cast<size_t>(column)]);
  out.bound = harness::AccumulationBound(spec.k, kF32, magnitude) + rounding * factor;
  return out;
}

harness::Expectation Expected(const Spec& spec, const Data& data, bool rounds) {
  std::vector<double> values, bounds;
  std::vector<uint64_t> codes;
  const int64_t columns = spec.gated ? spec.n / 2 : spec.n;
  for (int64_t row = 0; row < spec.m; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const Sum first = SumOf(spec, data, row, column, rounds);
      // No activation is steeper than 1.13; exp and erf are computed to 2^-20 of the result.
      double value = Act(spec.activation, first.value);
      double bound = first.bound;
      if (spec.activation != Activation::kNone)
        bound = 1.13 * bound + std::ldexp(std::fabs(first.value) + 1, -19);
      if (spec.gated) {
        const Sum second = SumOf(spec, data, row, columns + column, rounds);
        bound = bound * (std::fabs(second.value) + second.bound) + second.bound * std::fabs(value);
        value *= second.value;
      }
      if (spec.residual) value += data.residual[static_cast<size_t>(row * columns + column)];
      bound += std::ldexp(std::fabs(value), -22) + harness::UlpAt(spec.output, value) / 2;
      values.push_back(value);
      bounds.push_back(bound);
      if (!spec.exact) continue;
      const auto code = harness::EncodeExact(spec.output, value == 0 ? 0.0 : value);
      EXPECT_TRUE(code) << "the data is not exact: " << value;
      codes.push_back(code.value_or(0));
    }
  }
  const harness::Shape shape = {spec.m, columns};
  if (spec.exact) return harness::Expectation::Exact({spec.output, shape, std::move(codes)});
  return harness::Expectation::WithinBounds(spec.output, shape, std::move(values),
                                            std::move(bounds));
}

// The same plan by way of bytes, of which nothing is lost.
std::unique_ptr<const MatmulPlan> Reloaded(const MatmulPlan& plan, std::shared_ptr<Device> device) {
  const auto bytes = EncodeMatmulPlan(plan);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  auto loaded = DecodeMatmulPlan(*bytes, std::move(device));
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  if (!loaded.ok()) return nullptr;
  EXPECT_EQ(*EncodeMatmulPlan(**loaded), *bytes);
  return *std::move(loaded);
}

}  // namespace

Data Make(const Spec& spec, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  // A number that every float type of 16 bits holds.
  const bool integers = spec.compute == kI8;
  const auto number = [&] {
    return spec.exact ? static_cast<double>(draw(-2, 2))
                      : static_cast<double>(draw(-127, 127)) / 64;
  };
  Data out;
  const auto usable = UsableCodes(spec);
  const int64_t groups = spec.k / spec.group;
  const size_t all = static_cast<size_t>(spec.k * spec.n);
  const size_t scales = static_cast<size_t>(groups * spec.n);
  std::vector<uint8_t> codes(all);
  for (uint8_t& code : codes)
    code = usable[static_cast<size_t>(draw(0, static_cast<int64_t>(usable.size()) - 1))];
  for (int64_t i = 0; i < spec.m * spec.k; ++i) {
    // Few of an exact row are not 0, so that the output holds every sum.
    const bool none = spec.exact && draw(0, spec.k) > 12;
    const bool any = spec.compute.bits == 8 && !spec.exact;
    out.x.push_back(none  ? 0
                    : any ? static_cast<double>(integers ? draw(-128, 127) : draw(-15, 15))
                          : number());
  }
  for (int64_t i = 0; i < spec.m && spec.compute.bits == 8; ++i) {
    out.row_scales.push_back(spec.exact ? std::ldexp(1, static_cast<int>(draw(-2, 0)))
                                        : static_cast<double>(draw(513, 1023)) / 65536);
  }
  for (size_t i = 0; i < scales; ++i) {
    out.scales.push_back(spec.unit_scales ? 1
                         : spec.exact || spec.scale == kE8M0
                             ? std::ldexp(1, static_cast<int>(draw(-2, 0)))
                             : static_cast<double>(draw(33, 64)) / 1024);
    if (spec.zero == ZeroPoint::kInteger)
      out.zeros.push_back(static_cast<double>(draw(0, (1 << spec.type.bits) / 2 - 1)));
    if (spec.zero == ZeroPoint::kFloat)
      out.zeros.push_back(spec.exact ? static_cast<double>(draw(0, 2))
                                     : static_cast<double>(draw(0, 63)) / 16);
  }
  const int64_t columns = spec.gated ? spec.n / 2 : spec.n;
  for (int64_t i = 0; i < spec.n && spec.bias; ++i) out.bias.push_back(number());
  for (int64_t i = 0; i < spec.m * columns && spec.residual; ++i) out.residual.push_back(number());
  if (spec.codebook) {
    for (int i = 0; i < (1 << spec.type.bits); ++i)
      out.codebook.push_back(static_cast<float>(number()));
  }
  if (spec.gathers) {
    for (int64_t i = 0; i < spec.k; ++i) out.gather.push_back(static_cast<int32_t>(i));
    std::shuffle(out.gather.begin(), out.gather.end(), random);
  }
  for (const uint8_t code : codes) {
    out.codes.push_back(spec.codebook ? static_cast<double>(out.codebook[code])
                                      : Decode(spec.type, code));
  }
  WeightInfo& info = out.source.info;
  info.type = spec.type;
  info.compute = spec.compute;
  info.k = info.whole_k = spec.k;
  info.n = info.whole_n = spec.n;
  info.group = spec.group;
  info.scale_type = spec.scale;
  info.zero = spec.zero;
  if (spec.zero == ZeroPoint::kInteger) info.zero_type = spec.type.IsUnsigned() ? kU8 : kI8;
  if (spec.zero == ZeroPoint::kFloat) info.zero_type = kF32;
  info.tensor_scale = spec.tensor_scale;
  info.codebook = out.codebook;
  out.source.codes = [codes, n = spec.n](const Region& region, uint8_t* to, int64_t stride) {
    for (int64_t k = 0; k < region.rows; ++k) {
      std::copy_n(codes.data() + (region.row + k) * n + region.column, region.columns,
                  to + k * stride);
    }
  };
  out.source.scales.assign(out.scales.begin(), out.scales.end());
  out.source.zeros.assign(out.zeros.begin(), out.zeros.end());
  out.source.gather = out.gather;
  return out;
}

std::vector<uint8_t> Bytes(DType type, const std::vector<double>& values) {
  std::vector<uint8_t> out;
  for (const double value : values) {
    const auto code = harness::EncodeExact(type, value);
    EXPECT_TRUE(code) << value;
    for (int i = 0; i < type.bits / 8; ++i)
      out.push_back(static_cast<uint8_t>(code.value_or(0) >> (8 * i)));
  }
  return out;
}

MatmulProblem ProblemOf(const Spec& spec, const PackedWeights& packed) {
  MatmulProblem out;
  out.m_min = spec.candidate.empty() ? 0 : spec.m;
  out.m_max = spec.m;
  out.weights = packed.info();
  out.weights.codebook.clear();
  out.codebook = spec.codebook;
  out.output = spec.output;
  if (spec.bias) out.bias = kF32;
  out.activation = spec.activation;
  out.gated = spec.gated;
  out.residual = spec.residual;
  return out;
}

std::vector<uint8_t> Check(const Spec& spec, uint64_t seed) {
  SCOPED_TRACE(spec.Text());
  const Data data = Make(spec, seed);
  const auto packed = PackedWeights::Pack(data.source);
  EXPECT_TRUE(packed.ok()) << packed.error().message;
  auto device = OpenDevice(spec.device);
  MatmulOptions options;
  options.choice = spec.choice;
  options.candidate = spec.candidate;
  const auto plan = MatmulPlan::Make(ProblemOf(spec, *packed), *device, options);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  if (!packed.ok() || !plan.ok()) return {};

  const int64_t columns = spec.gated ? spec.n / 2 : spec.n;
  std::vector<uint8_t> result(static_cast<size_t>(spec.m * columns * spec.output.bits / 8), 0xFF);
  const Memory x(**device, Bytes(spec.compute, data.x));
  const Memory row_scales(**device, Bytes(kF32, data.row_scales));
  const Memory weights(**device, packed->image().data(), packed->image().size());
  const Memory bias(**device, Bytes(kF32, data.bias));
  const Memory residual(**device, Bytes(spec.output, data.residual));
  const Memory y(**device, result);
  const Memory workspace(**device, std::vector<uint8_t>((*plan)->workspace_bytes(), 0xFF));
  EXPECT_TRUE((*plan)->InitWorkspace(workspace.data(), workspace.bytes(), nullptr).ok());
  MatmulArguments arguments;
  arguments.m = spec.m;
  arguments.x = x.view();
  arguments.row_scales = row_scales.view();
  arguments.weights = weights.view();
  arguments.bias = bias.view();
  arguments.residual = residual.view();
  arguments.y = y.data();
  arguments.y_bytes = y.bytes();
  arguments.workspace = workspace.data();
  arguments.workspace_bytes = workspace.bytes();
  // A second time, by a plan that was loaded: the workspace is as prepared.
  const auto loaded = Reloaded(**plan, *device);
  if (loaded == nullptr) return {};
  for (const MatmulPlan* const each : {plan->get(), loaded.get()}) {
    const Status done = each->Execute(arguments);
    EXPECT_TRUE(done.ok()) << done.error().message;
    if (!done.ok()) return {};
  }
  EXPECT_TRUE((*device)->Read(result.data(), y.data(), result.size(), nullptr).ok());
  harness::Tensor got{spec.output, {spec.m, columns}, {}};
  const size_t size = static_cast<size_t>(spec.output.bits / 8);
  for (size_t i = 0; i < result.size(); i += size) {
    uint64_t code = 0;
    std::memcpy(&code, result.data() + i, size);
    // No sign of a zero is promised.
    if (harness::Decode(spec.output, code) == 0) code = 0;
    got.codes.push_back(code);
  }
  const auto& ranges = (*plan)->ranges();
  const bool rounds = !ranges.empty() && ranges.back().candidate.dequantises;
  EXPECT_EQ(harness::Compare(Expected(spec, data, rounds), got), "");
  return result;
}

void CheckWithTwin(Spec spec) {
  Check(spec);
  spec.exact = true;
  spec.output = kF32;
  Check(spec);
}

}  // namespace tarsia::runtime::quantised_case
