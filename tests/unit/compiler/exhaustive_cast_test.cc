// Casts between every type of at most 8 bits and f16, bf16 and f32, as PTX on the emulator, against
// the scalar reference of dtypes/convert.h: all codes of the narrow type one way; the other way all
// 2^16 codes of f16 and bf16, and of f32 every upper half with three lower ones and the codes
// around the places where rounding to the narrow type changes. That is the long form
// (TARSIA_LONG=1). Without it each narrow type runs on one of the targets, with all of its codes,
// the rounding boundaries, and one in sixty-one of the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/settings.h"
#include "tests/unit/compiler/cast_cases.h"
#include "tests/unit/compiler/emulated_code.h"
#include "tests/unit/compiler/operations.h"

namespace tarsia::compiler::exhaustive_cast_test {
namespace {

constexpr DType kWide[] = {kF16, kBF16, kF32};
constexpr size_t kTypesInAModule = 8;
constexpr size_t kStride = 61;  // of the short form

std::vector<DType> NarrowTypes() {
  std::vector<DType> types;
  for (const DTypeRow& row : AllDTypes()) {
    if (row.type.bits <= 8) types.push_back(row.type);
  }
  return types;
}

std::vector<uint64_t> AllCodes(DType type) {
  std::vector<uint64_t> codes;
  for (uint64_t code = 0; code <= CodeMask(type); ++code) codes.push_back(code);
  return codes;
}

// Codes of `wide` at, just below and just above the values of the narrow type and the middles
// between neighbours, of both signs.
std::vector<uint64_t> Boundaries(DType narrow, DType wide) {
  std::vector<double> values;
  for (const uint64_t code : AllCodes(narrow)) {
    const double value = DecodeToDouble(narrow, code);
    if (std::isfinite(value)) values.push_back(std::abs(value));
  }
  std::sort(values.begin(), values.end());
  const size_t count = values.size();
  for (size_t i = 0; i + 1 < count; ++i) values.push_back((values[i] + values[i + 1]) / 2);
  // Above the largest value, by half of the last step and by a whole one.
  const double last = values[count - 1];
  const double step = count > 1 ? last - values[count - 2] : last;
  for (const double factor : {0.5, 1.0}) values.push_back(last + factor * step);
  std::vector<uint64_t> codes;
  const uint64_t sign = uint64_t{1} << (wide.bits - 1);
  for (const double value : values) {
    const uint64_t code = CastCode(kF64, std::bit_cast<uint64_t>(value), wide);
    for (const uint64_t near : {code - 1, code, code + 1}) {
      if ((near & ~CodeMask(wide)) != 0) continue;
      codes.push_back(near);
      codes.push_back(near ^ sign);
    }
  }
  return codes;
}

std::vector<uint64_t> CodesOfWide(DType narrow, DType wide) {
  std::vector<uint64_t> codes = Boundaries(narrow, wide);
  const size_t step = IsLong() ? 1 : kStride;
  const size_t start = IsLong() ? 0 : DTypeIndex(narrow) % kStride;
  for (size_t high = start; high < 0x10000; high += step) {
    if (wide != kF32) {
      codes.push_back(high);
      continue;
    }
    for (const uint64_t low : {0x0000, 0x0001, 0xFFFF}) codes.push_back(high << 16 | low);
  }
  return codes;
}

void CheckCast(EmulatedCode& code, const Operation& operation, const std::vector<uint64_t>& all) {
  const Codes source(operation.operands[0], all);
  const Codes random(kU32, source.size());
  Codes result(operation.result, source.size());
  code.Run(operation, {&source, &random}, result);
  ASSERT_EQ(code.error(), "") << operation.name;
  int failures = 0;
  for (size_t i = 0; i < source.size() && failures < 3; ++i) {
    const uint64_t expected = CastCode(source.type(), source[i], operation.result);
    if (SameValue(operation.result, result[i], expected)) continue;
    ++failures;
    ADD_FAILURE() << operation.name << std::hex << " of 0x" << source[i] << ": 0x" << result[i]
                  << ", not 0x" << expected;
  }
}

// Both ways between some narrow types and the wide ones, in one module.
void CheckTypes(const std::vector<DType>& narrow, Target target) {
  std::vector<Operation> operations;
  for (const DType type : narrow) {
    for (const DType wide : kWide) {
      if (CastAllowed(type, wide, {})) operations.push_back(CastOperation(type, wide, {}));
      if (CastAllowed(wide, type, {})) operations.push_back(CastOperation(wide, type, {}));
    }
  }
  EmulatedCode code(operations, target);
  ASSERT_EQ(code.error(), "");
  for (const Operation& operation : operations) {
    const DType from = operation.operands[0];
    const bool widens = from.bits <= 8;
    CheckCast(code, operation, widens ? AllCodes(from) : CodesOfWide(operation.result, from));
  }
}

class ExhaustiveCasts : public testing::TestWithParam<TargetRow> {};

TEST_P(ExhaustiveCasts, OfNarrowTypes) {
  std::vector<DType> types = NarrowTypes();
  if (!IsLong()) {
    const auto turn = static_cast<size_t>(GetParam().target);
    std::erase_if(types,
                  [&](DType type) { return DTypeIndex(type) % AllTargets().size() != turn; });
  }
  for (size_t first = 0; first < types.size(); first += kTypesInAModule) {
    const size_t count = std::min(kTypesInAModule, types.size() - first);
    const auto from = types.begin() + static_cast<std::ptrdiff_t>(first);
    CheckTypes({from, from + static_cast<std::ptrdiff_t>(count)}, GetParam().target);
  }
}

INSTANTIATE_TEST_SUITE_P(Target, ExhaustiveCasts,
                         testing::ValuesIn(AllTargets().begin(), AllTargets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tarsia::compiler::exhaustive_cast_test
