// Casts between all pairs of types, as host code and as PTX on the emulator, against the scalar
// reference of dtypes/convert.h.
#include <gtest/gtest.h>

#include <random>

#include "tests/settings.h"
#include "tests/unit/compiler/cast_cases.h"
#include "tests/unit/compiler/emulated_code.h"
#include "tests/unit/compiler/host_code.h"
#include "tests/unit/compiler/operations.h"

namespace tarsia::compiler::cast_test {
namespace {

struct CastList {
  std::vector<Operation> operations;
  std::vector<CastOptions> options;

  void Add(DType from, DType to, CastOptions cast) {
    if (!CastAllowed(from, to, cast)) return;
    operations.push_back(CastOperation(from, to, cast));
    options.push_back(cast);
  }
};

// Random bits, the largest and the least ones often.
Codes RandomBits(size_t count) {
  Codes random(kU32, count);
  std::mt19937 generator(7);
  for (size_t i = 0; i < count; ++i) {
    random.Set(i, i % 5 == 0 ? UINT32_MAX : i % 5 == 1 ? 0 : generator());
  }
  return random;
}

template <typename Code>
void CheckCasts(const CastList& list, const Codes& source, Code& code) {
  ASSERT_EQ(code.error(), "");
  const Codes random = RandomBits(source.size());
  for (size_t k = 0; k < list.operations.size(); ++k) {
    const Operation& operation = list.operations[k];
    Codes result(operation.result, source.size());
    code.Run(operation, {&source, &random}, result);
    ASSERT_EQ(code.error(), "");
    int failures = 0;
    for (size_t i = 0; i < source.size() && failures < 3; ++i) {
      const auto bits = static_cast<uint32_t>(random[i]);
      const uint64_t expected =
          CastCode(source.type(), source[i], operation.result, list.options[k], bits);
      if (SameValue(operation.result, result[i], expected)) continue;
      ++failures;
      ADD_FAILURE() << operation.name << std::hex << " of 0x" << source[i] << " random 0x" << bits
                    << ": 0x" << result[i] << ", not 0x" << expected;
    }
  }
}

void CheckOnHost(DType from, const std::vector<CastOptions>& all_options) {
  CastList list;
  for (const DTypeRow& row : AllDTypes()) {
    for (const CastOptions& options : all_options) list.Add(from, row.type, options);
  }
  HostCode code(list.operations);
  CheckCasts(list, Codes(from, InterestingCodes(from)), code);
}

class Casts : public testing::TestWithParam<DTypeRow> {};

TEST_P(Casts, ByDefault) { CheckOnHost(GetParam().type, {{}}); }

TEST_P(Casts, RoundingAndOverflow) {
  std::vector<CastOptions> all;
  for (const Rounding rounding :
       {Rounding::kNearestEven, Rounding::kTowardZero, Rounding::kStochastic}) {
    for (const Overflow overflow :
         {Overflow::kDefault, Overflow::kSaturate, Overflow::kNonSaturating, Overflow::kWrap}) {
      if (rounding == Rounding::kNearestEven && overflow == Overflow::kDefault) continue;
      all.push_back({rounding, overflow});
    }
  }
  if (!IsLong()) all = {all[DTypeIndex(GetParam().type) % all.size()]};  // one, others for others
  CheckOnHost(GetParam().type, all);
}

// A few codes to each type, on the emulator for each target; the options take turns.
TEST_P(Casts, AsPtx) {
  const DType from = GetParam().type;
  const std::vector<uint64_t> all = InterestingCodes(from);
  std::vector<uint64_t> some;
  std::mt19937 random(DTypeIndex(from));
  const size_t count = IsLong() ? 8192 : 128;
  for (size_t i = 0; i < count; ++i) {
    some.push_back(all.size() <= count ? all[i % all.size()] : all[random() % all.size()]);
  }
  for (const TargetRow& target : AllTargets()) {
    CastList list;
    for (const DTypeRow& row : AllDTypes()) {
      const size_t place = DTypeIndex(from) + 5U * DTypeIndex(row.type);
      const bool turn = IsLong() || place % 3 == static_cast<size_t>(target.target) ||
                        row.type == kF8E4M3FN || row.type == kF8E5M2 || row.type == kF16;
      if (!turn) continue;
      list.Add(from, row.type, {});
      const auto rounding = static_cast<Rounding>(place / 3 % 3);
      const auto overflow = static_cast<Overflow>(1 + place / 9 % 3);
      list.Add(from, row.type, {rounding, overflow});
    }
    EmulatedCode code(list.operations, target.target);
    CheckCasts(list, Codes(from, some), code);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Casts, testing::ValuesIn(AllDTypes().begin(), AllDTypes().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tarsia::compiler::cast_test
