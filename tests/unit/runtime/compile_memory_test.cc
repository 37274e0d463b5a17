// Out of memory in LLVM: the compilation fails with an error, and the next one makes the same code.
// LLVM's memory is lost each time (compiler/llvm/isolation.h).
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "runtime/devices/code_cache.h"
#include "tarsia/tarsia.h"
#include "tests/settings.h"
#include "tests/unit/runtime/failing_memory.h"

namespace compile_memory_test {
namespace {

using tarsia::testing_memory::Failures;
using tarsia::testing_memory::MallocCanFail;
using tarsia::testing_memory::MemoryFails;

// A loop, an exchange between threads, a cast, a reduction, masks: most of the work of LLVM.
constexpr char kProgram[] = R"(kernel k(%x: ptr<f16>, %y: ptr<f32>, %n: i32)
  const L: reglayout = spatial(16, 8) * local(1, 2)
  grid (ceildiv(%n, 16))
{
  %gx = view %x : global<f16>[%n, 48]
  %gy = view %y : global<f32>[%n]
  %b = block.x
  %first = load %gx[%b * 16, 0] : [16, 16] L
  %sum = cast %first : f32
  for %i = 1 to 3 {
    %t = load %gx[%b * 16, %i * 16] : [16, 16] L
    %u = cast %t : f32
    %sum = add %sum, %u
  }
  %s = reduce.sum %sum axes [1]
  store %gy[%b * 16], %s
}
)";

class CompileMemory : public testing::Test {
 protected:
  void SetUp() override {
    tarsia::testing_memory::LeaksAreMeant();
    ASSERT_EQ(tarsia_module_create(kProgram, sizeof kProgram - 1, nullptr, &module_, nullptr),
              TARSIA_STATUS_OK)
        << tarsia_last_error();
  }
  void TearDown() override { tarsia_module_destroy(module_); }

  tarsia_status Compile(std::string* ptx) {
    tarsia::runtime::CodeCache::Get().Clear();  // compiled each time
    tarsia_code_options options = {};
    options.size = sizeof options;
    options.target = "sm_80";
    tarsia_binding columns = {};
    columns.size = sizeof columns;
    columns.name = "D";
    columns.text = columns_;
    options.bindings = &columns;
    options.binding_count = columns_ != nullptr ? 1 : 0;
    tarsia_code* code = nullptr;
    tarsia_blob* blob = nullptr;
    auto status = tarsia_code_create(module_, &options, &code, nullptr);
    if (status == TARSIA_STATUS_OK) status = tarsia_code_emit(code, TARSIA_CODE_PTX, &blob);
    if (status == TARSIA_STATUS_OK && ptx != nullptr) {
      ptx->assign(static_cast<const char*>(tarsia_blob_data(blob)), tarsia_blob_size(blob));
    }
    tarsia_blob_destroy(blob);
    tarsia_code_destroy(code);
    return status;
  }

  int64_t Requests(Failures failures) {
    const MemoryFails fails(failures);
    EXPECT_EQ(Compile(nullptr), TARSIA_STATUS_OK);
    return fails.requests();
  }

  // False if it did not fail.
  bool FailsWell(const Failures& failures) {
    tarsia_status status = TARSIA_STATUS_OK;
    {
      const MemoryFails fails(failures);
      status = Compile(nullptr);
    }
    if (status == TARSIA_STATUS_OK) return false;
    EXPECT_EQ(status, TARSIA_STATUS_OUT_OF_MEMORY) << tarsia_last_error();
    EXPECT_NE(std::string(tarsia_last_error()).find("out of memory"), std::string::npos)
        << tarsia_last_error();
    return true;
  }

  // Fails allocations throughout a compilation; after each one the next compilation must be
  // correct.
  void Sweep(Failures failures, int samples, bool pairs) {
    ASSERT_EQ(Compile(&ptx_), TARSIA_STATUS_OK) << tarsia_last_error();
    const int64_t requests = Requests(failures);
    ASSERT_GT(requests, 1000);
    std::mt19937_64 random(tarsia::Seed(1));
    std::uniform_int_distribution<int64_t> any(0, requests - 1);
    int failed = 0;
    for (int i = 0; i < samples; ++i) {
      failures.first = any(random);
      if (pairs) failures.second = any(random);
      if (FailsWell(failures)) ++failed;
      std::string after;
      ASSERT_EQ(Compile(&after), TARSIA_STATUS_OK)
          << "request " << failures.first << ": " << tarsia_last_error();
      ASSERT_EQ(after, ptx_) << "request " << failures.first;
    }
    RecordProperty("failed", failed);
    // The reserve covers single failures of operator new; all others end the compilation.
    EXPECT_GT(failed, failures.all_after ? samples * 9 / 10 : -1);
  }

