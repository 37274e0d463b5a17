#include "tests/harness/joined_kernels.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/assemble/assemble.h"

namespace tarsia::harness {
namespace {

bool IsNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
         c == '%';
}

// `text` with every `name`, and `name` followed by "_param_", renamed.
std::string Renamed(const std::string& text, const std::string& name, const std::string& to) {
  std::string out;
  size_t from = 0;
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const std::string_view rest = std::string_view(text).substr(at + name.size());
    const bool begins = at == 0 || !IsNamePart(text[at - 1]);
    const bool ends = rest.empty() || !IsNamePart(rest[0]) || rest.starts_with("_param_");
    if (begins && ends) {
      out.append(text, from, at - from).append(to);
      from = at + name.size();
    }
    at += name.size();
  }
  return out.append(text, from);
}

// The names of the entry, functions and variables of a module, except the shared array.
std::set<std::string> NamesOf(const compiler::CompiledKernel& kernel) {
  std::set<std::string> names = {kernel.name};
  std::istringstream lines(kernel.ptx);
  for (std::string line; std::getline(lines, line);) {
    const bool function = line.starts_with(".func") || line.starts_with(".visible .func");
    if (!function && !line.starts_with(".global") && !line.starts_with(".const")) continue;
    // The name of a variable is followed by `[`, ` =` or `;`.
    const size_t end = function ? std::min(line.find_last_not_of("( ") + 1, line.size())
                                : line.find_last_not_of(' ', line.find_first_of("[=;") - 1) + 1;
    const size_t begin = line.rfind(' ', end - 1) + 1;
    names.insert(line.substr(begin, end - begin));
  }
  return names;
}

std::string WithoutLines(const std::string& ptx) {
  std::string out;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view text = std::string_view(line).substr(begin);
    if (text.starts_with(".loc") || text.starts_with(".file") || text.starts_with(".section")) {
      continue;
    }
    out += line + "\n";
  }
  return out;
}

std::string SuffixOf(size_t index) { return "_k" + std::to_string(index); }

}  // namespace

std::string JoinedName(const compiler::CompiledKernel& kernel, size_t index) {
  return kernel.name + SuffixOf(index);
}

std::string JoinKernels(std::span<const compiler::CompiledKernel* const> kernels) {
  std::vector<std::string> modules;
  for (const compiler::CompiledKernel* const kernel : kernels) {
    // Lines of the source are numbered by file: those of the first kernel stay.
    std::string text = modules.empty() ? kernel->ptx : WithoutLines(kernel->ptx);
    const std::string suffix = SuffixOf(modules.size());
    for (const std::string& name : NamesOf(*kernel)) text = Renamed(text, name, name + suffix);
    modules.push_back(std::move(text));
  }
  return compiler::JoinPtx(modules);
}

}  // namespace tarsia::harness
