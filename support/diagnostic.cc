#include "support/diagnostic.h"

#include <fmt/args.h>
#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/printable.h"

namespace tarsia {
namespace {

// The most bytes of a text argument in a message. Longer ones (a name of a megabyte) are cut.
constexpr size_t kMaxArgument = 400;
constexpr size_t kMaxLines = 16384;  // for the output of a tool after the message

// An argument of a message, with a text made safe to show.
struct ShownArgument {
  fmt::dynamic_format_arg_store<fmt::format_context>* out;
  bool lines;  // texts may have several

  void operator()(fmt::monostate) const {}
  // No message has an argument with its own formatter; such a message would show its format.
  void operator()(fmt::basic_format_arg<fmt::format_context>::handle) const {}
  void operator()(const char* text) const { (*this)(fmt::string_view(text)); }
  void operator()(fmt::string_view text) const {
    out->push_back(PrintableStart({text.data(), text.size()}, lines ? kMaxLines : kMaxArgument,
                                  lines ? Keep::kNewlines : Keep::kNothing));
  }
  template <typename T>
  void operator()(T value) const {
    out->push_back(value);
  }
};

// A format of several lines ends in a text that may also have several.
std::string Message(std::string_view format, fmt::format_args args) {
  const bool lines = format.find('\n') != std::string_view::npos;
  fmt::dynamic_format_arg_store<fmt::format_context> shown;
  for (int i = 0; args.get(i); ++i) {
    fmt::visit_format_arg(ShownArgument{&shown, lines}, args.get(i));
  }
  return fmt::vformat(format, shown);
}

}  // namespace

Diagnostic MakeDiagnosticV(const DiagInfo& info, Location location, fmt::format_args args) {
  Diagnostic out;
  out.info = &info;
  out.location = location;
  out.help = info.help;
  try {
    out.message = Message(info.format, args);
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

// Appends `text`, with '?' for characters that a terminal must not receive, and its caret line.
void AppendLineAndCaret(std::string& out, std::string_view text, Location at, bool color) {
  size_t begin = std::min<size_t>(at.column > 0 ? at.column - 1 : 0, text.size());
  size_t end = std::min<size_t>(begin + std::max<uint32_t>(at.length, 1), text.size());
  size_t from = 0;
  if (text.size() > kWindow && begin > kWindow / 2) from = begin - kWindow / 2;
  while (from > 0 && from < text.size() && IsContinuation(text[from])) ++from;
  size_t to = std::min(text.size(), from + kWindow);
  while (to < text.size() && IsContinuation(text[to])) ++to;
  end = std::min(end, to);
  std::string shown, caret;
  if (from > 0) {
    shown += "...";
    caret += "   ";
  }
  for (size_t i = from; i < to;) {
    const Character character = CharacterAt(text, i);
    if (character.printable) {
      shown.append(text, i, character.bytes);
    } else {
      shown += text[i] == '\t' ? ' ' : '?';
    }
    const size_t next = i + character.bytes;
    if (begin >= i && begin < next) {
      caret += '^';
    } else if (i > begin && i < end) {
      caret += '~';
    } else if (i < begin) {
      caret += ' ';
    }
    i = next;
  }
  if (to < text.size()) shown += "...";
  if (begin >= to) caret += '^';
  out += fmt::format("  {}\n  ", shown);
  out += color ? fmt::format(fmt::fg(fmt::terminal_color::green), "{}", caret) : caret;
  out += '\n';
}

std::string Where(const SourceFile& source, Location at) {
  const std::string name = Printable(source.name());
  if (at.IsText()) return fmt::format("{}:{}:{}: ", name, at.line, at.column);
  if (at.length != 0) return fmt::format("{}:@0x{:x}: ", name, at.column);
  return name.empty() ? "" : name + ": ";
}

}  // namespace

std::string Render(const Diagnostic& diagnostic, const SourceFile& source, bool color) {
  std::string out = Where(source, diagnostic.location);
  out += color ? fmt::format(fmt::fg(fmt::terminal_color::red) | fmt::emphasis::bold, "error:")
               : "error:";
  out += fmt::format(" {} [{}]\n", Printable(diagnostic.message, Keep::kNewlines),
                     diagnostic.info != nullptr ? diagnostic.info->id : "internal");
  if (diagnostic.location.IsText() && !source.text().empty()) {
    AppendLineAndCaret(out, source.Line(diagnostic.location.line), diagnostic.location, color);
  }
  for (const Note& note : diagnostic.notes) {
    out += fmt::format("{}note: {}\n", Where(source, note.location),
                       Printable(note.message, Keep::kNewlines));
    if (note.location.IsText() && !source.text().empty()) {
      AppendLineAndCaret(out, source.Line(note.location.line), note.location, color);
    }
  }
  if (!diagnostic.help.empty()) {
    out += fmt::format("  help: {}\n", Printable(diagnostic.help, Keep::kNewlines));
  }
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

// The optimal string alignment distance: letters added, left out, changed, or two exchanged.
size_t EditDistance(std::string_view a, std::string_view b) {
  constexpr size_t kMost = 64;
  if (a.size() > kMost || b.size() > kMost) return SIZE_MAX;  // too long for a typing error
  std::array<std::array<size_t, kMost + 1>, 3> rows{};        // i mod 3
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

// A name is near enough with one typing error per three letters; a short name may have one.
std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, (name.size() + 1) / 3) + 1;
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