  // Lets the process allocate this many bytes more than now.
  static void LimitAddressSpace(uint64_t more) {
    std::ifstream file("/proc/self/statm");
    uint64_t pages = 0;
    file >> pages;
    const rlim_t bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + more;
    const rlimit limit = {bytes, bytes};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }

  tarsia_module* module_ = nullptr;
  const char* columns_ = nullptr;  // the constant D, where it is set
  std::string ptx_;
};

TEST_F(CompileMemory, AnyRequestMayFail) { Sweep({}, tarsia::IsLong() ? 5000 : 60, false); }

TEST_F(CompileMemory, AnyTwoRequestsMayFail) { Sweep({}, tarsia::IsLong() ? 5000 : 60, true); }

TEST_F(CompileMemory, MemoryMayEndAnywhere) {
  Failures failures;
  failures.all_after = true;
  Sweep(failures, tarsia::IsLong() ? 5000 : 60, false);
}

TEST_F(CompileMemory, AnyRequestOfMallocMayFail) {
  if (!MallocCanFail()) GTEST_SKIP() << "the sanitizer has its own malloc";
  Failures failures;
  failures.with_malloc = true;
  Sweep(failures, tarsia::IsLong() ? 5000 : 60, false);
  failures.all_after = true;
  Sweep(failures, tarsia::IsLong() ? 5000 : 60, false);
}

// The limit is on address space, which sanitizers use without limit.
TEST_F(CompileMemory, IsLookedForBeforeThePasses) {
  if (!MallocCanFail()) GTEST_SKIP() << "no limit is possible under the sanitizer";
  tarsia_blob* text = nullptr;
  ASSERT_EQ(tarsia_library_text("softmax", &text), TARSIA_STATUS_OK);
  tarsia_module_destroy(module_);
  ASSERT_EQ(tarsia_module_create(tarsia_blob_data(text), tarsia_blob_size(text), nullptr, &module_,
                                 nullptr),
            TARSIA_STATUS_OK);
  tarsia_blob_destroy(text);
  // 19,568 instructions of LLVM, of which an instruction takes at least 64 bytes to make and 512 to
  // compile: 17 MiB are enough to make them, and what is left is not enough to compile them.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ASSERT_EQ(Compile(nullptr), TARSIA_STATUS_OK);
        LimitAddressSpace(uint64_t{17} << 20);
        columns_ = "16384";
        const tarsia_status status = Compile(nullptr);
        std::fputs(tarsia_last_error(), stderr);
        columns_ = "128";
        ASSERT_EQ(Compile(nullptr), TARSIA_STATUS_OK);
        std::exit(status == TARSIA_STATUS_OUT_OF_MEMORY ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "out of memory: [0-9]+ bytes were requested to compile `softmax`");
}

// ---- the first compilation of a process ------------------------------------------------------

class FirstCompilation : public CompileMemory {};

// LLVM makes tables for the whole process: if memory ends there, later compilations may be refused,
// but nothing hangs and nothing crashes.
TEST_F(FirstCompilation, MayFailAnywhere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Failures failures;
  failures.with_malloc = MallocCanFail();
  std::mt19937_64 random(tarsia::Seed(1));
  const int samples = tarsia::IsLong() ? 2000 : 12;
  for (int i = 0; i < samples; ++i) {
    failures.all_after = i % 2 == 0;
    // Log-uniform: more of the first ones.
    const double most = 11;
    failures.first =
        static_cast<int64_t>(std::exp(std::uniform_real_distribution<double>(0, most)(random)) - 1);
    EXPECT_EXIT(
        {
          alarm(60);
          FailsWell(failures);
          const tarsia_status status = Compile(nullptr);
          std::exit(!HasFailure() &&
                            (status == TARSIA_STATUS_OK || status == TARSIA_STATUS_OUT_OF_MEMORY)
                        ? 0
                        : 1);
        },
        testing::ExitedWithCode(0), "")
        << "request " << failures.first << (failures.all_after ? " and all after" : "");
  }
}

}  // namespace
}  // namespace compile_memory_test
