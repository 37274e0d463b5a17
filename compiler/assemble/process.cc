#include "compiler/assemble/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <system_error>

#include "compiler/diagnostics.h"
#include "support/temporary_file.h"

extern char** environ;

namespace tarsia::compiler {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How often a process is checked: whether it has ended, which its pipes may not show, because other
// processes may hold them, and whether its time is over.
constexpr milliseconds kTick{20};
constexpr milliseconds kTickWithoutPipes{1};

// Both ends of a pipe, closed with the object, and never open in another child.
struct Pipe {
  Pipe() { ok = pipe2(ends.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    CloseEnd(0);
    CloseEnd(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void CloseEnd(size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends = {-1, -1};
  bool ok = false;
};

// The initial state of a child: its standard streams, and default signals.
class Beginning {
 public:
  Beginning(const Pipe& out, const Pipe& err) {
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGCHLD);
    sigaddset(&usual, SIGPIPE);
    error_ = posix_spawn_file_actions_init(&files_);
    Then(posix_spawnattr_init(&attributes_));
    Then(posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    Then(posix_spawn_file_actions_adddup2(&files_, out.ends[1], STDOUT_FILENO));
    Then(posix_spawn_file_actions_adddup2(&files_, err.ends[1], STDERR_FILENO));
    Then(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
    Then(posix_spawnattr_setsigdefault(&attributes_, &usual));
    Then(posix_spawnattr_setsigmask(&attributes_, &none));
  }
  ~Beginning() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

  int Spawn(const std::string& path, char* const* argv, pid_t* process) const {
    if (error_ != 0) return error_;
    return posix_spawn(process, path.c_str(), &files_, &attributes_, argv, environ);
  }

 private:
  void Then(int error) {
    if (error_ == 0) error_ = error;
  }
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
  int error_ = 0;
};

// A child process; killed with the object if it still runs.
class Child {
 public:
  explicit Child(pid_t process) : process_(process), ends_with_us_(process) {}
  ~Child() {
    if (HasEnded()) return;
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool HasEnded() {
    if (ended_) return true;
    int status = 0;
    const pid_t found = waitpid(process_, &status, WNOHANG);
    if (found == 0 || (found < 0 && errno == EINTR)) return false;
    ended_ = true;
    if (found > 0) exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
  }
  [[nodiscard]] std::optional<int> exit_code() const { return exit_code_; }

 private:
  const pid_t process_;
  const TemporaryProcess ends_with_us_;
  bool ended_ = false;
  std::optional<int> exit_code_;
};

// Reads the available data; false at the end of the stream.
bool ReadSome(int file, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = read(file, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

// Both streams at once: a process that fills one pipe while we wait on the other would hang.
class Streams {
 public:
  Streams(const Pipe& out, const Pipe& err)
      : files_{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}} {}
  [[nodiscard]] bool open() const { return files_[0].fd >= 0 || files_[1].fd >= 0; }
  // Waits this long for something to read; false if there was nothing.
  bool Read(milliseconds wait, ProcessOutput& output) {
    if (poll(files_.data(), files_.size(), static_cast<int>(wait.count())) <= 0) return false;
    for (size_t i = 0; i < files_.size(); ++i) {
      const bool ready = files_[i].fd >= 0 && files_[i].revents != 0;
      if (ready && !ReadSome(files_[i].fd, i == 0 ? output.out : output.err)) files_[i].fd = -1;
    }
    return true;
  }

 private:
  std::array<pollfd, 2> files_;
};

// Reads until the child has ended and nothing is left to read; false at the deadline or if `stop`
// requests it.
bool ReadAll(Child& child, Streams& streams, Clock::time_point deadline, StopCheck* stop,
             ProcessOutput& output) {
  while (true) {
    const bool ended = child.HasEnded();
    const milliseconds wait = ended ? milliseconds(0) : streams.open() ? kTick : kTickWithoutPipes;
    if (!streams.Read(wait, output) && ended) return true;
    if (Clock::now() >= deadline) return ended;
    if (!ended && stop != nullptr && stop->Ask() != StopReason::kNone) return false;
  }
}

}  // namespace

Result<ProcessOutput> RunProcess(const std::string& path, const std::vector<std::string>& arguments,
                                 milliseconds limit, StopCheck* stop) {
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const Clock::time_point deadline = Clock::now() + limit;
  Pipe out;
  Pipe err;
  pid_t process = 0;
  const int error =
      out.ok && err.ok ? Beginning(out, err).Spawn(path, argv.data(), &process) : errno;
  if (error == ENOMEM) throw std::bad_alloc();
  if (error != 0) {
    return MakeDiagnostic(diag::kToolFailed, Location(), path,
                          std::generic_category().message(error));
  }
  Child child(process);
  out.CloseEnd(1);
  err.CloseEnd(1);
  Streams streams(out, err);
  ProcessOutput output;
  if (!ReadAll(child, streams, deadline, stop, output)) {
    if (stop != nullptr && stop->stopped()) {
      return MakeDiagnostic(diag::kToolStopped, Location(), path);
    }
    return MakeDiagnostic(diag::kToolTimeout, Location(), path,
                          static_cast<double>(limit.count()) / 1000);
  }
  output.exit_code = child.exit_code();
  return output;
}

}  // namespace tarsia::compiler
