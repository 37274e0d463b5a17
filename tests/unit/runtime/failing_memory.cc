#include "tests/unit/runtime/failing_memory.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "tests/sanitizers.h"

// The sanitizers have their own malloc, and that of threads its own operator new.
#define TARSIA_OWN_MALLOC (!TARSIA_ADDRESS_SANITIZER && !TARSIA_THREAD_SANITIZER)

#if TARSIA_OWN_MALLOC
extern "C" {
// The other names of malloc and so on in the C library.
void* LibraryMalloc(size_t size) __asm__("__libc_malloc");
void* LibraryCalloc(size_t count, size_t size) __asm__("__libc_calloc");
void* LibraryRealloc(void* old, size_t size) __asm__("__libc_realloc");
void* LibraryMemalign(size_t alignment, size_t size) __asm__("__libc_memalign");
}
#endif

extern "C" void LeakSanitizerDisable() __asm__("__lsan_disable") __attribute__((weak));

namespace tarsia::testing_memory {
namespace {

std::atomic<bool> active{false};
std::atomic<int64_t> counted{0};
std::atomic<bool> failed{false};
std::atomic<int64_t> live{0};
Failures failures;  // changed only while nothing is active
thread_local bool watched = false;
thread_local int exempt = 0;
// The memory that a handler of operator new is assumed to release, like the reserve of LLVM's
// isolation: it satisfies allocations that would fail.
constexpr size_t kGivenUp = size_t{1} << 20;
thread_local size_t given_up = 0;

bool TakeGivenUp(size_t bytes) {
  if (bytes > given_up) return false;
  given_up -= bytes;
  return true;
}

bool Fails() {
  if (!active.load(std::memory_order_acquire)) return false;
  if (exempt > 0 || (!failures.all_threads && !watched)) return false;
  const int64_t number = counted.fetch_add(1);
  const bool fails = number == failures.first || number == failures.second ||
                     (failures.all_after && number > failures.first);
  if (fails) failed.store(true);
  return fails;
}

void* Raw(size_t size, size_t alignment) {
  if (size == 0) size = 1;
#if TARSIA_OWN_MALLOC
  return alignment == 0 ? LibraryMalloc(size) : LibraryMemalign(alignment, size);
#else
  return alignment == 0
             ? std::malloc(size)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
#endif
}

std::atomic<bool> leaks_are_meant{false};

// Each thread must tell the sanitizer.
void TellSanitizer() {
  thread_local bool told = false;
  if (told || LeakSanitizerDisable == nullptr || !leaks_are_meant.load(std::memory_order_relaxed))
    return;
  told = true;
  LeakSanitizerDisable();
}

// As the standard requires: calls the handler until there is memory or no handler.
void* New(size_t size, size_t alignment) {
  TellSanitizer();
  while (true) {
    void* const p = Fails() && !TakeGivenUp(size) ? nullptr : Raw(size, alignment);
    if (p != nullptr) {
      live.fetch_add(1, std::memory_order_relaxed);
      return p;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    given_up = kGivenUp;
  }
}

void Delete(void* p) {
  if (p != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(p);
}

}  // namespace

MemoryFails::MemoryFails(const Failures& wanted) {
  failures = wanted;
  counted.store(0);
  failed.store(false);
  watched = true;
  given_up = 0;
  active.store(true, std::memory_order_release);
}

MemoryFails::~MemoryFails() {
  active.store(false);
  watched = false;
}

bool MemoryFails::happened() const { return failed.load(); }
int64_t MemoryFails::requests() const { return counted.load(); }

void BeginExempt() { ++exempt; }
void EndExempt() { --exempt; }
void LeaksAreMeant() {
  leaks_are_meant.store(true);
  TellSanitizer();
}
bool RequestsAreCounted() { return TARSIA_THREAD_SANITIZER == 0; }
bool MallocCanFail() { return TARSIA_OWN_MALLOC != 0; }
int64_t LiveAllocations() { return live.load(); }

}  // namespace tarsia::testing_memory

using tarsia::testing_memory::Delete;
using tarsia::testing_memory::New;

#if !TARSIA_THREAD_SANITIZER
void* operator new(size_t size) { return New(size, 0); }
void* operator new(size_t size, std::align_val_t alignment) {
  return New(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return New(size, 0);
  } catch (...) {
    return nullptr;
  }
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return New(size, static_cast<size_t>(alignment));
  } catch (...) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept { Delete(p); }
void operator delete(void* p, size_t) noexcept { Delete(p); }
void operator delete(void* p, std::align_val_t) noexcept { Delete(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { Delete(p); }
#endif

#if TARSIA_OWN_MALLOC
namespace tarsia::testing_memory {
namespace {

bool MallocFails() { return failures.with_malloc && Fails(); }

}  // namespace
}  // namespace tarsia::testing_memory

namespace {

void* OutOfMemory() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

#define TARSIA_SYMBOL(name) __asm__(name) __attribute__((visibility("default")))
extern "C" {
void* OwnMalloc(size_t size) TARSIA_SYMBOL("malloc");
void* OwnCalloc(size_t count, size_t size) TARSIA_SYMBOL("calloc");
void* OwnRealloc(void* old, size_t size) TARSIA_SYMBOL("realloc");
void* OwnMalloc(size_t size) {
  return tarsia::testing_memory::MallocFails() ? OutOfMemory() : LibraryMalloc(size);
}
void* OwnCalloc(size_t count, size_t size) {
  return tarsia::testing_memory::MallocFails() ? OutOfMemory() : LibraryCalloc(count, size);
}
void* OwnRealloc(void* old, size_t size) {
  return tarsia::testing_memory::MallocFails() ? OutOfMemory() : LibraryRealloc(old, size);
}
}
#endif
