// Temporary files are removed with their objects, and by the signals that end a process.
#include "support/temporary_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace tarsia::temporary_file_test {
namespace {

namespace fs = std::filesystem;

class TemporaryFileTest : public testing::Test {
 protected:
  TemporaryFileTest() : folder_(testing::TempDir() + "temporary_" + std::to_string(getpid())) {
    fs::create_directory(folder_);
  }
  ~TemporaryFileTest() override { fs::remove_all(folder_); }

  std::string Make(const std::string& name) const {
    std::ofstream(folder_ + "/" + name) << "x";
    return folder_ + "/" + name;
  }

  // Runs `wait` in a process with two temporary files, sends it `signal`, and returns its status.
  int StatusAfter(int signal, bool cleans) const {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      const TemporaryFile one(Make("one"));
      const TemporaryFile two(Make("two"));
      TemporaryFile kept(Make("kept"));
      kept.Release();
      if (cleans) RemoveTemporaryFilesOnSignals();
      if (write(ready[1], "r", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    close(ready[0]);
    close(ready[1]);
    return status;
  }

  std::string folder_;
};

TEST_F(TemporaryFileTest, GoesWithItsObject) {
  const std::string path = Make("a");
  {
    TemporaryFile file(path);
    EXPECT_EQ(file.path(), path);
    TemporaryFile moved(std::move(file));
    EXPECT_EQ(moved.path(), path);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryFileTest, StaysWhenItIsReleased) {
  const std::string path = Make("a");
  {
    TemporaryFile file(path);
    file.Release();
    EXPECT_EQ(file.path(), "");
  }
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(TemporaryFileTest, GoesWhenASignalEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = StatusAfter(signal, true);
    ASSERT_TRUE(WIFSIGNALED(status)) << signal;
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_FALSE(fs::exists(folder_ + "/one")) << signal;
    EXPECT_FALSE(fs::exists(folder_ + "/two")) << signal;
    EXPECT_TRUE(fs::exists(folder_ + "/kept")) << signal;
  }
}

TEST_F(TemporaryFileTest, StaysWhereNobodyAskedForSignals) {
  const int status = StatusAfter(SIGTERM, false);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(fs::exists(folder_ + "/one"));
}

// Like an assembler that is running when its caller is ended: its later output is not there.
TEST_F(TemporaryFileTest, WhoWouldWriteItAgainIsEndedFirst) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t caller = fork();
  if (caller == 0) {
    const TemporaryFile file(Make("late"));
    const pid_t writer = fork();
    if (writer == 0) {
      usleep(300'000);
      Make("late");
      sleep(20);
      _exit(0);
    }
    const TemporaryProcess ends_with_us(writer);
    RemoveTemporaryFilesOnSignals();
    if (write(ready[1], "r", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto begin = std::chrono::steady_clock::now();
  kill(caller, SIGTERM);
  int status = 0;
  waitpid(caller, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10))
      << "it was waited for";
  usleep(600'000);
  EXPECT_FALSE(fs::exists(folder_ + "/late"));
  close(ready[0]);
  close(ready[1]);
}

TEST_F(TemporaryFileTest, ThereMayBeMoreThanAreRemembered) {
  std::vector<std::optional<TemporaryFile>> files(300);
  for (size_t i = 0; i < files.size(); ++i) files[i].emplace(Make(std::to_string(i)));
  files.clear();
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace tarsia::temporary_file_test
