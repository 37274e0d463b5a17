// The cache of compiled code: what is kept is found, damage is noticed, the size is limited, and a
// folder that cannot be used costs nothing but the cache.
#include "runtime/cache/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/devices/code.h"
#include "runtime/devices/code_cache.h"
#include "tarsia/tarsia.h"
#include "tests/harness/program.h"

namespace disk_cache_test {
namespace {

namespace fs = std::filesystem;
using namespace tarsia;
using namespace tarsia::runtime;

std::string ReadBytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void WriteBytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest()
      : folder_(testing::TempDir() + "disk_cache_" + std::to_string(getpid())),
        cache_({folder_ + "/made/on/demand", kDefaultCacheLimit}) {
    tarsia_set_log_callback(Take, &lines_, TARSIA_LOG_WARNING);
  }
  ~DiskCacheTest() override {
    tarsia_set_log_callback(nullptr, nullptr, TARSIA_LOG_OFF);
    SetCacheSettings(std::nullopt);
    CodeCache::Get().Clear();
    fs::remove_all(folder_);
  }
  [[nodiscard]] fs::path PathOf(const CacheKey& key) const {
    return fs::path(cache_.settings().folder) / key.file();
  }
  static void SetAge(const fs::path& path, int seconds) {
    const std::array<timespec, 2> times = {
        {{1'700'000'000 - seconds, 0}, {1'700'000'000 - seconds, 0}}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  }
  static void Take(void* user, tarsia_log_level, const char* message) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(message);
  }

  std::string folder_;
  DiskCache cache_;
  std::vector<std::string> lines_;
};

TEST_F(DiskCacheTest, FindsWhatWasKept) {
  const CacheKey key("kernel", {"a", "b"});
  EXPECT_FALSE(cache_.Find(key));
  const std::string content("con\0tent", 8);
  cache_.Keep(key, "a label", content);
  EXPECT_EQ(cache_.Find(key), content);
  EXPECT_EQ(DiskCache(cache_.settings()).Find(key), content);
  EXPECT_FALSE(cache_.Find(CacheKey("cubin", {"a", "b"})));
  EXPECT_FALSE(cache_.Find(CacheKey("kernel", {"b", "a"})));
  EXPECT_FALSE(cache_.Find(CacheKey("kernel", {"ab", ""})));
  const auto entries = cache_.List();
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(cache_.LabelOf(entries->front()), "a label");
  EXPECT_EQ(entries->front().file, key.file());
  EXPECT_EQ(fs::status(cache_.settings().folder).permissions(), fs::perms::owner_all);
  cache_.Keep(key, "a label", "");
  EXPECT_EQ(cache_.Find(key), "");
  EXPECT_TRUE(lines_.empty());
}

TEST_F(DiskCacheTest, NoticesEveryDamage) {
  const CacheKey key("kernel", {"a"});
  cache_.Keep(key, "label", "the content");
  const std::string whole = ReadBytes(PathOf(key));
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      WriteBytes(PathOf(key), damaged);
      ASSERT_FALSE(cache_.Find(key)) << "byte " << i << ", bit " << bit;
      ASSERT_FALSE(fs::exists(PathOf(key)));
    }
    WriteBytes(PathOf(key), whole.substr(0, i));
    ASSERT_FALSE(cache_.Find(key)) << "cut at " << i;
  }
  WriteBytes(PathOf(key), whole + "x");
  EXPECT_FALSE(cache_.Find(key));
  WriteBytes(PathOf(key), whole);
  EXPECT_EQ(cache_.Find(key), "the content");
}

// A file that has the name of another key.
TEST_F(DiskCacheTest, NeverServesTheContentOfAnotherKey) {
  const CacheKey mine("kernel", {"mine"});
  const CacheKey other("kernel", {"other"});
  cache_.Keep(mine, "", "mine");
  fs::rename(PathOf(mine), PathOf(other));
  EXPECT_FALSE(cache_.Find(other));
}

