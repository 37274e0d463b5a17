// Diagnostics: an id from a table, a place, a message, and help. Every folder has its own table
// (`<folder>/diagnostics.def`), of the form
//   DIAG(kName, "kebab-id", "message with {} per argument", "what would help, or empty")
// and declares its rows in `<folder>/diagnostics.h` (see the end of this file).
#ifndef TARSIA_SUPPORT_DIAGNOSTIC_H_
#define TARSIA_SUPPORT_DIAGNOSTIC_H_

#include <fmt/core.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarsia {

// A row of a diagnostics table. Rows are compared by address.
struct DiagInfo {
  const char* id;      // kebab-case, stable, printed in brackets
  const char* format;  // fmt format string, one {} per argument
  const char* help;    // what would help, or ""
};

// A place in an input. Text: line and column count from 1 (columns in bytes), `length` bytes are
// underlined. Binary: line is 0 and `column` is the byte offset. No place: all zero, `length` 0.
struct Location {
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 0;

  friend bool operator==(const Location&, const Location&) = default;
  [[nodiscard]] bool IsText() const { return line != 0; }
  [[nodiscard]] static Location AtByte(uint64_t offset) {
    return {0, static_cast<uint32_t>(offset < UINT32_MAX ? offset : UINT32_MAX), 1};
  }
};

struct Note {
  Location location;
  std::string message;
};

struct Diagnostic {
  const DiagInfo* info = nullptr;
  Location location;
  std::string message;
  std::string help;  // the table's help unless replaced, e.g. by the nearest known name
  std::vector<Note> notes;
};

// Makes a diagnostic from a row and its arguments; texts are made printable, long ones cut. A row
// that does not fit the arguments shows its format.
Diagnostic MakeDiagnosticV(const DiagInfo& info, Location location, fmt::format_args args);

template <typename... Args>
Diagnostic MakeDiagnostic(const DiagInfo& info, Location location, const Args&... args) {
  return MakeDiagnosticV(info, location, fmt::make_format_args(args...));
}

// A named input, for showing the line a diagnostic points at. Owns a copy of the text.
class SourceFile {
 public:
  SourceFile() = default;
  SourceFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  // The text of a line (from 1) without its newline; empty past the end.
  [[nodiscard]] std::string_view Line(uint32_t line) const;

 private:
  std::string name_;
  std::string text_;
};

// `file:line:col: error: message [id]`, the line, a caret line, notes, help. Ends in a newline.
// `color` adds ANSI colours. Long lines are shortened around the caret; all text is made printable.
std::string Render(const Diagnostic& diagnostic, const SourceFile& source, bool color = false);

// Collects independent errors; after `kMaxDiagnostics`, further ones are counted but not kept.
class Diagnostics {
 public:
  static constexpr size_t kMaxDiagnostics = 100;

  void Add(Diagnostic diagnostic);
  template <typename... Args>
  Diagnostic& Error(const DiagInfo& info, Location location, const Args&... args) {
    Add(MakeDiagnostic(info, location, args...));
    return last();
  }
  [[nodiscard]] bool ok() const { return count_ == 0; }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] const std::vector<Diagnostic>& list() const { return list_; }
  // The diagnostic added last (a spare one past the limit), to add notes or replace the help.
  Diagnostic& last() { return count_ <= kMaxDiagnostics ? list_.back() : overflow_; }
  // Sorts by place; keeps the order of equals.
  void Sort();
  [[nodiscard]] std::string Render(const SourceFile& source, bool color = false) const;

 private:
  std::vector<Diagnostic> list_;
  Diagnostic overflow_;
  size_t count_ = 0;
};

// The candidate nearest to `name` by edit distance, or "" when none is near enough to suggest.
std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates);
// "did you mean `x`?" for the nearest candidate, or "".
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace tarsia

// In `<folder>/diagnostics.h`, inside namespace tarsia::diag:
//   #define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
//   #include "<folder>/diagnostics.def"
//   #undef DIAG

#endif  // TARSIA_SUPPORT_DIAGNOSTIC_H_
