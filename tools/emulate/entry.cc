#include "tools/emulate/entry.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"
#include "tools/command.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

struct Entry {
  const ptx::Function* function;
  std::string demangled;
};

// "add<float>" of "void ns::add<float>(float*)": without result, namespaces and parameters.
std::string_view PlainName(std::string_view demangled) {
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < demangled.size(); ++i) {
    const char c = demangled[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == '(' && !demangled.substr(i).starts_with("(anonymous")) {
      return demangled.substr(begin, i - begin);
    }
    if (c == ' ' || c == ':') begin = i + 1;
  }
  return demangled.substr(begin);
}

std::string ListText(const std::vector<const Entry*>& entries) {
  constexpr size_t kShown = 12;
  std::string text;
  for (size_t i = 0; i < std::min(entries.size(), kShown); ++i) {
    const Entry& entry = *entries[i];
    text += fmt::format("{}{}", i == 0 ? "" : ", ", entry.function->name);
    if (entry.demangled != entry.function->name) text += fmt::format(" ({})", entry.demangled);
  }
  if (entries.size() > kShown) text += fmt::format(" and {} more", entries.size() - kShown);
  return text;
}

// The entries that match a name best: the whole PTX name, the whole C++ name, or a part.
std::vector<const Entry*> Matching(const std::vector<Entry>& entries, std::string_view wanted) {
  using Fits = bool (*)(const Entry&, std::string_view);
  constexpr Fits kFits[] = {
      [](const Entry& entry, std::string_view name) { return entry.function->name == name; },
      [](const Entry& entry, std::string_view name) { return entry.demangled == name; },
      [](const Entry& entry, std::string_view name) { return PlainName(entry.demangled) == name; },
      [](const Entry& entry, std::string_view name) {
        const std::string_view plain = PlainName(entry.demangled);
        return plain.substr(0, plain.find('<')) == name;
      },
      [](const Entry& entry, std::string_view name) {
        return entry.function->name.find(name) != std::string::npos ||
               entry.demangled.find(name) != std::string::npos;
      },
  };
  std::vector<const Entry*> found;
  for (const Fits fits : kFits) {
    for (const Entry& entry : entries) {
      if (fits(entry, wanted)) found.push_back(&entry);
    }
    if (!found.empty()) break;
  }
  return found;
}

int Fail(int code, const std::string& message, const std::string& help) {
  PrintError(message, help);
  return code;
}

}  // namespace

std::string Demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

int ChooseEntry(const ptx::Module& module, const std::string& wanted, const ptx::Function** out) {
  std::vector<Entry> entries;
  std::vector<const Entry*> all;
  for (const ptx::Function& function : module.functions) {
    if (function.entry) entries.push_back({&function, Demangled(function.name)});
  }
  for (const Entry& entry : entries) all.push_back(&entry);
  const std::string& file = module.source_name;
  if (entries.empty()) return Fail(kRejected, file + " has no entry", "");
  const auto found = wanted.empty() ? all : Matching(entries, wanted);
  if (found.size() == 1) {
    *out = found.front()->function;
    return kDone;
  }
  if (wanted.empty()) {
    return Fail(kUsage, file + " has several entries; say which with --entry",
                "it has " + ListText(all));
  }
  if (!found.empty()) {
    return Fail(kUsage, fmt::format("{} has several entries of the name `{}`", file, wanted),
                "they are " + ListText(found));
  }
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) names.push_back(entry.function->name);
  std::string help = DidYouMean(wanted, names);
  if (help.empty()) help = "it has " + ListText(all);
  return Fail(kUsage, fmt::format("{} has no entry `{}`", file, wanted), help);
}

}  // namespace tarsia::tools
