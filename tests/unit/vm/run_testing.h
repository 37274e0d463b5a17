// Runs small programs for the tests of the interpreter: text in, buffers in and out.
#ifndef TARSIA_TESTS_UNIT_VM_RUN_TESTING_H_
#define TARSIA_TESTS_UNIT_VM_RUN_TESTING_H_

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/validate.h"
#include "vm/interpreter.h"

namespace tarsia::vm {

// A program from text with one kernel `k`; fails the test with the diagnostics if there is none.
inline std::optional<Program> Compile(std::string_view text,
                                      const std::vector<Binding>& bindings = {}) {
  const SourceFile source("test.tsa", std::string(text));
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  std::optional<ValidModule> valid;
  if (module) valid = Validate(std::move(*module), diagnostics);
  std::optional<Program> program;
  if (valid) program = Specialise(*valid, "k", bindings, TargetLimits(), diagnostics);
  if (!program) ADD_FAILURE() << diagnostics.Render(source);
  return program;
}

// Arguments by parameter, in order.
class Args {
 public:
  template <typename T>
  Args& In(const std::vector<T>& data) {
    args_.push_back(launch::Buffer{const_cast<T*>(data.data()), data.size() * sizeof(T), false});
    return *this;
  }
  template <typename T>
  Args& Out(std::vector<T>& data) {
    args_.push_back(launch::Buffer{data.data(), data.size() * sizeof(T), true});
    return *this;
  }
  Args& I32(int32_t value) {
    args_.push_back(launch::ScalarValue{kI32, static_cast<uint32_t>(value)});
    return *this;
  }
  Args& Scalar(DType type, uint64_t code) {
    args_.push_back(launch::ScalarValue{type, code});
    return *this;
  }
  [[nodiscard]] const std::vector<launch::Argument>& get() const { return args_; }

 private:
  std::vector<launch::Argument> args_;
};

inline Result<LaunchReport> RunText(std::string_view text, const Args& args,
                                    const LaunchOptions& options = {},
                                    const std::vector<Binding>& bindings = {}) {
  const std::optional<Program> program = Compile(text, bindings);
  if (!program) {
    static constexpr DiagInfo kNoProgram{"no-program", "the test's program is not valid", ""};
    return MakeDiagnostic(kNoProgram, Location());
  }
  return Launch(*program, args.get(), options);
}

// Runs and expects success.
inline LaunchReport RunOk(std::string_view text, const Args& args,
                          const LaunchOptions& options = {},
                          const std::vector<Binding>& bindings = {}) {
  Result<LaunchReport> report = RunText(text, args, options, bindings);
  if (!report.ok()) {
    ADD_FAILURE() << report.error().message << " [" << report.error().info->id << "]";
    return {};
  }
  return *report;
}

// The id of the error, or "" if there is none.
inline std::string ErrorId(std::string_view text, const Args& args,
                           const LaunchOptions& options = {}) {
  const Result<LaunchReport> report = RunText(text, args, options);
  return report.ok() ? "" : report.error().info->id;
}

// The ids of the findings of --check, by place, separated by blanks.
inline std::string Findings(std::string_view text, const Args& args) {
  LaunchOptions options;
  options.check = true;
  std::string out;
  for (const launch::Finding& finding : RunOk(text, args, options).findings) {
    if (!out.empty()) out += ' ';
    out += finding.diagnostic.info->id;
    out += '@';
    out += std::to_string(finding.diagnostic.location.line);
  }
  return out;
}

}  // namespace tarsia::vm

#endif  // TARSIA_TESTS_UNIT_VM_RUN_TESTING_H_
