#include "support/temporary_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tarsia {
namespace {

// The data of the signal handler: names in memory of their own. They are taken out by an exchange,
// so only one thread uses a name.
std::array<std::atomic<char*>, 256> remembered{};
static_assert(std::atomic<char*>::is_always_lock_free);

// The slot of the name, or -1 if there is no room.
int Remember(const std::string& path) {
  char* const name = strdup(path.c_str());
  if (name == nullptr) return -1;
  for (size_t i = 0; i < remembered.size(); ++i) {
    char* none = nullptr;
    if (remembered[i].compare_exchange_strong(none, name)) return static_cast<int>(i);
  }
  std::free(name);
  return -1;
}

void Forget(int slot) {
  if (slot >= 0) std::free(remembered[static_cast<size_t>(slot)].exchange(nullptr));
}

// Process numbers; 0: an empty slot.
std::array<std::atomic<pid_t>, 64> processes{};
static_assert(std::atomic<pid_t>::is_always_lock_free);

int Remember(pid_t process) {
  for (size_t i = 0; i < processes.size(); ++i) {
    pid_t none = 0;
    if (processes[i].compare_exchange_strong(none, process)) return static_cast<int>(i);
  }
  return -1;
}

extern "C" void RemoveAndEnd(int signal) {
  for (std::atomic<pid_t>& slot : processes) {
    const pid_t process = slot.exchange(0);
    if (process == 0) continue;
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  for (std::atomic<char*>& slot : remembered) {
    const char* const name = slot.exchange(nullptr);
    if (name != nullptr) unlink(name);
  }
  // SA_RESETHAND has put the default back; this signal arrives when the handler returns.
  raise(signal);
}

}  // namespace

TemporaryFile::TemporaryFile(std::string path) : path_(std::move(path)), slot_(Remember(path_)) {}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), slot_(std::exchange(other.slot_, -1)) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(slot_, other.slot_);
  return *this;
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) unlink(path_.c_str());
  Forget(slot_);
}

void TemporaryFile::Release() {
  Forget(std::exchange(slot_, -1));
  path_.clear();
}

TemporaryProcess::TemporaryProcess(pid_t process) : slot_(Remember(process)) {}

TemporaryProcess::~TemporaryProcess() {
  if (slot_ >= 0) processes[static_cast<size_t>(slot_)].store(0);
}

void RemoveTemporaryFilesOnSignals() {
  struct sigaction action = {};
  action.sa_handler = RemoveAndEnd;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace tarsia
