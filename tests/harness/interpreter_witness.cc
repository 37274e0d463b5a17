// The interpreter as a witness, plain and with `--check`.
#include "tests/harness/interpreter_witness.h"

#include "dtypes/simd.h"
#include "vm/interpreter.h"

namespace tarsia::harness {
namespace {

// More than any case needs; stops endless loops.
constexpr uint64_t kInterpreterLimit = 50'000'000;

}  // namespace

Outcome InterpreterWitness::Run(const Program& program, const SourceFile& source,
                                std::span<const Argument> arguments) const {
  Outcome out;
  if (const Status simd = CheckSimd(); !simd.ok()) {
    out.error = simd.error().message;
    return out;
  }
  vm::LaunchOptions options;
  options.check = check_;
  options.max_instructions = kInterpreterLimit;
  options.print = [&out](std::string_view line) { out.lines.emplace_back(line); };
  const auto report = vm::Launch(program, arguments, options);
  if (!report.ok()) {
    out.error = Render(report.error(), source);
    return out;
  }
  for (const launch::Finding& finding : report->findings) {
    out.findings.push_back({finding.diagnostic.info->id, Render(finding.diagnostic, source)});
  }
  return out;
}

}  // namespace tarsia::harness
