// The folder of machine code: kept results are found again, damaged ones are not.
#include "compiler/assemble/cubin_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tarsia::compiler::cubin_cache_test {
namespace {

namespace fs = std::filesystem;

class CubinCacheTest : public testing::Test {
 protected:
  CubinCacheTest() : folder_(testing::TempDir() + "cubins_" + std::to_string(getpid())) {
    setenv("TARSIA_CUBIN_CACHE", (folder_ + "/made/on/demand").c_str(), 1);
  }
  ~CubinCacheTest() override {
    unsetenv("TARSIA_CUBIN_CACHE");
    fs::remove_all(folder_);
  }

  // The only file.
  fs::path File() const {
    const fs::recursive_directory_iterator all(folder_);
    for (const auto& entry : all) {
      if (entry.is_regular_file()) return entry.path();
    }
    return {};
  }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static bool Found(const CubinCache& cache) {
    std::string cubin;
    std::string log;
    return cache.Find(cubin, log);
  }

  std::string folder_;
};

TEST_F(CubinCacheTest, GivesBackWhatWasKept) {
  const CubinCache cache("ptx", "sm_80", "ptxas 1");
  EXPECT_FALSE(Found(cache));
  cache.Keep(std::string("cu\0bin", 6), "a log");
  std::string cubin;
  std::string log;
  ASSERT_TRUE(cache.Find(cubin, log));
  EXPECT_EQ(cubin, std::string("cu\0bin", 6));
  EXPECT_EQ(log, "a log");
}

TEST_F(CubinCacheTest, KeepsEachSourceTargetAndAssemblerApart) {
  CubinCache("ptx", "sm_80", "ptxas 1").Keep("cubin", "log");
  EXPECT_FALSE(Found(CubinCache("ptx2", "sm_80", "ptxas 1")));
  EXPECT_FALSE(Found(CubinCache("ptx", "sm_89", "ptxas 1")));
  EXPECT_FALSE(Found(CubinCache("ptx", "sm_80", "ptxas 2")));
  EXPECT_TRUE(Found(CubinCache("ptx", "sm_80", "ptxas 1")));
}

TEST_F(CubinCacheTest, NoticesEveryChangedByteAndEveryLength) {
  const CubinCache cache("ptx", "sm_80", "ptxas 1");
  cache.Keep("cubin", "log");
  const std::string whole = Read(File());
  ASSERT_GT(whole.size(), 32u);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    Write(File(), damaged);
    EXPECT_FALSE(Found(cache)) << "byte " << i;
    Write(File(), whole.substr(0, i));
    EXPECT_FALSE(Found(cache)) << "cut after " << i;
  }
  Write(File(), whole + "x");
  EXPECT_FALSE(Found(cache));
}

TEST_F(CubinCacheTest, PutsTheNextResultInPlaceOfADamagedOne) {
  const CubinCache cache("ptx", "sm_80", "ptxas 1");
  cache.Keep("cubin", "log");
  Write(File(), "garbage");
  ASSERT_FALSE(Found(cache));
  cache.Keep("cubin", "log");
  EXPECT_TRUE(Found(cache));
}

TEST_F(CubinCacheTest, LeavesNoTemporaryFile) {
  const CubinCache cache("ptx", "sm_80", "ptxas 1");
  cache.Keep("cubin", "log");
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 1u);
}

TEST_F(CubinCacheTest, KeepsNothingWithoutTheVariable) {
  unsetenv("TARSIA_CUBIN_CACHE");
  const CubinCache cache("ptx", "sm_80", "ptxas 1");
  cache.Keep("cubin", "log");
  EXPECT_FALSE(Found(cache));
}

}  // namespace
}  // namespace tarsia::compiler::cubin_cache_test
