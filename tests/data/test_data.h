// Where tests find the files of the repository. Only test_data.cc knows absolute paths, so that the
// compiler's cache serves other clones.
#ifndef TARSIA_TESTS_DATA_TEST_DATA_H_
#define TARSIA_TESTS_DATA_TEST_DATA_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia {

// A file or folder of the repository, by its path from the root. In programs that are carried
// elsewhere it lies below the folder in which they are started.
std::filesystem::path TestData(std::string_view path);
// What the build makes for tests, by its path from the build folder.
std::filesystem::path MadeTestData(std::string_view path);

// The bytes of a file. Throws std::runtime_error, which names it, if it cannot be read.
std::string ReadTestFile(const std::filesystem::path& path);
// The names of a folder's files that end so, sorted.
std::vector<std::string> NamesIn(const std::filesystem::path& folder, std::string_view ending);

}  // namespace tarsia

#endif  // TARSIA_TESTS_DATA_TEST_DATA_H_
