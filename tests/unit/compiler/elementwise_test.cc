// Every elementwise operation on every type that its row allows, as host code and as PTX on the
// emulator: exact ones against
// dtypes/arith.h, approximations against the C library in long double and their ulp column.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>

#include "dtypes/arith.h"
#include "isa/instruction.h"
#include "tests/settings.h"
#include "tests/unit/compiler/cast_cases.h"
#include "tests/unit/compiler/emulated_code.h"
#include "tests/unit/compiler/host_code.h"
#include "tests/unit/compiler/operations.h"

namespace tarsia::compiler::elementwise_test {
namespace {

using arith::BF16;
using arith::F16;

// --- what the rows say ---

size_t Arity(const InstRow& row) { return row.operands.size(); }

// --- expected values ---

template <typename T>
T FromCodeOf(uint64_t code) {
  T value;
  std::memcpy(static_cast<void*>(&value), &code, sizeof(T));
  return value;
}
template <typename T>
uint64_t CodeOf(T value) {
  uint64_t code = 0;
  std::memcpy(&code, &value, sizeof(T));
  return code;
}

template <typename T>
std::optional<uint64_t> ExactUnary(Opcode op, T a) {
  if (op == Opcode::kNeg) return CodeOf(arith::Neg(a));
  if (op == Opcode::kAbs) return CodeOf(arith::Abs(a));
  if constexpr (arith::Integer<T>) {
    using U = std::make_unsigned_t<T>;
    if (op == Opcode::kNot) return CodeOf(arith::Not(a));
    if (op == Opcode::kPopc) return CodeOf(static_cast<T>(std::popcount(static_cast<U>(a))));
    if (op == Opcode::kClz) return CodeOf(static_cast<T>(std::countl_zero(static_cast<U>(a))));
  } else {
    const double x = arith::ToDouble(a);
    if (op == Opcode::kSqrt) return CodeOf(arith::Sqrt(a));
    if (op == Opcode::kRcp) return CodeOf(arith::Div(arith::RoundTo<T>(1), a));
    if (op == Opcode::kFloor) return CodeOf(arith::RoundTo<T>(std::floor(x)));
    if (op == Opcode::kCeil) return CodeOf(arith::RoundTo<T>(std::ceil(x)));
    if (op == Opcode::kRound) return CodeOf(arith::RoundTo<T>(std::nearbyint(x)));
    if (op == Opcode::kTrunc) return CodeOf(arith::RoundTo<T>(std::trunc(x)));
  }
  return std::nullopt;
}

template <typename T>
std::optional<uint64_t> ExactBinary(Opcode op, T a, T b) {
  if (op == Opcode::kAdd) return CodeOf(arith::Add(a, b));
  if (op == Opcode::kSub) return CodeOf(arith::Sub(a, b));
  if (op == Opcode::kMul) return CodeOf(arith::Mul(a, b));
  if (op == Opcode::kDiv) return CodeOf(arith::Div(a, b));
  if (op == Opcode::kRem) return CodeOf(arith::Rem(a, b));
  if (op == Opcode::kMin) return CodeOf(arith::Min(a, b));
  if (op == Opcode::kMax) return CodeOf(arith::Max(a, b));
  if (op == Opcode::kEq) return arith::Eq(a, b);
  if (op == Opcode::kNe) return !arith::Eq(a, b);
  if (op == Opcode::kLt) return arith::Lt(a, b);
  if (op == Opcode::kLe) return arith::Le(a, b);
  if (op == Opcode::kGt) return arith::Lt(b, a);
  if (op == Opcode::kGe) return arith::Le(b, a);
  if constexpr (arith::Integer<T>) {
    if (op == Opcode::kAnd) return CodeOf(arith::And(a, b));
    if (op == Opcode::kOr) return CodeOf(arith::Or(a, b));
    if (op == Opcode::kXor) return CodeOf(arith::Xor(a, b));
    if (op == Opcode::kShl) return CodeOf(arith::Shl(a, b));
    if (op == Opcode::kShr) return CodeOf(arith::Shr(a, b));
  }
  return std::nullopt;
}

std::optional<uint64_t> BoolBinary(Opcode op, bool a, bool b) {
  if (op == Opcode::kAnd) return a && b;
  if (op == Opcode::kOr) return a || b;
  if (op == Opcode::kXor || op == Opcode::kNe) return a != b;
  if (op == Opcode::kEq) return a == b;
  return std::nullopt;
}

template <typename Visit>
auto WithNative(DType type, Visit visit) {
  if (type == kI8) return visit(int8_t{});
  if (type == kI16) return visit(int16_t{});
  if (type == kI32) return visit(int32_t{});
  if (type == kI64) return visit(int64_t{});
  if (type == kU8) return visit(uint8_t{});
  if (type == kU16) return visit(uint16_t{});
  if (type == kU32) return visit(uint32_t{});
  if (type == kU64) return visit(uint64_t{});
  if (type == kF16) return visit(F16{});
  if (type == kBF16) return visit(BF16{});
  if (type == kF32) return visit(float{});
  return visit(double{});
}

// The code, or nothing for approximations.
std::optional<uint64_t> Exact(Opcode op, DType type, size_t arity, uint64_t a, uint64_t b) {
  if (type.IsBool()) {
    return arity == 1 ? std::optional<uint64_t>(a == 0) : BoolBinary(op, a != 0, b != 0);
  }
  return WithNative(type, [&](auto zero) {
    using T = decltype(zero);
    return arity == 1 ? ExactUnary(op, FromCodeOf<T>(a))
                      : ExactBinary(op, FromCodeOf<T>(a), FromCodeOf<T>(b));
  });
}

// --- running ---

// Operands for all rows of a type: every pair of interesting codes of few bits, and random ones.
struct Operands {
  Codes a;
  Codes b;
};

// Besides: where sine and cosine are near zero. |n pi / 2| rounded to the type is as near as it
// gets, for most n.
Operands UnaryOperands(DType type) {
  std::vector<uint64_t> codes = InterestingCodes(type);
  for (int n = 1; type.IsFloat() && n < 100000; n += IsLong() ? 1 : 13) {
    const long double multiple = n * 1.57079632679489661923L;
    const uint64_t code = EncodeFromDouble(type, static_cast<double>(multiple));
    for (const uint64_t near : {code, code - 1, code + 1}) codes.push_back(near & CodeMask(type));
    codes.push_back(EncodeFromDouble(type, std::ldexp(static_cast<double>(multiple), n % 900)));
  }
  return {Codes(type, codes), Codes(type, codes)};
}

Operands BinaryOperands(DType type) {
  std::vector<uint64_t> a;
  std::vector<uint64_t> b;
  const std::vector<uint64_t> codes = InterestingCodes(type);
  std::mt19937_64 random(type.bits);
  if (type.bits <= 8) {
    for (const uint64_t x : codes) {
      a.insert(a.end(), codes.size(), x);
      b.insert(b.end(), codes.begin(), codes.end());
    }
  }
  const int count = IsLong() ? 1000000 : 50000;
  for (int i = 0; i < count; ++i) {
    a.push_back(codes[random() % codes.size()]);
    // Half of the second operands are small, or near the first.
    const uint64_t near = (a.back() + random() % 9 - 4) & CodeMask(type);
    const uint64_t other = codes[random() % codes.size()];
    b.push_back(type.IsBool() || i % 4 < 2 ? other
                : i % 4 == 2               ? near
                                           : random() % 80 & CodeMask(type));
  }
  return {Codes(type, a), Codes(type, b)};
}

// Some of the operands, and pairs of special ones.
Operands Sample(const Operands& all, size_t count, uint32_t seed) {
  const DType type = all.a.type();
  std::vector<uint64_t> a;
  std::vector<uint64_t> b;
  if (type.IsFloat()) {
    const uint64_t sign = uint64_t{1} << (type.bits - 1);
    const uint64_t infinity = MaxFiniteCode(type) + 1;
    for (const uint64_t x :
         {uint64_t{0}, sign, uint64_t{1}, infinity, infinity | sign, infinity + 1}) {
      for (const uint64_t y : {uint64_t{0}, sign, sign | 1, infinity, infinity | sign | 1}) {
        a.push_back(x);
        b.push_back(y);
      }
    }
  }
  std::mt19937 random(seed);
  while (a.size() < count) {
    const size_t i = random() % all.a.size();
    a.push_back(all.a[i]);
    b.push_back(all.b[i]);
  }
  return {Codes(type, a), Codes(type, b)};
}

// The host does not order zeros in min and max like PTX.
bool ZerosAreUnordered(Opcode op, DType type, uint64_t a, uint64_t b) {
  const bool extreme = op == Opcode::kMin || op == Opcode::kMax;
  return extreme && type.IsFloat() && type != kF64 && ((a | b) & CodeMask(type) >> 1) == 0;
}

// "" if the result is right.
std::string Judge(const InstRow& row, DType type, uint64_t a, uint64_t b, uint64_t result) {
  const auto expected = Exact(row.opcode, type, Arity(row), a, b);
  const DType result_type = row.Has(kCompares) ? kBoolType : type;
  char text[160];
  if (!expected) {
    const auto x = static_cast<long double>(DecodeToDouble(type, a));
    const double error = arith::UlpError(type, result, Truth(row.opcode, x));
    if (error <= row.ulp) return "";
    std::snprintf(text, sizeof(text), "of %.17g (0x%llx) is %g ulp off", static_cast<double>(x),
                  static_cast<unsigned long long>(a), error);
    return text;
  }
  if (SameValue(result_type, result, *expected)) return "";
  std::snprintf(text, sizeof(text), "of 0x%llx, 0x%llx is 0x%llx, not 0x%llx",
                static_cast<unsigned long long>(a), static_cast<unsigned long long>(b),
                static_cast<unsigned long long>(result),
                static_cast<unsigned long long>(*expected));
  return text;
}

template <typename Code>
void CheckRows(DType type, const std::vector<const InstRow*>& rows,
               const std::vector<Operation>& operations, const Operands& unary,
               const Operands& binary, Code& code, bool zeros_ordered) {
  for (size_t k = 0; k < rows.size(); ++k) {
    const Operands& x = Arity(*rows[k]) == 1 ? unary : binary;
    Codes result(operations[k].result, x.a.size());
    code.Run(operations[k], {&x.a, &x.b}, result);
    ASSERT_EQ(code.error(), "");
    int failures = 0;
    for (size_t i = 0; i < x.a.size() && failures < 3; ++i) {
      if (!zeros_ordered && ZerosAreUnordered(rows[k]->opcode, type, x.a[i], x.b[i])) continue;
      const std::string wrong = Judge(*rows[k], type, x.a[i], x.b[i], result[i]);
      if (wrong.empty()) continue;
      ++failures;
      ADD_FAILURE() << operations[k].name << " " << wrong;
    }
  }
}

class Elementwise : public testing::TestWithParam<DTypeRow> {};

// Rows whose code has instructions of the GPU (special_function.h).
bool IsOnlyForGpus(const InstRow& row, DType type) {
  constexpr Opcode kOps[] = {Opcode::kDiv,  Opcode::kRsqrt, Opcode::kExp,  Opcode::kExp2,
                             Opcode::kTanh, Opcode::kRcp,   Opcode::kSqrt, Opcode::kLog,
                             Opcode::kLog2, Opcode::kErf};
  return type.IsFloat() && type != kF64 && std::ranges::find(kOps, row.opcode) != std::end(kOps);
}

TEST_P(Elementwise, EveryRowOnTheHost) {
  const DType type = GetParam().type;
  std::vector<const InstRow*> rows = ElementwiseRows(type);
  std::erase_if(rows, [&](const InstRow* row) { return IsOnlyForGpus(*row, type); });
  std::vector<Operation> operations;
  for (const InstRow* row : rows) operations.push_back(ElementwiseOperation(*row, type));
  if (rows.empty()) GTEST_SKIP() << "no arithmetic";
  HostCode code(operations);
  ASSERT_EQ(code.error(), "");
  CheckRows(type, rows, operations, UnaryOperands(type), BinaryOperands(type), code, false);
}

// The emulator is slow: each target gets different operands, a few of all.
TEST_P(Elementwise, EveryRowAsPtx) {
  const DType type = GetParam().type;
  const std::vector<const InstRow*> rows = ElementwiseRows(type);
  std::vector<Operation> operations;
  for (const InstRow* row : rows) operations.push_back(ElementwiseOperation(*row, type));
  if (rows.empty()) GTEST_SKIP() << "no arithmetic";
  const size_t count = IsLong() ? 20000 : 400;
  for (const TargetRow& target : AllTargets()) {
    EmulatedCode code(operations, target.target);
    ASSERT_EQ(code.error(), "");
    const auto seed = static_cast<uint32_t>(target.capability);
    CheckRows(type, rows, operations, Sample(UnaryOperands(type), count, seed),
              Sample(BinaryOperands(type), count, seed), code, true);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Elementwise,
                         testing::ValuesIn(AllDTypes().begin(), AllDTypes().end()),
                         [](const auto& test) { return std::string(test.param.name); });

// --- two halves at once ---

// A row on two elements, from the operands x and y: op(x, y) and op(y, x), or op(x) and op(y). The
// result is the one that `place` says.
Operation OfTwo(const InstRow& row, DType type, size_t place) {
  Operation out = ElementwiseOperation(row, type);
  out.name += "_" + std::to_string(place);
  out.operands = {type, type};
  out.emit = [opcode = row.opcode, arity = Arity(row), type, place](
                 ElementEmitter& emitter, const std::vector<llvm::Value*>& x) {
    std::vector<Elements> operands = {{x[0], x[1]}};
    if (arity == 2) operands.push_back({x[1], x[0]});
    return emitter.OnAll(opcode, type, operands)[place];
  };
  return out;
}

class Halves : public testing::TestWithParam<TargetRow> {};

TEST_P(Halves, EveryRowOnTwo) {
  for (const DType type : {kF16, kBF16}) {
    const std::vector<const InstRow*> rows = ElementwiseRows(type);
    std::vector<Operation> operations;
    for (const InstRow* row : rows) {
      for (const size_t place : {0, 1}) operations.push_back(OfTwo(*row, type, place));
    }
    EmulatedCode code(operations, GetParam().target);
    ASSERT_EQ(code.error(), "");
    const Operands x = Sample(BinaryOperands(type), IsLong() ? 20000 : 1000, 5);
    for (size_t k = 0; k < operations.size(); ++k) {
      const InstRow& row = *rows[k / 2];
      const bool swapped = k % 2 == 1;
      Codes result(operations[k].result, x.a.size());
      code.Run(operations[k], {&x.a, &x.b}, result);
      ASSERT_EQ(code.error(), "");
      int failures = 0;
      for (size_t i = 0; i < x.a.size() && failures < 3; ++i) {
        const uint64_t a = swapped ? x.b[i] : x.a[i];
        const uint64_t b = swapped ? x.a[i] : x.b[i];
        const std::string wrong = Judge(row, type, a, b, result[i]);
        if (wrong.empty()) continue;
        ++failures;
        ADD_FAILURE() << operations[k].name << " " << wrong;
      }
    }
  }
}

// Two f32 rounded at once.
TEST_P(Halves, CastOfTwo) {
  const Operands x = Sample(BinaryOperands(kF32), IsLong() ? 100000 : 3000, 6);
  for (const DType to : {kF16, kBF16}) {
    for (const Overflow overflow :
         {Overflow::kDefault, Overflow::kSaturate, Overflow::kNonSaturating}) {
      const auto of_place = [&](size_t place) {
        return Operation{"cast_" + std::to_string(place),
                         {kF32, kF32},
                         to,
                         [=](ElementEmitter& emitter, const std::vector<llvm::Value*>& v) {
                           return emitter.CastAll({v[0], v[1]}, kF32, to,
                                                  {Rounding::kNearestEven, overflow})[place];
                         }};
      };
      const std::vector<Operation> operations = {of_place(0), of_place(1)};
      EmulatedCode code(operations, GetParam().target);
      ASSERT_EQ(code.error(), "");
      for (const size_t place : {0, 1}) {
        Codes result(to, x.a.size());
        code.Run(operations[place], {&x.a, &x.b}, result);
        ASSERT_EQ(code.error(), "");
        for (size_t i = 0; i < x.a.size(); ++i) {
          const uint64_t from = place == 0 ? x.a[i] : x.b[i];
          const uint64_t expected = CastCode(kF32, from, to, {Rounding::kNearestEven, overflow});
          ASSERT_TRUE(SameValue(to, result[i], expected)) << std::hex << from << " " << result[i];
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Target, Halves,
                         testing::ValuesIn(AllTargets().begin(), AllTargets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

// --- three operands ---

uint64_t ExpectedFma(DType type, uint64_t a, uint64_t b, uint64_t c) {
  if (!type.IsComplex()) {
    return WithNative(type, [&](auto zero) -> uint64_t {
      using T = decltype(zero);
      if constexpr (arith::Float<T>) {
        return CodeOf(arith::Fma(FromCodeOf<T>(a), FromCodeOf<T>(b), FromCodeOf<T>(c)));
      }
      return 0;
    });
  }
  const DType part = ComponentOf(type);
  const auto low = [&](uint64_t x) { return x & CodeMask(part); };
  const auto high = [&](uint64_t x) { return x >> part.bits; };
  const uint64_t sign = uint64_t{1} << (part.bits - 1);
  const uint64_t real =
      ExpectedFma(part, high(a) ^ sign, high(b), ExpectedFma(part, low(a), low(b), low(c)));
  const uint64_t imaginary =
      ExpectedFma(part, high(a), low(b), ExpectedFma(part, low(a), high(b), high(c)));
  return imaginary << part.bits | real;
}

// Only as PTX: the host has no fma of f16 that rounds once.
TEST(Fma, RoundsOnce) {
  for (const DType type : {kF16, kBF16, kF32, kF64, kC32, kC64}) {
    const auto emit = [=](ElementEmitter& emitter, const std::vector<llvm::Value*>& x) {
      // The second of two, which may be a pair.
      return emitter.OnAll(Opcode::kFma, type, {{x[2], x[0]}, {x[0], x[1]}, {x[1], x[2]}})[1];
    };
    const Operation operation = {"fma", {type, type, type}, type, emit};
    const DType part = type.IsComplex() ? ComponentOf(type) : type;
    std::mt19937_64 random(1);
    const size_t count = IsLong() ? 100000 : 3000;
    Codes a(type, count), b(type, count), c(type, count);
    // Moderate exponents, so that no term vanishes beside the others: near half of the range.
    const auto draw = [&](int spread) {
      const auto field = static_cast<uint64_t>(part.bias + static_cast<int>(random() % 9) - spread);
      const uint64_t fraction = random() & ((uint64_t{1} << part.mantissa) - 1);
      return field << part.mantissa | fraction | random() >> 63 << (part.bits - 1);
    };
    const auto element = [&](int spread) {
      const uint64_t low = draw(spread);
      return type.IsComplex() ? draw(spread) << part.bits | low : low;
    };
    for (size_t i = 0; i < count; ++i) {
      a.Set(i, element(4));
      b.Set(i, element(4));
      c.Set(i, element(static_cast<int>(i % (part.mantissa < 13 ? part.mantissa : 13)) + 1));
    }
    for (const TargetRow& target : AllTargets()) {
      EmulatedCode code({operation}, target.target);
      ASSERT_EQ(code.error(), "");
      Codes result(type, count);
      code.Run(operation, {&a, &b, &c}, result);
      ASSERT_EQ(code.error(), "");
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(result[i], ExpectedFma(type, a[i], b[i], c[i]))
            << DTypeName(type) << " " << target.name << " element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tarsia::compiler::elementwise_test
