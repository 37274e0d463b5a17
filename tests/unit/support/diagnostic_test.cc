// Rendered diagnostics: place, message, the line, the caret, notes, help.
#include "support/diagnostic.h"

#include <gtest/gtest.h>

#include <string>

namespace tarsia::diagnostic_test {
namespace {

constexpr DiagInfo kUnknown{"unknown-name", "no `{}` among {} names", ""};
constexpr DiagInfo kHelped{"too-wide", "{} bits are too many", "use at most 8"};

TEST(Render, ShowsTheLineAndUnderlinesTheLength) {
  const SourceFile source("a.tsa", "first\nlet x = frobnicate(y)\nlast\n");
  const Diagnostic d = MakeDiagnostic(kUnknown, Location{2, 9, 10}, "frobnicate", 3);
  EXPECT_EQ(Render(d, source),
            "a.tsa:2:9: error: no `frobnicate` among 3 names [unknown-name]\n"
            "  let x = frobnicate(y)\n"
            "          ^~~~~~~~~~\n");
}

TEST(Render, ShowsTheHelpOfTheTable) {
  const SourceFile source("a.tsa", "u9");
  EXPECT_EQ(Render(MakeDiagnostic(kHelped, Location{1, 2, 1}, 9), source),
            "a.tsa:1:2: error: 9 bits are too many [too-wide]\n"
            "  u9\n"
            "   ^\n"
            "  help: use at most 8\n");
}

TEST(Render, PutsTheCaretAfterTheLineWhenTheEndIsMissing) {
  const SourceFile source("a.tsa", "let x =\n");
  EXPECT_EQ(Render(MakeDiagnostic(kHelped, Location{1, 8, 1}, 9), source),
            "a.tsa:1:8: error: 9 bits are too many [too-wide]\n"
            "  let x =\n"
            "         ^\n"
            "  help: use at most 8\n");
}

TEST(Render, CountsCharactersNotBytesUnderALineOfUtf8) {
  // "é" is two bytes: column 4 is the third character.
  const SourceFile source("a.tsa", "\xC3\xA9+xy");
  EXPECT_EQ(Render(MakeDiagnostic(kHelped, Location{1, 4, 2}, 9), source),
            "a.tsa:1:4: error: 9 bits are too many [too-wide]\n"
            "  \xC3\xA9+xy\n"
            "    ^~\n"
            "  help: use at most 8\n");
}

TEST(Render, HidesControlBytesAndKeepsColumnsUnderTabs) {
  const SourceFile source("a.tsa", "\t\x1b[31mx\r\n");
  EXPECT_EQ(Render(MakeDiagnostic(kHelped, Location{1, 7, 1}, 9), source),
            "a.tsa:1:7: error: 9 bits are too many [too-wide]\n"
            "   ?[31mx\n"
            "        ^\n"
            "  help: use at most 8\n");
}

TEST(Render, ShortensALongLineAroundTheCaret) {
  const SourceFile source("a.tsa", std::string(500, 'a') + "X" + std::string(500, 'b'));
  EXPECT_EQ(Render(MakeDiagnostic(kUnknown, Location{1, 501, 1}, "X", 0), source),
            "a.tsa:1:501: error: no `X` among 0 names [unknown-name]\n"
            "  ..." +
                std::string(60, 'a') + "X" + std::string(59, 'b') + "...\n" + "     " +
                std::string(60, ' ') + "^\n");
}

TEST(Render, GivesTheOffsetOfABinaryInput) {
  const SourceFile source("a.tsb", "");
  EXPECT_EQ(Render(MakeDiagnostic(kHelped, Location::AtByte(0x1f), 9), source),
            "a.tsb:@0x1f: error: 9 bits are too many [too-wide]\n  help: use at most 8\n");
}

TEST(Render, NamesOnlyTheInputWithoutAPlace) {
  const SourceFile source("x.npy", "");
  EXPECT_EQ(Render(MakeDiagnostic(kUnknown, Location{}, "a", 0), source),
            "x.npy: error: no `a` among 0 names [unknown-name]\n");
}

TEST(Render, ShowsNotesWithTheirOwnLines) {
  const SourceFile source("a.tsa", "one\ntwo\n");
  Diagnostic d = MakeDiagnostic(kUnknown, Location{2, 1, 3}, "two", 1);
  d.notes.push_back({Location{1, 1, 3}, "first defined here"});
  EXPECT_EQ(Render(d, source),
            "a.tsa:2:1: error: no `two` among 1 names [unknown-name]\n"
            "  two\n"
            "  ^~~\n"
            "a.tsa:1:1: note: first defined here\n"
            "  one\n"
            "  ^~~\n");
}

TEST(Render, ColoursOnlyWhenAsked) {
  const SourceFile source("a.tsa", "x");
  const Diagnostic d = MakeDiagnostic(kUnknown, Location{1, 1, 1}, "x", 1);
  EXPECT_EQ(Render(d, source).find('\x1b'), std::string::npos);
  EXPECT_NE(Render(d, source, true).find('\x1b'), std::string::npos);
}

TEST(MakeDiagnostic, SurvivesARowWithTooManyPlaces) {
  constexpr DiagInfo kBad{"bad-row", "{} {}", ""};
  EXPECT_EQ(MakeDiagnostic(kBad, Location{}, 1).message, "{} {}");
}

TEST(SourceFile, FindsLines) {
  const SourceFile source("a", "one\r\n\nthree");
  EXPECT_EQ(source.Line(1), "one");
  EXPECT_EQ(source.Line(2), "");
  EXPECT_EQ(source.Line(3), "three");
  EXPECT_EQ(source.Line(4), "");
}

TEST(Location, ClampsAnOffsetThatDoesNotFit) {
  EXPECT_EQ(Location::AtByte(uint64_t{1} << 40).column, UINT32_MAX);
  EXPECT_FALSE(Location::AtByte(3).IsText());
}

TEST(Diagnostics, SortsByPlaceAndKeepsTheOrderOfEquals) {
  Diagnostics all;
  EXPECT_TRUE(all.ok());
  all.Error(kUnknown, Location{2, 1, 1}, "c", 0);
  all.Error(kUnknown, Location{1, 9, 1}, "a", 0);
  all.Error(kUnknown, Location{1, 9, 1}, "b", 0);
  all.Error(kUnknown, Location{1, 2, 1}, "d", 0);
  all.Sort();
  std::string order;
  for (const Diagnostic& d : all.list()) order += d.message.substr(4, 1);
  EXPECT_EQ(order, "dabc");
  EXPECT_FALSE(all.ok());
}

TEST(Diagnostics, KeepsAHundredAndCountsTheRest) {
  Diagnostics all;
  for (uint32_t i = 0; i < 103; ++i) all.Error(kHelped, Location{i + 1, 1, 1}, i).help = "";
  EXPECT_EQ(all.list().size(), 100u);
  EXPECT_EQ(all.count(), 103u);
  const std::string text = all.Render(SourceFile("a.tsa", ""));
  EXPECT_TRUE(text.ends_with("... and 3 more errors\n")) << text;
  EXPECT_EQ(text.find("100 bits"), std::string::npos);
  EXPECT_NE(text.find("99 bits"), std::string::npos);
}

}  // namespace
}  // namespace tarsia::diagnostic_test
