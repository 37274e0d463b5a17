#include "tests/data/test_data.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tarsia {

namespace fs = std::filesystem;

fs::path TestData(std::string_view path) { return fs::path(TARSIA_TEST_DATA) / path; }

fs::path MadeTestData(std::string_view path) { return fs::path(TARSIA_TEST_MADE_DATA) / path; }

std::string ReadTestFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

std::vector<std::string> NamesIn(const fs::path& folder, std::string_view ending) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(ending)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace tarsia
