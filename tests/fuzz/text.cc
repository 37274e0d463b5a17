// Fuzzes parser, printer, formatter and validator: any text causes errors or makes a module that
// survives every form.
#include "tests/fuzz/module_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tarsia;
  const SourceFile source("fuzz.tsa", std::string(reinterpret_cast<const char*>(data), size));
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  Ensure(module.has_value() == diagnostics.ok(), "parsing fails exactly when it says so");
  static_cast<void>(diagnostics.Render(source));
  if (!module) return 0;
  const auto once = Format(source, diagnostics);
  Ensure(once.has_value(), "what can be parsed can be formatted");
  const auto twice = Format(SourceFile("formatted", *once), diagnostics);
  Ensure(twice.has_value() && *twice == *once, "formatting twice changes nothing more");
  CheckModule(*std::move(module), source);
  return 0;
}
