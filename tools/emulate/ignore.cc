#include "tools/emulate/ignore.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "dtypes/convert.h"
#include "runtime/files/file.h"
#include "support/text.h"
#include "tools/diagnostics.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

constexpr std::string_view kKinds[] = {
#define PTX_FINDING(constant, name) name,
#include "ptx/table/findings.def"
#undef PTX_FINDING
};

struct Problem {
  std::string message;
  std::string help;
};

// Parses KIND or KIND@FILE:LINE; returns the problem, if there is one.
std::optional<Problem> Parse(std::string_view text, Suppression* out) {
  const size_t at = std::min(text.find('@'), text.size());
  out->kind = text.substr(0, at);
  if (std::ranges::find(kKinds, out->kind) == std::end(kKinds)) {
    std::string help = DidYouMean(out->kind, kKinds);
    if (help.empty()) help = fmt::format("there is {}", fmt::join(kKinds, ", "));
    return Problem{"there is no such finding", help};
  }
  if (at == text.size()) return std::nullopt;
  const std::string_view place = text.substr(at + 1);
  const size_t colon = place.rfind(':');
  const auto line = colon == std::string_view::npos
                        ? std::nullopt
                        : ParseValue(*FindDType("u32"), place.substr(colon + 1));
  if (!line || *line == 0 || colon == 0) {
    return Problem{"no place such as kernel.cu:12", "it is KIND or KIND@FILE:LINE"};
  }
  out->file = place.substr(0, colon);
  out->line = static_cast<uint32_t>(*line);
  return std::nullopt;
}

// Whether `end` is a whole path, or its end after a slash.
bool IsEndOf(std::string_view end, std::string_view path) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
}

bool Matches(const Suppression& suppression, const ptx::Module& module,
             const ptx::Finding& finding) {
  if (suppression.kind != ptx::NameOf(finding.kind)) return false;
  if (suppression.file.empty()) return true;
  if (suppression.line == finding.location.line && IsEndOf(suppression.file, module.source_name)) {
    return true;
  }
  for (uint32_t at = finding.loc; at != 0; at = module.lines[at].caller) {
    const ptx::SourceLoc& loc = module.lines[at];
    if (loc.line == suppression.line && IsEndOf(suppression.file, module.FileName(loc.file))) {
      return true;
    }
  }
  return false;
}

}  // namespace

int Suppressions::Add(const std::vector<std::string>& ignored, const Command& command) {
  for (const std::string& text : ignored) {
    Suppression& suppression = list_.emplace_back();
    suppression.text = "--ignore " + text;
    const auto problem = Parse(text, &suppression);
    if (problem) return command.Misuse(suppression.text + ": " + problem->message, problem->help);
  }
  return kDone;
}

int Suppressions::AddFile(const std::string& path) {
  auto text = ReadFile(path);
  if (!text.ok()) {
    PrintError(text.error());
    return kRejected;
  }
  const SourceFile source(DisplayName(path), *std::move(text));
  const auto lines = static_cast<uint32_t>(1 + std::ranges::count(source.text(), '\n'));
  int code = kDone;
  for (uint32_t line = 1; line <= lines; ++line) {
    const std::string_view whole = source.Line(line);
    const std::string_view entry = Trimmed(whole.substr(0, whole.find('#')));
    if (entry.empty()) continue;
    Suppression suppression;
    suppression.text = fmt::format("{}:{}: {}", source.name(), line, entry);
    if (const auto problem = Parse(entry, &suppression)) {
      const auto column = static_cast<uint32_t>(entry.data() - whole.data() + 1);
      Diagnostic error =
          MakeDiagnostic(diag::kBadSuppression, {line, column, static_cast<uint32_t>(entry.size())},
                         entry, problem->message);
      error.help = problem->help;
      PrintError(error, source);
      code = kRejected;
      continue;
    }
    list_.push_back(std::move(suppression));
  }
  return code;
}

void Suppressions::Apply(const ptx::Module& module, ptx::LaunchReport* report) {
  std::erase_if(report->findings, [&](const ptx::Finding& finding) {
    bool drop = false;
    for (Suppression& suppression : list_) {
      if (!Matches(suppression, module, finding)) continue;
      ++suppression.used;
      drop = true;
      break;
    }
    return drop;
  });
}

void Suppressions::NoteUnused() const {
  for (const Suppression& suppression : list_) {
    if (suppression.used != 0) continue;
    PrintNote(suppression.text + " has suppressed nothing");
  }
}

uint64_t Suppressions::dropped() const {
  uint64_t dropped = 0;
  for (const Suppression& suppression : list_) dropped += suppression.used;
  return dropped;
}

}  // namespace tarsia::tools
