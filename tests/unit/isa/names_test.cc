// The help for names of other languages.
#include "isa/names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "isa/instruction.h"

namespace tarsia::names_test {
namespace {

TEST(OtherNames, AreNoMnemonicsAndStandOnce) {
  std::set<std::string_view> names;
  for (const OtherName& other : OtherNames()) {
    EXPECT_FALSE(FindMnemonic(other.name)) << other.name;
    EXPECT_TRUE(names.insert(other.name).second) << other.name;
  }
  EXPECT_GT(names.size(), 50u);
}

// Text in backquotes begins with an instruction of the table.
TEST(OtherNames, AdviseWhatIsThere) {
  for (const OtherName& other : OtherNames()) {
    std::string_view rest = other.help;
    for (size_t open = rest.find('`'); open != std::string_view::npos; open = rest.find('`')) {
      rest.remove_prefix(open + 1);
      const std::string_view code = rest.substr(0, rest.find('`'));
      rest.remove_prefix(code.size() + 1);
      const std::string_view word = code.substr(0, code.find(' '));
      EXPECT_TRUE(word == "else" || FindMnemonic(word)) << other.name << ": " << word;
    }
  }
}

TEST(OtherNames, AreFound) {
  EXPECT_EQ(HelpForOtherName("where"), "`select %condition, %a, %b` chooses element by element");
  EXPECT_EQ(HelpForOtherName("select"), "");
}

}  // namespace
}  // namespace tarsia::names_test
