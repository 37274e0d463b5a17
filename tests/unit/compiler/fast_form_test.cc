// The forms of `fast` (EmitFastForm in special_function.h), on the emulator, with the results of
// PTX's approximations at both ends of what it allows: their errors are within the FAST column of
// isa.def, for all f16 and bf16 and many f32 (TARSIA_LONG=1: 10^7 for each end).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "isa/instruction.h"
#include "tests/settings.h"
#include "tests/unit/compiler/emulated_code.h"
#include "tests/unit/compiler/host_code.h"
#include "tests/unit/compiler/operations.h"

namespace tarsia::compiler::fast_form_test {
namespace {

using ptx::Approximations;

constexpr Approximations kEnds[] = {Approximations::kBest, Approximations::kLow,
                                    Approximations::kHigh, Approximations::kMixed};
constexpr const char* kEndNames[] = {"best", "low", "high", "mixed"};
// Where results may be flushed: below 2^-126, which the largest error may reach.
constexpr long double kFlushed = 0x1.01p-126L;

using Real = long double;
Real TrueResult(Opcode op, Real a, Real b) {
  if (op == Opcode::kSqrt) return std::sqrt(a);
  if (op == Opcode::kRcp) return 1 / a;
  return op == Opcode::kDiv ? a / b : Truth(op, a);
}

struct Sample {
  std::vector<uint64_t> a;
  std::vector<uint64_t> b;
};

// f32: special numbers; any code; and numbers of moderate size, beside 1, pi and large exponents.
uint64_t AnySingle(std::mt19937_64& random) {
  const auto code = static_cast<uint32_t>(random());
  if (code % 3 == 0) return static_cast<uint32_t>(random());
  const double sizes[] = {1, 6.28, 90, 314};
  std::uniform_real_distribution<double> inside(-1, 1);
  const double x = inside(random) * sizes[random() % std::size(sizes)];
  if (code % 3 == 1) return std::bit_cast<uint32_t>(static_cast<float>(x));
  return std::bit_cast<uint32_t>(static_cast<float>(1 + x * 0x1p-10));
}

Sample SampleOf(DType type, size_t operands) {
  Sample out;
  std::mt19937_64 random(Seed(17));
  if (type != kF32) {
    for (uint64_t code = 0; code < 65536; ++code) {
      out.a.push_back(code);
      out.b.push_back(random() & 0xFFFF);
    }
    return out;
  }
  constexpr uint32_t kSpecial[] = {0,          1,          0x7FFFFF,   0x800000,
                                   0x3F800000, 0x3F7FFFFF, 0x42B17218, 0x7E800000,
                                   0x7F7FFFFF, 0x7F800000, 0x7FC00000};
  for (const uint64_t a : kSpecial) {
    for (const uint64_t b : kSpecial) {
      for (const uint64_t sign : {uint64_t{0}, uint64_t{0x80000000}}) {
        out.a.push_back(a | sign);
        out.b.push_back(b);
      }
    }
  }
  const size_t count = IsLong() ? 10'000'000 : 200'000;
  while (out.a.size() < count) {
    out.a.push_back(AnySingle(random));
    out.b.push_back(operands > 1 ? AnySingle(random) : 0);
  }
  return out;
}

// What operands below 2^-126 may count as: themselves, or 0.
std::vector<Real> Readings(double x) {
  std::vector<Real> out = {static_cast<Real>(x)};
  if (x != 0 && std::fabs(x) < 0x1p-126) out.push_back(std::copysign(0.0L, out[0]));
  return out;
}

// How much of the error that is allowed a result has; infinity where it is not what a rule says.
double ShareOfError(const InstRow& row, DType type, double result, Real truth) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto got = static_cast<Real>(result);
  if (std::isnan(truth) || std::isnan(result)) {
    return std::isnan(truth) && std::isnan(result) ? 0 : kNever;
  }
  if (std::fabs(truth) < kFlushed && result == 0) return 0;
  const FastError& fast = *row.fast;
  const auto power = [](double e) { return std::isinf(e) ? 0.0L : std::exp2(e * 1.0L); };
  Real allowed = std::max(power(fast.relative) * std::fabs(truth), power(fast.absolute));
  const double largest = type == kF16 ? 65504 : type == kBF16 ? 0x1.FEp127 : 0x1.FFFFFEp127;
  if (std::isinf(result)) {
    return std::signbit(result) == std::signbit(truth) && std::fabs(truth) + allowed >= largest
               ? 0
               : kNever;
  }
  if (std::isinf(truth)) return kNever;
  // Half an ulp for the rounding of a half from the f32.
  if (type != kF32) {
    const int exponent =
        std::max(std::ilogb(std::fabs(truth) + allowed), type == kF16 ? -14 : -126);
    allowed += std::exp2(static_cast<Real>(exponent - type.mantissa)) / 2;
  }
  return static_cast<double>(std::fabs(got - truth) / allowed);
}

struct Case {
  Opcode op;
  DType type;
};

class FastForms : public testing::TestWithParam<Case> {
 protected:
  // Whether the bound holds for the operands.
  [[nodiscard]] bool IsPromised(double a, double b) const {
    const double last = row_.operands.size() > 1 ? b : a;
    return std::isinf(last) || std::fabs(last) <= row_.fast->largest;
  }