TEST_F(DiskCacheTest, RemovesWhatWasNotUsedForTheLongestTime) {
  std::vector<CacheKey> keys;
  for (int i = 0; i < 4; ++i) {
    keys.emplace_back("kernel", std::initializer_list<std::string_view>{std::to_string(i)});
    cache_.Keep(keys.back(), "", std::string(1000, 'x'));
    SetAge(PathOf(keys.back()), 100 - i);
  }
  const uint64_t size = fs::file_size(PathOf(keys[0]));
  ASSERT_TRUE(cache_.Find(keys[0]));  // now it is the newest
  const auto pruned = cache_.Prune(2 * size + 1);
  ASSERT_TRUE(pruned.ok());
  EXPECT_EQ(pruned->entries, 2U);
  EXPECT_EQ(pruned->bytes, 2 * size);
  EXPECT_TRUE(cache_.Find(keys[0]));
  EXPECT_TRUE(cache_.Find(keys[3]));
  EXPECT_FALSE(cache_.Find(keys[1]));
  EXPECT_FALSE(cache_.Find(keys[2]));
}

TEST_F(DiskCacheTest, StaysBelowItsLimit) {
  DiskCache small({folder_, 20'000});
  const auto bytes = [&] {
    uint64_t sum = 0;
    const auto entries = small.List();
    for (const CacheEntry& entry : *entries) sum += entry.bytes;
    return sum;
  };
  for (int i = 0; i < 100; ++i) {
    small.Keep(CacheKey("kernel", {std::to_string(i)}), "", std::string(900, 'x'));
    ASSERT_LE(bytes(), 20'000U + 20'000U / 16 + 1'000U);
  }
  EXPECT_GE(bytes(), 15'000U);
  small.Keep(CacheKey("kernel", {"large"}), "", std::string(20'001, 'x'));
  EXPECT_FALSE(small.Find(CacheKey("kernel", {"large"})));
  EXPECT_GE(bytes(), 15'000U);
}

TEST_F(DiskCacheTest, RemovesLeftOversButNoStrangers) {
  const CacheKey key("kernel", {"a"});
  cache_.Keep(key, "", "content");
  const fs::path folder = cache_.settings().folder;
  const fs::path old = PathOf(key).string() + ".tmp-1-2";
  const fs::path young = PathOf(key).string() + ".tmp-1-3";
  WriteBytes(old, "half");
  WriteBytes(young, "half");
  WriteBytes(folder / "notes.txt", "mine");
  SetAge(old, 0);
  ASSERT_TRUE(cache_.Prune(kDefaultCacheLimit).ok());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  ASSERT_TRUE(cache_.Prune(0).ok());
  EXPECT_FALSE(fs::exists(young));
  EXPECT_FALSE(fs::exists(PathOf(key)));
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
}

TEST_F(DiskCacheTest, WarnsOnceOfAFolderThatCannotBeUsed) {
  fs::create_directories(folder_);
  WriteBytes(folder_ + "/file", "");
  DiskCache cache({folder_ + "/file/folder", kDefaultCacheLimit});
  const CacheKey key("kernel", {"a"});
  for (int i = 0; i < 3; ++i) {
    cache.Keep(key, "", "content");
    EXPECT_FALSE(cache.Find(key));
  }
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("compiled code is not kept: cannot write"), std::string::npos)
      << lines_[0];
}

// As a full disk: the write fails in the middle, and by a signal that would end the process.
TEST_F(DiskCacheTest, WarnsOnceOfAFullDisk) {
  const CacheKey small("kernel", {"small"});
  cache_.Keep(small, "", "content");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{5000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  for (int i = 0; i < 3; ++i) {
    cache_.Keep(CacheKey("kernel", {"large", std::to_string(i)}), "", std::string(10'000, 'x'));
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_EQ(cache_.Find(small), "content");
  const auto entries = cache_.List();
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries->size(), 1U);
}

// ---- compiled kernels ----------------------------------------------------------------------

constexpr char kText[] = R"(kernel k(%p: ptr<i32>, %n: i32)
  const F: int
  warps 1
{
  %g = view %p : global<i32>[32]
  %s = alloc.global zeroed : i32 [%n * 2 + 1, 8] column_major
  %t = fill F : i32 [32]
  assert %n > 3, "too few"
  print "t", %t
  store %g[0], %t
}
)";

class CompiledCode : public DiskCacheTest {
 protected:
  void SetUp() override { SetCacheSettings(cache_.settings()); }
  static std::shared_ptr<const Code> Make(const char* factor,
                                          const compiler::CompileOptions& options = {}) {
    CodeCache::Get().Clear();
    const harness::Made made =
        harness::MakeProgram(SourceFile("cached.tsa", kText), "k", {{"F", factor}});
    EXPECT_TRUE(made.program) << made.error;
    if (!made.program) return nullptr;
    const Program& program = *made.program;
    auto code = Code::Make(program, compiler::Target::kSm80, options);
    EXPECT_TRUE(code.ok());
    return code.ok() ? *code : nullptr;
  }
  [[nodiscard]] size_t Entries() const {
    const auto entries = cache_.List();
    return entries.ok() ? entries->size() : 0;
  }
};

TEST_F(CompiledCode, IsMadeOnce) {
  const compiler::CompiledKernel a = Make("7")->kernel();  // a copy: code in use is not read again
  EXPECT_FALSE(a.steps.empty());
  EXPECT_EQ(Entries(), 1U);
  const auto again = Make("7");
  ASSERT_NE(again, nullptr);
  EXPECT_TRUE(again->kernel().steps.empty());  // no step was done
  const compiler::CompiledKernel& b = again->kernel();
  EXPECT_EQ(a.ptx, b.ptx);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.parameter_bytes, b.parameter_bytes);
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  ASSERT_EQ(b.records.size(), 2U);
  EXPECT_EQ(b.records[0].text, "too few");
  EXPECT_EQ(b.records[1].shape, std::vector<int64_t>{32});
  ASSERT_EQ(b.workspace.size(), 1U);
  const std::array<uint64_t, 2> scalars = {0, 5};  // [11, 8] of 4 bytes
  TileSize::Shape shape;
  ASSERT_TRUE(b.workspace[0].size.ShapeOf(scalars.data(), &shape));
  EXPECT_EQ(b.workspace[0].size.BytesOf(shape).value(), 11U * 8 * 4);
  EXPECT_TRUE(b.workspace[0].zeroed);
}

TEST_F(CompiledCode, DependsOnConstantsAndOptions) {
  const std::string seven = Make("7")->kernel().ptx;
  EXPECT_NE(Make("8")->kernel().ptx, seven);
  compiler::CompileOptions options;
  options.line_info = false;
  EXPECT_NE(Make("7", options)->kernel().ptx, seven);
  options = {};
  options.without = {"coalesce"};
  Make("7", options);
  EXPECT_EQ(Entries(), 4U);
  options = {};
  options.keep_llvm_ir = true;
  EXPECT_FALSE(Make("7", options)->kernel().llvm_ir.empty());
  EXPECT_EQ(Entries(), 4U);
}

// A right checksum around wrong bytes, as by a fault of the writer.
TEST_F(CompiledCode, IsMadeAgainIfItCannotBeRead) {
  const std::string wanted = Make("7")->kernel().ptx;
  const fs::path path = fs::directory_iterator(cache_.settings().folder)->path();
  const std::string whole = ReadBytes(path);
  for (size_t at = 0; at < whole.size(); at += 13) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] + 1);
    WriteBytes(path, damaged);
    ASSERT_EQ(Make("7")->kernel().ptx, wanted);
    ASSERT_EQ(ReadBytes(path), whole);
    at += at > 400 ? 997 : 0;
  }
}

}  // namespace
}  // namespace disk_cache_test
