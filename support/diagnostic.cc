#include "support/diagnostic.h"

#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tarsia {

Diagnostic MakeDiagnosticV(const DiagInfo& info, Location location, fmt::format_args args) {
  Diagnostic out;
  out.info = &info;
  out.location = location;
  out.help = info.help;
  try {
    out.message = fmt::vformat(info.format, args);
  } catch (const fmt::format_error&) {
    out.message = info.format;
  }
  return out;
}

std::string_view SourceFile::Line(uint32_t line) const {
  std::string_view rest = text_;
  for (uint32_t i = 1; i < line; ++i) {
    const size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) return {};
    rest.remove_prefix(newline + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

namespace {

constexpr size_t kWindow = 120;  // bytes of a long line that are shown

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Appends the bytes of `text`, control bytes shown as '?', and its caret line.
void AppendLineAndCaret(std::string& out, std::string_view text, Location at, bool color) {
  size_t begin = std::min<size_t>(at.column > 0 ? at.column - 1 : 0, text.size());
  size_t end = std::min<size_t>(begin + std::max<uint32_t>(at.length, 1), text.size());
  size_t from = 0;
  if (text.size() > kWindow && begin > kWindow / 2) from = begin - kWindow / 2;
  while (from < text.size() && IsContinuation(text[from])) ++from;
  size_t to = std::min(text.size(), from + kWindow);
  while (to < text.size() && IsContinuation(text[to])) ++to;
  end = std::min(end, to);
  std::string shown, caret;
  if (from > 0) {
    shown += "...";
    caret += "   ";
  }
  for (size_t i = from; i < to; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    shown += byte == '\t' ? ' ' : (byte < 0x20 || byte == 0x7F) ? '?' : text[i];
    if (IsContinuation(text[i])) continue;
    if (i == begin) {
      caret += '^';
    } else if (i > begin && i < end) {
      caret += '~';
    } else if (i < begin) {
      caret += ' ';
    }
  }
  if (to < text.size()) shown += "...";
  if (begin >= to) caret += '^';
  out += fmt::format("  {}\n  ", shown);
  out += color ? fmt::format(fmt::fg(fmt::terminal_color::green), "{}", caret) : caret;
  out += '\n';
}

std::string Where(const SourceFile& source, Location at) {
  if (at.IsText()) return fmt::format("{}:{}:{}: ", source.name(), at.line, at.column);
  if (at.length != 0) return fmt::format("{}:@0x{:x}: ", source.name(), at.column);
  return source.name().empty() ? "" : source.name() + ": ";
}

}  // namespace

std::string Render(const Diagnostic& diagnostic, const SourceFile& source, bool color) {
  std::string out = Where(source, diagnostic.location);
  out += color ? fmt::format(fmt::fg(fmt::terminal_color::red) | fmt::emphasis::bold, "error:")
               : "error:";
  out += fmt::format(" {} [{}]\n", diagnostic.message,
                     diagnostic.info != nullptr ? diagnostic.info->id : "internal");
  if (diagnostic.location.IsText() && !source.text().empty()) {
    AppendLineAndCaret(out, source.Line(diagnostic.location.line), diagnostic.location, color);
  }
  for (const Note& note : diagnostic.notes) {
    out += fmt::format("{}note: {}\n", Where(source, note.location), note.message);
    if (note.location.IsText() && !source.text().empty()) {
      AppendLineAndCaret(out, source.Line(note.location.line), note.location, color);
    }
  }
  if (!diagnostic.help.empty()) out += fmt::format("  help: {}\n", diagnostic.help);
  return out;
}

void Diagnostics::Add(Diagnostic diagnostic) {
  ++count_;
  if (count_ <= kMaxDiagnostics) {
    list_.push_back(std::move(diagnostic));
  } else {
    overflow_ = std::move(diagnostic);
  }
}

void Diagnostics::Sort() {
  std::stable_sort(list_.begin(), list_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.location.line, a.location.column) <
           std::pair(b.location.line, b.location.column);
  });
}

std::string Diagnostics::Render(const SourceFile& source, bool color) const {
  std::string out;
  for (const Diagnostic& diagnostic : list_) out += tarsia::Render(diagnostic, source, color);
  if (count_ > list_.size()) out += fmt::format("... and {} more errors\n", count_ - list_.size());
  return out;
}

namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::array<size_t, 65> row{};
  if (a.size() > 64 || b.size() > 64) return SIZE_MAX;  // too long to be a slip
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = Nearest(name, candidates);
  return nearest.empty() ? "" : fmt::format("did you mean `{}`?", nearest);
}

}  // namespace tarsia
