#include "tests/matmul/quantised_case.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>

#include "runtime/devices/kernel_image.h"
#include "runtime/matmul/matmul_blob.h"
#include "support/environment.h"
#include "tests/harness/assembly.h"
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

// The weights [k, n] of a case, in the terms of its error bounds.
struct Weights {
  std::vector<double> values;
  std::vector<double> magnitudes;  // of codes and zero points, where `values` has differences
  std::vector<double> roundings;   // of a weight to the type of x
};

Weights WeightsOf(const Spec& spec, const Data& data) {
  Weights out;
  for (int64_t k = 0; k < spec.k; ++k) {
    for (int64_t column = 0; column < spec.n; ++column) {
      const auto group = static_cast<size_t>(k / spec.group * spec.n + column);
      const double code = data.codes[static_cast<size_t>(k * spec.n + column)];
      const double zero = spec.zero == ZeroPoint::kNone ? 0 : data.zeros[group];
      const double scale = data.scales[group];
      out.values.push_back((code - zero) * scale);
      out.magnitudes.push_back((std::fabs(code) + std::fabs(zero)) * scale);
      // Of 8 bits there are no products of two matrices.
      const bool rounds = spec.compute.bits == 16;
      out.roundings.push_back(rounds ? harness::UlpAt(spec.compute, out.values.back()) / 2 : 0);
    }
  }
  return out;
}

// The products of a row of x with all columns of w, with bias.
struct Sums {
  std::vector<double> values;
  std::vector<double> bounds;     // of the errors before the output is rounded
  std::vector<double> roundings;  // what is added to them if weights are rounded to the type of x
};

