// Files: bounded reads, and atomic writes.
#include "runtime/files/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace tarsia::file_test {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tarsia_file_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string Path(const std::string& name) const {
    return (folder_ / name).string();
  }
  static std::string Contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  [[nodiscard]] size_t Count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  fs::path folder_;
};

TEST_F(FileTest, AppearsOnlyWhenCommitted) {
  const std::string path = Path("a");
  {
    auto file = OutputFile::Create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write(std::string_view("hello")).ok());
    EXPECT_FALSE(fs::exists(path));
    ASSERT_TRUE(file->Commit().ok());
  }
  EXPECT_EQ(Contents(path), "hello");
  EXPECT_EQ(Count(), 1u);
}

TEST_F(FileTest, LeavesNothingWithoutCommit) {
  ASSERT_TRUE(WriteFile(Path("a"), "old").ok());
  {
    auto file = OutputFile::Create(Path("a"));
    ASSERT_TRUE(file->Write(std::string_view("new")).ok());
  }
  EXPECT_EQ(Contents(Path("a")), "old");
  EXPECT_EQ(Count(), 1u);
}

TEST_F(FileTest, KeepsOldFileWhenTheDiskIsFull) {
  ASSERT_TRUE(WriteFile(Path("a"), "old").ok());
  // A limit on file sizes behaves like a disk that is full, in the middle of a write.
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Status status = WriteFile(Path("a"), std::string(5000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "cannot write " + Path("a") + ": File too large");
  EXPECT_EQ(Contents(Path("a")), "old");
  EXPECT_EQ(Count(), 1u);
}

// A file without a name goes even with a process that is killed.
TEST_F(FileTest, HasNoNameBeforeItIsCommitted) {
  auto file = OutputFile::Create(Path("a"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write(std::string_view("new")).ok());
  EXPECT_EQ(Count(), 0u);
  // Another file with that name is replaced, whenever it came.
  std::ofstream(Path("a")) << "other";
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Contents(Path("a")), "new");
  EXPECT_EQ(Count(), 1u);
}

// From now on this process finds no file system that has files without a name.
bool ForbidNamelessFiles() {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  constexpr auto kFlags =
      static_cast<uint32_t>(offsetof(seccomp_data, args) + 2 * sizeof(uint64_t));
  constexpr uint32_t kNameless = O_TMPFILE & ~O_DIRECTORY;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNameless, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
  };
  const sock_fprog program = {std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Exits with 0 if files that are named from the start are written as all are.
[[noreturn]] void WriteNamedFiles(const std::string& path) {
  if (!ForbidNamelessFiles()) _exit(1);
  const fs::path folder = fs::path(path).parent_path();
  const auto count = [&] { return std::distance(fs::directory_iterator(folder), {}); };
  {
    auto file = OutputFile::Create(path);
    if (!file.ok() || !file->Write(std::string_view("lost")).ok()) _exit(2);
    if (fs::exists(path) || count() != 1) _exit(3);
  }
  if (count() != 0) _exit(4);
  for (const char* const text : {"first", "second"}) {
    if (!WriteFile(path, text).ok() || count() != 1) _exit(5);
  }
  _exit(0);
}

TEST_F(FileTest, IsWrittenWhereEachFileHasAName) {
  EXPECT_EXIT(WriteNamedFiles(Path("a")), testing::ExitedWithCode(0), "");
  EXPECT_EQ(Contents(Path("a")), "second");
}

TEST_F(FileTest, DevicesAreWrittenToAndStay) {
  const Status full = WriteFile("/dev/full", "x");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message, "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(WriteFile("/dev/null", "x").ok());
  struct stat info = {};
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST_F(FileTest, FollowsLinksAndKeepsModes) {
  ASSERT_TRUE(WriteFile(Path("real"), "old").ok());
  fs::permissions(Path("real"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", Path("link"));
  ASSERT_TRUE(WriteFile(Path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Contents(Path("real")), "new");
  EXPECT_EQ(fs::status(Path("real")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FileTest, Refuses) {
  EXPECT_EQ(WriteFile(Path("no/such/a"), "x").error().message,
            "cannot write " + Path("no/such/a") + ": No such file or directory");
  EXPECT_EQ(WriteFile(folder_.string(), "x").error().message,
            "cannot write " + folder_.string() + ": Is a directory");
  EXPECT_EQ(InputFile::Open(Path("none")).error().message,
            "cannot open " + Path("none") + ": No such file or directory");
  EXPECT_EQ(InputFile::Open(folder_.string()).error().message, folder_.string() + " is a folder");
}

TEST_F(FileTest, ReadsWithinBounds) {
  ASSERT_TRUE(WriteFile(Path("a"), "0123456789").ok());
  const auto file = InputFile::Open(Path("a"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 10u);
  uint8_t four[4];
  ASSERT_TRUE(file->Read(6, four).ok());
  EXPECT_EQ(four[3], '9');
  EXPECT_FALSE(file->Read(7, four).ok());
  EXPECT_FALSE(file->Read(UINT64_MAX, four).ok());
  // The file shrinks meanwhile: an error, not a signal.
  fs::resize_file(Path("a"), 3);
  EXPECT_EQ(file->Read(2, four).error().message,
            "cannot read " + Path("a") + ": it shrank while it was read");
  EXPECT_EQ(*ReadFile(Path("a")), "012");
  EXPECT_EQ(ReadFile(Path("a"), 2).error().message, Path("a") + " is larger than 2 bytes");
}

TEST_F(FileTest, ReadsPipes) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::thread writer([path = Path("pipe")] {
    const int fd = open(path.c_str(), O_WRONLY);  // waits for the reader
    for (int i = 0; i < 3; ++i) EXPECT_EQ(write(fd, "abc", 3), 3);
    close(fd);
  });
  const auto text = ReadFile(Path("pipe"));
  writer.join();
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "abcabcabc");
}

TEST(HostBuffer, IsZeroAndAligned) {
  auto buffer = HostBuffer::Allocate(1 << 20);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 4096, 0u);
  for (const uint8_t byte : buffer->bytes()) ASSERT_EQ(byte, 0);
  const HostBuffer moved = *std::move(buffer);
  EXPECT_EQ(moved.size(), uint64_t{1} << 20);
  EXPECT_EQ(HostBuffer::Allocate(0)->data(), nullptr);
  EXPECT_EQ(HostBuffer::Allocate(uint64_t{1} << 60).error().message,
            "out of memory: 1152921504606846976 bytes were requested");
  EXPECT_FALSE(HostBuffer::Allocate(UINT64_MAX).ok());
}

}  // namespace
}  // namespace tarsia::file_test