  // The smallest share of all readings of the operands.
  [[nodiscard]] double Judge(double a, double b, double result) const {
    double share = std::numeric_limits<double>::infinity();
    for (const Real x : Readings(a)) {
      for (const Real y : Readings(b)) {
        share = std::min(share, ShareOfError(row_, type_, result, TrueResult(row_.opcode, x, y)));
      }
    }
    return share;
  }

  void CheckAt(size_t end, EmulatedCode& code, const Operation& operation, const Codes& a,
               const Codes& b) {
    code.Approximate(kEnds[end]);
    Codes result(type_, a.size());
    code.Run(operation, {&a, &b}, result);
    ASSERT_EQ(code.error(), "");
    double worst = 0;
    std::string at;
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = DecodeToDouble(type_, a[i]);
      const double y = DecodeToDouble(type_, b[i]);
      if (!IsPromised(x, y)) continue;
      const double share = Judge(x, y, DecodeToDouble(type_, result[i]));
      if (share <= worst) continue;
      worst = share;
      at = fmt::format("{:#x}, {:#x} is {:#x}", a[i], b[i], result[i]);
    }
    RecordProperty(kEndNames[end], fmt::format("{:.3f}", worst));
    EXPECT_LE(worst, 1.000001) << fmt::format("{} of {}, {}", operation.name, at, kEndNames[end]);
    worst_ = std::max(worst_, worst);
  }

  const InstRow& row_ = Row(GetParam().op);
  DType type_ = GetParam().type;
  double worst_ = 0;
};

TEST_P(FastForms, KeepTheirErrorAtBothEnds) {
  const Operation operation = FastOperation(row_, type_);
  const Sample sample = SampleOf(type_, row_.operands.size());
  const Codes a(type_, sample.a);
  const Codes b(type_, sample.b);
  EmulatedCode code({operation}, Target::kSm80);
  ASSERT_EQ(code.error(), "");
  for (size_t end = 0; end < std::size(kEnds); ++end) CheckAt(end, code, operation, a, b);
  // The figures of isa.def are rounded up to a tenth in the exponent; the rounding of the operand
  // of exp and its constant reach their worst together nowhere.
  if (type_ == kF32) {
    EXPECT_GE(worst_, 0.75) << "the bound does not follow from PTX's";
  }
}

std::vector<Case> Cases() {
  std::vector<Case> out;
  for (const InstRow& row : AllInstructions()) {
    if (!row.fast) continue;
    for (const DType type : {kF32, kF16, kBF16}) out.push_back({row.opcode, type});
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, FastForms, testing::ValuesIn(Cases()), [](const auto& of) {
  return fmt::format("{}_{}", Row(of.param.op).mnemonic, DTypeName(of.param.type));
});

}  // namespace
}  // namespace tarsia::compiler::fast_form_test
