// dtypes/simd.h: which vector code runs. A process reads TARSIA_SIMD once, so each of its values is
// tested in a separate process: tests/cli/devices.test.
#include "dtypes/simd.h"

#include <gtest/gtest.h>

#include <string_view>

#include "dtypes/bulk_simd.h"
#include "support/environment.h"

namespace tarsia::simd_test {
namespace {

TEST(Simd, TheChosenOneRuns) {
  const Simd before = ChosenSimd().simd;
  const char* last = "";
  for (const SimdRow& row : AllSimd()) {
    if (!HasSimd(row.simd)) {
      std::printf("%s: not on this processor\n", row.title);
      continue;
    }
    UseSimd(row.simd);
    EXPECT_EQ(ChosenSimd().simd, row.simd);
    const char* const name = internal::BulkTargetName();
    EXPECT_STRNE(name, last) << "the same code as for the one before";
    last = name;
  }
  UseSimd(before);
}

TEST(Simd, TheBestOneRunsUnlessAnotherIsAskedFor) {
  ASSERT_TRUE(CheckSimd().ok()) << CheckSimd().error().message;
  const std::string_view wanted = Environment(kSimdVariable);
  if (!wanted.empty()) {
    EXPECT_EQ(ChosenSimd().name, wanted);
    return;
  }
  bool better = false;  // than the chosen one
  for (const SimdRow& row : AllSimd()) {
    if (better) {
      EXPECT_FALSE(HasSimd(row.simd)) << row.title;
    }
    better = better || row.simd == ChosenSimd().simd;
  }
  EXPECT_TRUE(better);
}

}  // namespace
}  // namespace tarsia::simd_test
