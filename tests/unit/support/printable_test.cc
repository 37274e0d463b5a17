// Text that is safe for a terminal. The expected texts are written by hand.
#include "support/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "support/diagnostic.h"

namespace tarsia::printable_test {
namespace {

using namespace std::string_literals;

TEST(Printable, LeavesTextAlone) {
  for (const std::string text : {"", "a b", "é 中 😀 ß", "`%x` <f16> \\n"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(Printable, WritesOutWhatATerminalObeys) {
  EXPECT_EQ(Printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(Printable("a\0b\x7f\r\n\t"s), "a\\x00b\\x7f\\x0d\\x0a\\x09");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J"),
            "\\u009b2J");  // the control sequence introducer of C1
}

TEST(Printable, WritesOutMarksOfDirection) {
  EXPECT_EQ(Printable("a\u202eb\u2066c\u2069\u200f\u061c"),
            "a\\u202eb\\u2066c\\u2069\\u200f\\u061c");
  EXPECT_EQ(Printable("\u2028\u2029\ufeff"), "\\u2028\\u2029\\ufeff");
  EXPECT_EQ(Printable("\u2027\u202f\u2065"), "\u2027\u202f\u2065");  // their neighbours
}

TEST(Printable, WritesOutBytesThatAreNoUtf8) {
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");  // not the shortest form
  EXPECT_EQ(Printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(Printable("\xe4\xb8"), "\\xe4\\xb8");                    // it ends too early
}

TEST(Printable, KeepsTheWhiteSpaceAskedFor) {
  EXPECT_EQ(Printable("a\tb\nc", Keep::kTabs), "a\tb\\x0ac");
  EXPECT_EQ(Printable("a\tb\nc\r", Keep::kNewlines), "a\tb\nc\\x0d");
}

TEST(Printable, CutsWhatIsLong) {
  EXPECT_EQ(PrintableStart("abcdef", 6), "abcdef");
  EXPECT_EQ(PrintableStart("abcdefg", 6), "abcdef... (7 bytes)");
  EXPECT_EQ(PrintableStart("abcdé", 5), "abcd... (6 bytes)");  // no half a character
}

TEST(NoText, IsNotInATextOfUtf8) {
  EXPECT_FALSE(FindNoText("a \t\r\n\f\v é 中 \u202e"));
  EXPECT_FALSE(FindNoText(""));
}

TEST(NoText, IsFoundWithItsPlace) {
  const auto expect = [](const std::string& text, size_t at, Location location, const char* what) {
    const auto found = FindNoText(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->at, at);
    EXPECT_EQ(found->location, location);
    EXPECT_EQ(found->what, what);
  };
  expect("ab\0c"s, 2, {1, 3, 1}, "the control character 0x00");
  expect("a\nbc\n\x1b", 5, {3, 1, 1}, "the control character 0x1b");
  expect("é\xff", 2, {1, 3, 1}, "the byte 0xff");
  expect("\xc2\x85", 0, {1, 1, 1}, "the control character 0x85");  // of C1
}

constexpr DiagInfo kRow{"some-id", "`{}` is {} of {}", ""};
constexpr DiagInfo kTool{"some-tool", "{} said:\n{}", ""};

TEST(Messages, MakeTheirArgumentsPrintable) {
  const std::string name = "\x1b[2J\nx";
  EXPECT_EQ(MakeDiagnostic(kRow, Location(), name, 3, "a\u202e").message,
            "`\\x1b[2J\\x0ax` is 3 of a\\u202e");
  const std::string megabyte(1 << 20, 'n');
  const std::string message = MakeDiagnostic(kRow, Location(), megabyte, 1, "x").message;
  EXPECT_LT(message.size(), 500u);
  EXPECT_NE(message.find("... (1048576 bytes)` is 1 of x"), std::string::npos) << message;
}

TEST(Messages, KeepTheLinesOfWhatAToolSaid) {
  EXPECT_EQ(MakeDiagnostic(kTool, Location(), "ptxas", "a\nb\x1b").message,
            "ptxas said:\na\nb\\x1b");
}

TEST(Messages, ShowNamesAndLinesAsText) {
  Diagnostic error = MakeDiagnostic(kRow, Location{1, 4, 1}, "x", 1, "y");
  error.help = "\x07 bell";
  error.notes.push_back({{}, "from \u202e"});
  const SourceFile source("evil\x1b]0;name\x07.tsa", "ab\u202e@\x1b");
  EXPECT_EQ(Render(error, source),
            "evil\\x1b]0;name\\x07.tsa:1:4: error: `x` is 1 of y [some-id]\n"
            "  ab?@?\n"
            "    ^\n"
            "evil\\x1b]0;name\\x07.tsa: note: from \\u202e\n"
            "  help: \\x07 bell\n");
}

}  // namespace
}  // namespace tarsia::printable_test
