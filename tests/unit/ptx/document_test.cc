// docs/emulator.md names every mnemonic of the table and no other.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "vm/ptx/table.h"

namespace tarsia::ptx {
namespace {

TEST(Document, NamesEveryInstruction) {
  std::ifstream file(TARSIA_EMULATOR_PAGE);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const size_t begin = page.find("<!-- table:begin");
  const size_t end = page.find("<!-- table:end");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string table = page.substr(page.find('\n', begin), end - page.find('\n', begin));
  const std::regex name("`([a-z0-9]+)`");
  std::set<std::string> named;
  for (std::sregex_iterator at(table.begin(), table.end(), name), none; at != none; ++at) {
    named.insert((*at)[1]);
  }
  std::set<std::string> known;
  for (const std::string_view mnemonic : Mnemonics()) known.emplace(mnemonic);
  EXPECT_EQ(named, known);
}

}  // namespace
}  // namespace tarsia::ptx
