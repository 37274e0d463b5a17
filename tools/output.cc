#include "tools/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "support/environment.h"
#include "support/printable.h"
#include "tools/handles.h"

namespace tarsia::tools {

bool IsColorTerminal() {
  static const bool result = isatty(STDERR_FILENO) == 1 && Environment("NO_COLOR").empty();
  return result;
}

namespace {

std::string& ProcessName() {
  static std::string name;
  return name;
}

void PrintLabelled(std::string_view label, const char* color, std::string_view message) {
  const std::string shown = Printable(message, Keep::kNewlines);
  const std::string& who = ProcessName();
  if (IsColorTerminal()) {
    fmt::print(stderr, "tarsia{}: {}{}:\x1b[0m {}\n", who, color, label, shown);
  } else {
    fmt::print(stderr, "tarsia{}: {}: {}\n", who, label, shown);
  }
}

}  // namespace

void NameProcess(std::string name) { ProcessName() = fmt::format(" ({})", std::move(name)); }

void PrintError(std::string_view message, std::string_view help) {
  PrintLabelled("error", "\x1b[1;31m", message);
  if (!help.empty()) fmt::print(stderr, "  help: {}\n", Printable(help, Keep::kNewlines));
}

void PrintWarning(std::string_view message) { PrintLabelled("warning", "\x1b[1;35m", message); }

void PrintNote(std::string_view message) { PrintLabelled("note", "\x1b[1;36m", message); }

void PrintError(const Diagnostic& error, const SourceFile& source) {
  const std::string text = Render(error, source, IsColorTerminal());
  std::fwrite(text.data(), 1, text.size(), stderr);
}

namespace {

// Whether a constant lacks its value; the command then prints its own help.
bool LacksConstants(const tarsia_diagnostics* diagnostics) {
  for (size_t i = 0; i < tarsia_diagnostics_count(diagnostics); ++i) {
    auto diagnostic = Sized<tarsia_diagnostic>();
    if (tarsia_diagnostics_get(diagnostics, i, &diagnostic) != TARSIA_STATUS_OK) continue;
    if (diagnostic.id == std::string_view("unbound-constant")) return true;
  }
  return false;
}

}  // namespace

void PrintDiagnostics(const tarsia_diagnostics* diagnostics) {
  tarsia_blob* text = nullptr;
  if (tarsia_diagnostics_render(diagnostics, IsColorTerminal(), &text) != TARSIA_STATUS_OK) return;
  const Handle<tarsia_blob> owned(text);
  std::fwrite(tarsia_blob_data(text), 1, tarsia_blob_size(text), stderr);
  if (LacksConstants(diagnostics)) {
    fmt::print(stderr, "tarsia: constants get their values with --set NAME=VALUE\n");
  }
}

void PrintOut(std::string_view text) {
  static const bool terminal = isatty(STDOUT_FILENO) == 1;
  if (terminal) {
    PrintText(stdout, text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

std::string DurationText(uint64_t nanoseconds) {
  const auto ns = static_cast<double>(nanoseconds);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

void PrintText(std::FILE* to, std::string_view text) {
  const std::string shown = Printable(text, Keep::kNewlines);
  std::fwrite(shown.data(), 1, shown.size(), to);
}

std::string Wrap(std::string_view text, size_t width, size_t indent) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column != 0 && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = 0;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

// ---- diagnostics as JSON -------------------------------------------------------------------

namespace {

void AppendNotes(const tarsia_diagnostics* diagnostics, size_t index, size_t count, Json* json) {
  json->Key("notes").Begin('[');
  for (size_t i = 0; i < count; ++i) {
    tarsia_note note = {};
    note.size = sizeof note;
    if (tarsia_diagnostics_note(diagnostics, index, i, &note) != TARSIA_STATUS_OK) continue;
    json->Begin('{').Key("line").Number(note.line).Key("column").Number(note.column);
    json->Key("message").String(note.message).End('}');
  }
  json->End(']');
}

}  // namespace

void AppendDiagnostics(const tarsia_diagnostics* diagnostics, Json* json) {
  json->Begin('[');
  for (size_t i = 0; i < tarsia_diagnostics_count(diagnostics); ++i) {
    tarsia_diagnostic one = {};
    one.size = sizeof one;
    if (tarsia_diagnostics_get(diagnostics, i, &one) != TARSIA_STATUS_OK) continue;
    json->Begin('{').Key("file").String(one.file).Key("line").Number(one.line);
    json->Key("column").Number(one.column).Key("length").Number(one.length);
    if (one.line == 0 && one.length != 0) {
      json->Key("offset").Number(static_cast<int64_t>(one.offset));
    }
    json->Key("id").String(one.id).Key("message").String(one.message);
    json->Key("help").String(one.help);
    AppendNotes(diagnostics, i, one.note_count, json);
    json->End('}');
  }
  json->End(']');
}

}  // namespace tarsia::tools
