// Programs run as processes: in a process with other children, other threads, and its own signal
// handling.
#include "compiler/assemble/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/tools.h"
#include "compiler/diagnostics.h"

extern char** environ;

namespace tarsia::compiler::process_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Result<ProcessOutput> Shell(const std::string& script, milliseconds limit = kToolLimit) {
  return RunProcess("/bin/sh", {"-c", script}, limit);
}

milliseconds Since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

std::set<std::string> OpenFilesOf(const std::string& process) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
    std::error_code closed;  // meanwhile
    files.insert(std::filesystem::read_symlink(entry.path(), closed));
  }
  return files;
}

// A child that lives until the object ends.
class Sleeper {
 public:
  Sleeper() {
    std::string sleep = "sleep", seconds = "60";
    char* const argv[] = {sleep.data(), seconds.data(), nullptr};
    EXPECT_EQ(posix_spawnp(&process_, "sleep", nullptr, nullptr, argv, environ), 0);
  }
  ~Sleeper() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  // Its open files when it runs its own program.
  [[nodiscard]] std::set<std::string> OpenFiles() const {
    const std::string process = "/proc/" + std::to_string(process_);
    while (std::filesystem::read_symlink(process + "/exe").filename() == Own()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return OpenFilesOf(process);
  }

 private:
  static std::filesystem::path Own() {
    return std::filesystem::read_symlink("/proc/self/exe").filename();
  }
  pid_t process_ = 0;
};

// While it lives, the process handles the end of its children this way.
class ChildSignal {
 public:
  explicit ChildSignal(void (*handler)(int), int flags = 0) {
    struct sigaction wanted = {};
    wanted.sa_handler = handler;
    wanted.sa_flags = flags;
    sigaction(SIGCHLD, &wanted, &before_);
  }
  ~ChildSignal() { sigaction(SIGCHLD, &before_, nullptr); }
  ChildSignal(const ChildSignal&) = delete;
  ChildSignal& operator=(const ChildSignal&) = delete;

 private:
  struct sigaction before_ = {};
};

// An executable script that is removed with the object.
class Script {
 public:
  explicit Script(const std::string& text, const std::string& name = "tool") {
    std::string folder = testing::TempDir() + "tarsia-test-XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder_ + "/" + name;
    std::ofstream(path_) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~Script() { std::filesystem::remove_all(folder_); }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, before_.c_str(), 1);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::string before_;
};

TEST(Process, GivesBothStreamsAndTheExitCode) {
  const auto run = Shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out, "out\n");
  EXPECT_EQ(run->err, "err\n");
  EXPECT_EQ(run->exit_code, 3);
  EXPECT_FALSE(RunProcess("/nowhere/program", {}).ok());
}

TEST(Process, IsEndedWhenNobodyWantsIt) {
  int asked = 0;
  StopCheck stop([&] { return ++asked == 3; });
  const auto start = Clock::now();
  const auto run = RunProcess("/bin/sh", {"-c", "sleep 60"}, kToolLimit, &stop);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().info, &diag::kToolStopped) << run.error().message;
  EXPECT_EQ(asked, 3);
  EXPECT_LT(Since(start), milliseconds(10'000));
}

TEST(Process, TakesMoreThanAPipeHolds) {
  const auto run = Shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; exit 0");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out.size(), 1'000'000U);
  EXPECT_EQ(run->err.size(), 1'000'000U);
}

TEST(Process, SaysWhichSignalEndedIt) {
  const auto run = Shell("kill -9 $$");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->exit_code, 128 + SIGKILL);
}

