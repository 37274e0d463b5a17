// Runs the examples of docs/layouts.md: blocks fenced by ```tarsia-layout hold lines
// `$ tarsia layout EXPR [options]`, each followed by what it prints. With TARSIA_UPDATE set, the
// page is rewritten instead; read the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "layout/eval.h"
#include "layout/render.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia {
namespace {

using testing::Ints;

// The words of a command line; single quotes keep blanks.
std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> out;
  bool quoted = false, open = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
      if (!open) out.emplace_back();
      open = true;
    } else if (c == ' ' && !quoted) {
      open = false;
    } else {
      if (!open) out.emplace_back();
      open = true;
      out.back() += c;
    }
  }
  return out;
}

Ints Numbers(const std::string& text) {
  Ints out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) out.push_back(std::stoll(part));
  return out;
}

std::string Joined(const Ints& numbers) {
  std::string out;
  for (const int64_t n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return out + "\n";
}

using Options = std::map<std::string, std::string>;

std::string RunRegister(const RegLayout& layout, Options& options) {
  if (options.count("--at") != 0) {
    std::string out;
    for (const Holder& holder : layout.Locate(Numbers(options["--at"]))) {
      out += Joined({holder.thread, holder.slot});
    }
    return out;
  }
  if (options.count("--of") != 0) {
    const Ints place = Numbers(options["--of"]);
    Ints index(layout.shape().size());
    layout.Element(place[0], place[1], index);
    return Joined(index);
  }
  if (options.count("--json") != 0) return RenderJson(layout) + "\n";
  return *RenderText(layout);
}

std::string RunMemory(const MemLayoutFamily& family, Options& options) {
  const DType type = options.count("--dtype") != 0 ? *FindDType(options["--dtype"]) : kF16;
  const Ints shape =
      options.count("--shape") != 0 ? Numbers(options["--shape"]) : family.concrete.shape();
  const auto layout = Apply(family, shape, type);
  if (!layout.ok()) return layout.error().message + "\n";
  if (options.count("--at") != 0) {
    const uint64_t at = layout->BitAddress(Numbers(options["--at"]), type.bits, 0);
    return "byte " + std::to_string(at / 8) + ", bit " + std::to_string(at % 8) + "\n";
  }
  if (options.count("--tile") != 0) {
    return *RenderAccesses(testing::Reg(options["--tile"]), *layout, type.bits);
  }
  return *RenderText(*layout, type.bits);
}

// What the command prints.
std::string Output(const std::string& line) {
  const std::vector<std::string> words = Words(line);  // $ tarsia layout EXPR ...
  if (words.size() < 4 || words[1] != "tarsia" || words[2] != "layout") return "no such command\n";
  Options options;
  for (size_t i = 4; i < words.size(); ++i) {
    const bool flag = words[i] == "--json" || i + 1 == words.size();
    options[words[i]] = flag ? "" : words[i + 1];
    i += flag ? 0 : 1;
  }
  const Result<EvalValue> value = EvaluateText(words[3]);
  if (!value.ok()) return Render(value.error(), SourceFile("<layout>", words[3]));
  if (const auto* layout = std::get_if<RegLayout>(&*value)) return RunRegister(*layout, options);
  if (const auto* family = std::get_if<MemLayoutFamily>(&*value)) {
    return RunMemory(*family, options);
  }
  return ToString(*value) + "\n";
}

TEST(DocsTest, EveryExampleOfTheLayoutPagePrintsWhatItSays) {
  const std::string path = std::string(TARSIA_SOURCE_DIR) + "/docs/layouts.md";
  std::ifstream in(path);
  ASSERT_TRUE(in.good()) << path;
  std::string page, command, expected;
  int examples = 0;
  const auto finish = [&] {
    if (command.empty()) return;
    ++examples;
    const std::string found = Output(command);
    EXPECT_EQ(found, expected) << command;
    page += command + "\n" + found;
    command.clear();
    expected.clear();
  };
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (inside && line == "```") {
      finish();
      inside = false;
    }
    if (inside && line.starts_with("$ ")) {
      finish();
      command = line;
    } else if (inside) {
      expected += line + "\n";
    } else {
      page += line + "\n";
      inside = line == "```tarsia-layout";
    }
  }
  EXPECT_FALSE(inside) << "a block is not closed";
  EXPECT_GE(examples, 20);
  if (std::getenv("TARSIA_UPDATE") != nullptr) std::ofstream(path) << page;
}

}  // namespace
}  // namespace tarsia