Sums SumsOf(const Spec& spec, const Data& data, const Weights& weights, int64_t row) {
  const auto n = static_cast<size_t>(spec.n);
  Sums out{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
  const double factor =
      spec.tensor_scale * (data.row_scales.empty() ? 1 : data.row_scales[static_cast<size_t>(row)]);
  for (int64_t k = 0; k < spec.k; ++k) {
    const int64_t from = spec.gathers ? data.gather[static_cast<size_t>(k)] : k;
    const double x = data.x[static_cast<size_t>(row * spec.k + from)] * factor;
    const size_t at = static_cast<size_t>(k) * n;
    for (size_t i = 0; i < n; ++i) {
      out.values[i] += x * weights.values[at + i];
      out.bounds[i] += std::fabs(x) * weights.magnitudes[at + i];
      out.roundings[i] += std::fabs(x) * weights.roundings[at + i];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (spec.bias) out.values[i] += data.bias[i];
    if (spec.bias) out.bounds[i] += std::fabs(data.bias[i]);
    out.bounds[i] = harness::AccumulationBound(spec.k, kF32, out.bounds[i]);
  }
  return out;
}

struct Element {
  double value = 0;
  double bound = 0;
};

// An element of y from the sums of its row. `rounds`: weights are rounded to the type of x once.
Element ElementOf(const Spec& spec, const Data& data, const Sums& sums, int64_t row, size_t column,
                  bool rounds) {
  const auto sum = [&](size_t i) {
    return Element{sums.values[i], sums.bounds[i] + (rounds ? sums.roundings[i] : 0)};
  };
  const auto columns = static_cast<size_t>(spec.columns());
  const Element first = sum(column);
  // No activation is steeper than 1.13; exp and erf are computed to 2^-20 of the result.
  Element out{Act(spec.activation, first.value), first.bound};
  if (spec.activation != Activation::kNone)
    out.bound = 1.13 * first.bound + std::ldexp(std::fabs(first.value) + 1, -19);
  if (spec.gated) {
    const Element second = sum(columns + column);
    out.bound =
        out.bound * (std::fabs(second.value) + second.bound) + second.bound * std::fabs(out.value);
    out.value *= second.value;
  }
  if (spec.residual) out.value += data.residual[static_cast<size_t>(row) * columns + column];
  out.bound += std::ldexp(std::fabs(out.value), -22) + harness::UlpAt(spec.output, out.value) / 2;
  return out;
}

// While one lives, no assembler is found.
class NoAssembler {
 public:
  NoAssembler() : before_(Environment(kVariable)) { setenv(kVariable, "none", 1); }
  ~NoAssembler() {
    if (before_.empty()) {
      unsetenv(kVariable);
    } else {
      setenv(kVariable, before_.c_str(), 1);
    }
  }
  NoAssembler(const NoAssembler&) = delete;
  NoAssembler& operator=(const NoAssembler&) = delete;

 private:
  static constexpr char kVariable[] = "TARSIA_PTXAS";
  const std::string before_;
};

// The same plan by way of bytes, of which nothing is lost. Few have machine code: nothing runs it
// here, and it takes more time than all else.
std::unique_ptr<const MatmulPlan> Reloaded(const MatmulPlan& plan, std::shared_ptr<Device> device,
                                           bool machine_code) {
  std::optional<NoAssembler> without;
  if (!machine_code) without.emplace();
  const auto bytes = EncodeMatmulPlan(plan);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  auto loaded = DecodeMatmulPlan(*bytes, std::move(device));
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  if (!loaded.ok()) return nullptr;
  EXPECT_EQ(*EncodeMatmulPlan(**loaded), *bytes);
  return *std::move(loaded);
}

// The kernels that run for so many rows.
void CollectKernels(const MatmulPlan& plan, int64_t m) {
  for (size_t i = 0; i < plan.ranges().size(); ++i) {
    const MatmulPlan::Range& range = plan.ranges()[i];
    if (m < range.m_min || m > range.m_max) continue;
    for (const MatmulPlan::Kernel& kernel : plan.KernelsOf(i)) {
      if (kernel.image == nullptr) continue;  // it is interpreted
      harness::Collect(kernel.image->kernel(), kernel.image->target());
    }
  }
}

}  // namespace

Data Make(const Spec& spec, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const bool integers = spec.compute == kI8;
  // A number that every float type of 16 bits holds.
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
  for (int64_t i = 0; i < spec.n && spec.bias; ++i) out.bias.push_back(number());
  for (int64_t i = 0; i < spec.m * spec.columns() && spec.residual; ++i)
    out.residual.push_back(number());
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
  out.m_min = spec.candidate.empty() && !spec.alone ? 0 : spec.m;
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

Workspace::Workspace(const MatmulPlan& plan) : Workspace(plan, plan.workspace_bytes()) {}

Workspace::Workspace(const MatmulPlan& plan, uint64_t size)
    : Memory(plan.device(), std::vector<uint8_t>(size, 0xFF)) {
  EXPECT_TRUE(plan.InitWorkspace(data(), bytes(), nullptr).ok());
}

Layer::Layer(const Spec& spec, uint64_t seed, std::shared_ptr<Device> device)
    : spec_(spec), device_(std::move(device)) {
  const Data data = Make(spec, seed);
  auto packed = PackedWeights::Pack(data.source);
  EXPECT_TRUE(packed.ok()) << packed.error().message;
  if (!packed.ok()) return;
  packed_.emplace(*std::move(packed));
  x_ = Bytes(spec.compute, data.x);
  row_scales_ = Bytes(kF32, data.row_scales);
  residual_ = Bytes(spec.output, data.residual);
  weights_.emplace(*device_, packed_->image().data(), packed_->image().size());
  bias_.emplace(*device_, Bytes(kF32, data.bias));
  const Weights weights = WeightsOf(spec, data);
  for (int64_t row = 0; row < spec.m; ++row) {
    const Sums sums = SumsOf(spec, data, weights, row);
    for (int64_t column = 0; column < spec.columns(); ++column) {
      const auto element = [&](bool rounds) {
        return ElementOf(spec, data, sums, row, static_cast<size_t>(column), rounds);
      };
      const Element exact = element(false);
      values_.push_back(exact.value);
      bounds_.push_back(exact.bound);
      bounds_of_rounded_.push_back(element(true).bound);
    }
  }
}

std::unique_ptr<const MatmulPlan> Layer::Plan() const {
  if (!packed_) return nullptr;
  MatmulOptions options;
  options.choice = spec_.choice;
  if (!spec_.candidate.empty()) options.candidate = spec_.candidate;
  auto plan = MatmulPlan::Make(ProblemOf(spec_, *packed_), device_, options);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? *std::move(plan) : nullptr;
}

harness::Expectation Layer::Expected(int64_t m, bool rounds) const {
  const harness::Shape shape = {m, spec_.columns()};
  const auto count = static_cast<std::ptrdiff_t>(m * spec_.columns());
  const auto head = [count](const std::vector<double>& of) {
    return std::vector<double>(of.begin(), of.begin() + count);
  };
  if (!spec_.exact) {
    return harness::Expectation::WithinBounds(spec_.output, shape, head(values_),
                                              head(rounds ? bounds_of_rounded_ : bounds_));
  }
  std::vector<uint64_t> codes;
  for (const double value : head(values_)) {
    const auto code = harness::EncodeExact(spec_.output, value == 0 ? 0.0 : value);
    EXPECT_TRUE(code) << "the data is not exact: " << value;
    codes.push_back(code.value_or(0));
  }
  return harness::Expectation::Exact({spec_.output, shape, std::move(codes)});
}

std::vector<uint8_t> Layer::Check(const MatmulPlan& plan, int64_t m,
                                  const Workspace& workspace) const {
  SCOPED_TRACE(spec_.Text() + " rows=" + std::to_string(m));
  // Memory ends where the rows end, so that no kernel may touch more.
  const auto size = static_cast<size_t>(spec_.output.bits / 8);
  std::vector<uint8_t> result(static_cast<size_t>(m * spec_.columns()) * size, 0xFF);
  const Memory x(*device_, x_.data(), static_cast<size_t>(m * spec_.k * spec_.compute.bits / 8));
  const Memory row_scales(*device_, row_scales_.data(),
                          row_scales_.empty() ? 0 : static_cast<size_t>(m) * sizeof(float));
  const Memory residual(*device_, residual_.data(), spec_.residual ? result.size() : 0);
  const Memory y(*device_, spec_.in_place ? residual_.data() : result.data(), result.size());
  MatmulArguments arguments;
  arguments.m = m;
  arguments.x = x.view();
  arguments.row_scales = row_scales.view();
  arguments.weights = weights_->view();
  arguments.bias = bias_->view();
  arguments.residual = spec_.in_place ? y.view() : residual.view();
  arguments.y = y.data();
  arguments.y_bytes = y.bytes();
  arguments.workspace = workspace.data();
  arguments.workspace_bytes = workspace.bytes();
  const Status done = plan.Execute(arguments);
  EXPECT_TRUE(done.ok()) << done.error().message;
  if (!done.ok()) return {};
  EXPECT_TRUE(device_->Read(result.data(), y.data(), result.size(), nullptr).ok());
  harness::Tensor got{spec_.output, {m, spec_.columns()}, {}};
  for (size_t i = 0; i < result.size(); i += size) {
    uint64_t code = 0;
    std::memcpy(&code, result.data() + i, size);
    // No sign of a zero is promised.
    if (harness::Decode(spec_.output, code) == 0) code = 0;
    got.codes.push_back(code);
  }
  bool rounds = false;
  for (const MatmulPlan::Range& range : plan.ranges()) {
    if (range.m_min <= m && m <= range.m_max) rounds = range.candidate.dequantises;
  }
  EXPECT_EQ(harness::Compare(Expected(m, rounds), got), "");
  return result;
}

std::vector<uint8_t> Check(const Spec& spec, uint64_t seed) {
  SCOPED_TRACE(spec.Text());
  auto device = OpenDevice(spec.device);
  const Layer layer(spec, seed, *device);
  const auto plan = layer.Plan();
  if (plan == nullptr) return {};
  const Workspace workspace(*plan);
  std::vector<uint8_t> out = layer.Check(*plan, spec.m, workspace);
  if (spec.m != 0) CollectKernels(*plan, spec.m);
  // A second time, by a plan that was loaded: the workspace is as prepared.
  const auto loaded = Reloaded(*plan, *device, spec.machine_code);
  if (loaded == nullptr) return {};
  layer.Check(*loaded, spec.m, workspace);
  return out;
}

void CheckWithTwin(Spec spec) {
  Check(spec);
  spec.exact = true;
  spec.output = kF32;
  Check(spec);
}

}  // namespace tarsia::runtime::quantised_case