TEST(Process, EndsThoughAChildOfItLivesOn) {
  const auto start = Clock::now();
  const auto run = Shell("sleep 20 & echo done");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out, "done\n");
  EXPECT_EQ(run->exit_code, 0);
  EXPECT_LT(Since(start), milliseconds(10'000));
}

TEST(Process, GivesItsPipesToNoOtherChild) {
  const std::set<std::string> before = OpenFilesOf("/proc/self");
  std::thread running([] { EXPECT_TRUE(Shell("sleep 1").ok()); });
  std::this_thread::sleep_for(milliseconds(300));
  {
    const Sleeper other;
    for (const std::string& file : other.OpenFiles()) {
      EXPECT_TRUE(before.contains(file) || !file.starts_with("pipe:")) << file;
    }
  }
  running.join();
}

TEST(Process, HasALimitOfTime) {
  const auto start = Clock::now();
  const auto run = Shell("sleep 20", milliseconds(200));
  ASSERT_FALSE(run.ok());
  EXPECT_STREQ(run.error().info->id, "tool-timeout");
  EXPECT_EQ(run.error().message, "/bin/sh did not end within 0.2 s");
  EXPECT_LT(Since(start), milliseconds(10'000));
}

TEST(Process, HasItWhenTheStreamsAreClosed) {
  const auto start = Clock::now();
  const auto run = Shell("exec >/dev/null 2>&1; sleep 20", milliseconds(200));
  EXPECT_FALSE(run.ok());
  EXPECT_LT(Since(start), milliseconds(10'000));
}

// The exit code is unknown if the parent ignores the end of its children.
TEST(Process, HasNoExitCodeWhereChildrenAreIgnored) {
  const ChildSignal ignored(SIG_IGN);
  const auto run = Shell("echo out; exit 0");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out, "out\n");
  EXPECT_FALSE(run->exit_code.has_value());
}

TEST(Process, ItsProgramDoesNotIgnoreItsOwnChildren) {
  const ChildSignal ignored(SIG_IGN);
  // A shell that ignores SIGCHLD cannot know how its child ended, or waits for ever.
  const auto run = Shell("grep SigIgn /proc/self/status");
  ASSERT_TRUE(run.ok());
  const uint64_t mask = std::stoull(run->out.substr(run->out.find(':') + 1), nullptr, 16);
  EXPECT_EQ(mask >> (SIGCHLD - 1) & 1, 0U) << run->out;
}

TEST(Process, ItsProgramBlocksNoSignals) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto run = Shell("grep SigBlk /proc/self/status");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(std::stoull(run->out.substr(run->out.find(':') + 1), nullptr, 16), 0U) << run->out;
}

// ---- the assembler ---------------------------------------------------------------------------

constexpr char kPtx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

TEST(AssembleProcess, WorksWhereChildrenAreIgnored) {
  if (!FindTool(Tool::kPtxas).ok()) GTEST_SKIP() << "no ptxas";
  for (const int flags : {0, SA_NOCLDWAIT}) {
    const ChildSignal ignored(flags == 0 ? SIG_IGN : SIG_DFL, flags);
    const auto assembled = Assemble(kPtx, Target::kSm80);
    ASSERT_TRUE(assembled.ok()) << assembled.error().message;
    EXPECT_EQ(assembled->cubin.substr(1, 3), "ELF");
    const auto refused = Assemble(std::string(kPtx) + "nonsense\n", Target::kSm80);
    ASSERT_FALSE(refused.ok());
    EXPECT_TRUE(refused.error().message.starts_with("ptxas refuses the code:\nptxas "))
        << refused.error().message;
  }
}

// A server that waits for all its children may take our child's exit code.
void TakeAll(int /*signal*/) {
  const int before = errno;
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  errno = before;
}

TEST(AssembleProcess, WorksWhereSomebodyElseWaitsForAllChildren) {
  if (!FindTool(Tool::kPtxas).ok()) GTEST_SKIP() << "no ptxas";
  const ChildSignal taken(TakeAll);
  for (int i = 0; i < 5; ++i) {
    const auto assembled = Assemble(kPtx, Target::kSm80);
    ASSERT_TRUE(assembled.ok()) << assembled.error().message;
  }
}

TEST(AssembleProcess, SaysHowAnAssemblerEndedThatSaidNothing) {
  const Script killed("kill -9 $$\n");
  const Variable variable("TARSIA_PTXAS", killed.path());
  const auto assembled = Assemble(kPtx, Target::kSm80);
  ASSERT_FALSE(assembled.ok());
  EXPECT_EQ(assembled.error().message, "ptxas failed: it ended with exit code 137");
}

TEST(AssembleProcess, TakesNoHalfOfACubin) {
  const Script cut("while [ \"$1\" != -o ]; do shift; done\nprintf '\\177ELF' >\"$2\"\n");
  const Variable variable("TARSIA_PTXAS", cut.path());
  const auto assembled = Assemble(kPtx, Target::kSm80);
  ASSERT_FALSE(assembled.ok());
  EXPECT_EQ(assembled.error().message, "ptxas failed: it wrote no whole cubin");
}

TEST(AssembleProcess, HasALimitOfTime) {
  const Script slow("sleep 20\n");
  const Variable variable("TARSIA_PTXAS", slow.path());
  const auto assembled = Assemble(kPtx, Target::kSm80, milliseconds(200));
  ASSERT_FALSE(assembled.ok());
  EXPECT_STREQ(assembled.error().info->id, "tool-timeout");
}

// ---- what is found, what is left open --------------------------------------------------------

TEST(Tools, ThePinnedOneComesBeforePath) {
  const Script other("exit 1\n", "ptxas");
  const Variable variable("PATH", other.folder());
  const auto found = FindTool(Tool::kPtxas);
  ASSERT_TRUE(found.ok());
  if (std::string(TARSIA_PTX_TOOLS).empty()) {
    EXPECT_EQ(*found, other.path());
  } else {
    EXPECT_NE(*found, other.path());
  }
}

TEST(ScratchFile, IsOpenInNoOtherChild) {
  const std::string content(size_t{64} << 20, 'x');  // long enough to write
  std::atomic<bool> done{false};
  std::thread writing([&] {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(ScratchFile::Make(".ptx", content).ok());
    done.store(true);
  });
  while (!done.load()) {
    const Sleeper other;
    for (const std::string& file : other.OpenFiles()) {
      EXPECT_EQ(file.find("tarsia-"), std::string::npos) << file;
    }
  }
  writing.join();
}

}  // namespace
}  // namespace tarsia::compiler::process_test
