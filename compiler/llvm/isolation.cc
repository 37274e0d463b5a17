// The one file of this folder with exceptions.
#include "compiler/llvm/isolation.h"

#include <execinfo.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/PrettyStackTrace.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/llvm/backend.h"

namespace tarsia::compiler {
namespace {

// More than any single operation takes that LLVM does under a lock.
constexpr size_t kReserve = size_t{1} << 20;

// Unused memory, to be given up. It is mapped, because memory that is freed to malloc changes how
// malloc treats the rest of the process.
class Reserve {
 public:
  explicit Reserve(size_t bytes)
      : bytes_(bytes), data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0)) {}
  ~Reserve() { GiveUp(); }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  [[nodiscard]] bool ok() const { return data_ != MAP_FAILED; }
  // False if it is gone already.
  bool GiveUp() {
    if (!ok()) return false;
    munmap(std::exchange(data_, MAP_FAILED), bytes_);
    return true;
  }

 private:
  static constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  const size_t bytes_;
  void* data_;
};

// What is thrown through LLVM.
struct Abandoned {
  Diagnostic error;
};

thread_local Reserve* reserve = nullptr;  // of the compilation of this thread; null: there is none

// ---- what LLVM and operator new call where they fail -----------------------------------------

// LLVM may have other users in the process: for them all stays as it is without handlers.

void OnBadAlloc(void* /*data*/, const char* reason, bool /*crash*/) {
  if (reserve != nullptr) throw std::bad_alloc();
  std::fprintf(stderr, "LLVM ERROR: out of memory\n%s\n", reason);
  std::abort();
}

void OnFatalError(void* /*data*/, const char* reason, bool crash) {
  if (reserve != nullptr) AbandonCompilation(MakeDiagnostic(diag::kLlvmGaveUp, {}, reason));
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
  if (crash) std::abort();
}

// The handler of `operator new` in the whole process, and the one that was there before.
class NewHandler {
 public:
  NewHandler() : before_(std::set_new_handler(Handle)) {}
  ~NewHandler() {
    if (std::get_new_handler() == Handle) std::set_new_handler(before_);
  }
  NewHandler(const NewHandler&) = delete;
  NewHandler& operator=(const NewHandler&) = delete;

 private:
  static void Handle();
  const std::new_handler before_;
};

NewHandler& InstallNewHandler() {
  static NewHandler handler;
  return handler;
}

void NewHandler::Handle() {
  if (reserve != nullptr && reserve->GiveUp()) return;
  const std::new_handler before = InstallNewHandler().before_;
  if (before == nullptr) throw std::bad_alloc();
  before();
}

struct LlvmHandlers {
  LlvmHandlers() {
    llvm::install_bad_alloc_error_handler(OnBadAlloc);
    llvm::install_fatal_error_handler(OnFatalError);
  }
  ~LlvmHandlers() {
    llvm::remove_bad_alloc_error_handler();
    llvm::remove_fatal_error_handler();
  }
};

void InstallHandlers() {
  static const LlvmHandlers handlers;
  InstallNewHandler();
}

// The C library loads the unwinder when an exception first passes through it, as through
// pthread_once, and ends the process where it cannot. False: it cannot now.
bool LoadUnwinder() {
  void* frame = nullptr;
  return backtrace(&frame, 1) == 1;
}

// ---- one compilation -------------------------------------------------------------------------

Diagnostic NoMemory() { return MakeDiagnostic(diag::kLlvmMemory, Location()); }

Status Run(void (*body)(void*), void* data) {
  Reserve own(kReserve);
  if (!own.ok()) return NoMemory();
  const void* const trace = llvm::SavePrettyStackState();  // entries of frames that are left
  const auto leave = [trace] {
    reserve = nullptr;
    llvm::RestorePrettyStackState(trace);
  };
  reserve = &own;
  try {
    body(data);
    reserve = nullptr;
    return OkStatus();
  } catch (const std::bad_alloc&) {
    leave();
  } catch (Abandoned& abandoned) {
    leave();
    return std::move(abandoned.error);
  } catch (...) {
    leave();
    throw;
  }
  own.GiveUp();
  return NoMemory();
}

// What LLVM makes once for the process, before anything else. If that fails, LLVM is not to be used
// again: it may have left locks taken and tables half made.
Status PrepareLlvm() {
  static std::mutex mutex;
  static bool ready = false;
  static bool broken = false;
  const std::lock_guard lock(mutex);
  if (ready) return OkStatus();
  if (broken) return MakeDiagnostic(diag::kLlvmUnusable, Location());
  if (!LoadUnwinder()) return NoMemory();
  InstallHandlers();
  broken = true;
  TARSIA_CHECK(Run([](void*) { MakeOnceForAll(); }, nullptr));
  broken = false;
  ready = true;
  return OkStatus();
}

}  // namespace

Status RunIsolated(void (*body)(void* data), void* data) {
  TARSIA_CHECK(PrepareLlvm());
  return Run(body, data);
}

Status LookForMemory(uint64_t bytes, std::string_view kernel) {
  if (Reserve(bytes).ok()) return OkStatus();
  return MakeDiagnostic(diag::kLlvmMemoryBytes, Location(), bytes, kernel);
}

void AbandonCompilation(Diagnostic error) { throw Abandoned{std::move(error)}; }

void AbandonIfOutOfMemory() {
  if (reserve != nullptr && !reserve->ok()) throw std::bad_alloc();
}

}  // namespace tarsia::compiler
