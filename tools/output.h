// Output of the subcommands: errors on standard error, results on standard output, JSON.
#ifndef TARSIA_TOOLS_OUTPUT_H_
#define TARSIA_TOOLS_OUTPUT_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "support/diagnostic.h"
#include "support/json.h"
#include "tarsia/tarsia.h"

namespace tarsia::tools {

// Whether standard error is a terminal and NO_COLOR is not set.
bool IsColorTerminal();
// What messages of this process begin with besides `tarsia`: "rank 2", where there are several.
void NameProcess(std::string name);
// `tarsia: error: message`, and a line of help if there is one.
void PrintError(std::string_view message, std::string_view help = "");
void PrintWarning(std::string_view message);
void PrintNote(std::string_view message);
// Prints an error of the library, which may have a place in a file.
void PrintError(const Diagnostic& error, const SourceFile& source);
inline void PrintError(const Diagnostic& error) { PrintError(error.message, error.help); }
void PrintDiagnostics(const tarsia_diagnostics* diagnostics);
// Prints a result on standard output: unchanged, except that a terminal receives no control
// characters.
void PrintOut(std::string_view text);
// Prints lines of a message, always made printable: output of programs, names, summaries.
void PrintText(std::FILE* to, std::string_view text);
// "1.25 ms", as an amount that people read.
std::string DurationText(uint64_t nanoseconds);
// Breaks a text at blanks into lines of at most `width` bytes, `indent` blanks before each but the
// first.
std::string Wrap(std::string_view text, size_t width, size_t indent = 0);

// [{"file", "line", "column", "length", "id", "message", "help", "notes"}, ..]
void AppendDiagnostics(const tarsia_diagnostics* diagnostics, Json* json);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_OUTPUT_H_
