// Runs a fuzz target once over each file of the folders named, without libFuzzer, so that every
// build keeps what the fuzzers once found. Options (-runs=...) are ignored, as libFuzzer's own.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void Replay(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') continue;
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
    } else {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) Replay(file);
    count += files.size();
  }
  std::printf("%zu inputs\n", count);
  return count == 0 ? 1 : 0;
}
