// Reads a spec file (tests/spec/README.md): a program whose `//:` lines are directives, into cases
// for the harness.
#ifndef TARSIA_TESTS_SPEC_RUNNER_SPEC_FILE_H_
#define TARSIA_TESTS_SPEC_RUNNER_SPEC_FILE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"
#include "tests/harness/case.h"

namespace tarsia::spec {

struct Directive {
  int line = 0;
  std::string keyword;  // set, arg, in, ..
  std::string rest;     // the rest, with the lines that continue it
};

struct SpecCase {
  int line = 0;
  std::string title;
  std::vector<Directive> directives;  // those for all cases first
};

struct SpecFile {
  std::string folder;    // "tests/spec", for messages
  std::string name;      // "atomic.add.tsa"
  std::string mnemonic;  // "atomic.add"
  SourceFile source;
  std::vector<SpecCase> cases;
  std::vector<std::string> errors;  // of the directives, with file and line
};

SpecFile ParseSpecFile(std::string name, std::string text, std::string folder = "tests/spec");

// The case for the harness, whose types and shapes come from the kernel's views. Empty, with an
// error with file and line, if the directives are not valid.
std::optional<harness::Case> MakeCase(const SpecFile& file, const SpecCase& spec,
                                      std::string& error);

}  // namespace tarsia::spec

#endif  // TARSIA_TESTS_SPEC_RUNNER_SPEC_FILE_H_
