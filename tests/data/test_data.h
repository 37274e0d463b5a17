// The paths of the repository's files for tests. Only test_data.cc has absolute paths, so that
// other clones share the compiler's cache.
#ifndef TARSIA_TESTS_DATA_TEST_DATA_H_
#define TARSIA_TESTS_DATA_TEST_DATA_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia {

// A file or folder of the repository, by its path from the root. In programs that are copied to
// other machines the root is the current folder.
std::filesystem::path TestData(std::string_view path);
// A generated file for tests, by its path from the build folder.
std::filesystem::path MadeTestData(std::string_view path);

// The bytes of a file. Throws std::runtime_error, which names it, if it cannot be read.
std::string ReadTestFile(const std::filesystem::path& path);
// The names of a folder's files with this ending, sorted.
std::vector<std::string> NamesIn(const std::filesystem::path& folder, std::string_view ending);

}  // namespace tarsia

#endif  // TARSIA_TESTS_DATA_TEST_DATA_H_
