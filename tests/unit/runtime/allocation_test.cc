// Memory that runs out: every single allocation of the C API fails once, in turn, and each time the
// call says so and leaves nothing behind. Replaces operator new for this test binary.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tarsia/tarsia.h"

namespace {

// Allocations of this thread that still succeed while a test counts them; negative: no limit.
thread_local int64_t allocations_left = -1;
thread_local int64_t live = 0;  // of this thread, allocated minus freed

void* Allocate(size_t size, size_t alignment) {
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  void* const p = alignment == 0 ? std::malloc(size == 0 ? 1 : size)
                                 : std::aligned_alloc(
                                       alignment, (size + alignment - 1) / alignment * alignment);
  if (p != nullptr) ++live;
  return p;
}

void Free(void* p) {
  if (p != nullptr) --live;
  std::free(p);
}

}  // namespace

void* operator new(size_t size) {
  void* const p = Allocate(size, 0);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(size_t size, std::align_val_t alignment) {
  void* const p = Allocate(size, static_cast<size_t>(alignment));
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 0); }
void operator delete(void* p) noexcept { Free(p); }
void operator delete(void* p, size_t) noexcept { Free(p); }
void operator delete(void* p, std::align_val_t) noexcept { Free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { Free(p); }

namespace {

constexpr char kProgram[] = R"(kernel k(%x: ptr<f32>, %n: i32)
  const B: int = 8 tune {8, 16}
  const L: reglayout = replicate(16) * spatial(8)
  grid (ceildiv(%n, B))
{
  %g = view %x : global<f32>[%n]
  %b = block.x
  %t = load %g[%b * B] : [B] L
  %u = mul %t, 2.0
  store %g[%b * B], %u
}
)";

tarsia_module* Module() {
  tarsia_module* module = nullptr;
  EXPECT_EQ(tarsia_module_create(kProgram, sizeof kProgram - 1, nullptr, &module, nullptr),
            TARSIA_STATUS_OK)
      << tarsia_last_error();
  return module;
}

// Calls `call` with 0, 1, 2, .. allocations allowed until it succeeds; returns that number. `call`
// frees what it made.
template <typename Call>
int64_t FailEach(const Call& call) {
  for (int64_t n = 0; n < 100'000; ++n) {
    const int64_t before = live;
    allocations_left = n;
    const tarsia_status status = call();
    const bool spent = allocations_left == 0;
    allocations_left = -1;
    if (status == TARSIA_STATUS_OK) return n;
    EXPECT_TRUE(spent);
    EXPECT_EQ(status, TARSIA_STATUS_OUT_OF_MEMORY) << n << ": " << tarsia_last_error();
    EXPECT_STREQ(tarsia_last_error(), "out of memory");
    // Nothing leaks; tables that are made once may stay.
    EXPECT_LE(live, before + 64) << n;
    if (testing::Test::HasFailure()) return n;
  }
  return -1;
}

TEST(OutOfMemory, ModuleCreate) {
  EXPECT_GT(FailEach([] {
              tarsia_module* module = nullptr;
              const auto status =
                  tarsia_module_create(kProgram, sizeof kProgram - 1, nullptr, &module, nullptr);
              EXPECT_EQ(module != nullptr, status == TARSIA_STATUS_OK);
              tarsia_module_destroy(module);
              return status;
            }),
            10);
}

TEST(OutOfMemory, PlanCreate) {
  tarsia_module* const module = Module();
  ASSERT_NE(module, nullptr);
  EXPECT_GT(FailEach([&] {
              tarsia_plan* plan = nullptr;
              const auto status = tarsia_plan_create(module, nullptr, &plan, nullptr);
              EXPECT_EQ(plan != nullptr, status == TARSIA_STATUS_OK);
              tarsia_plan_destroy(plan);
              return status;
            }),
            10);
  tarsia_module_destroy(module);
}

TEST(OutOfMemory, EncodeAndPrint) {
  tarsia_module* const module = Module();
  ASSERT_NE(module, nullptr);
  EXPECT_GT(FailEach([&] {
              tarsia_blob* blob = nullptr;
              auto status = tarsia_module_encode(module, nullptr, &blob);
              tarsia_blob_destroy(blob);
              if (status != TARSIA_STATUS_OK) return status;
              status = tarsia_module_print(module, &blob);
              tarsia_blob_destroy(blob);
              return status;
            }),
            2);
  tarsia_module_destroy(module);
}

TEST(OutOfMemory, Query) {
  tarsia_module* const module = Module();
  ASSERT_NE(module, nullptr);
  tarsia_plan* plan = nullptr;
  ASSERT_EQ(tarsia_plan_create(module, nullptr, &plan, nullptr), TARSIA_STATUS_OK);
  const tarsia_arg args[] = {tarsia_arg_pointer(nullptr, 0), tarsia_arg_i32(20)};
  EXPECT_GT(FailEach([&] {
              tarsia_query* query = nullptr;
              const auto status = tarsia_query_create(plan, args, 2, &query);
              tarsia_query_destroy(query);
              return status;
            }),
            2);
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
}

}  // namespace
