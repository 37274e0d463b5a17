#include "tests/random/differ.h"

#include <cctype>
#include <cstring>
#include <functional>
#include <sstream>
#include <vector>

#include "dtypes/bits.h"
#include "tests/harness/codec.h"
#include "tests/harness/emulator_witness.h"
#include "tests/harness/interpreter_witness.h"
#include "tests/harness/program.h"
#include "tests/random/arguments.h"

namespace tarsia {
namespace {

// Refusals because of the size of a program, not of its contents.
constexpr const char* kMayRefuse[] = {"[too-many-slots]", "[shared-plan]", "[dot-too-wide]"};

uint64_t CodeAt(const std::vector<uint8_t>& bytes, DType type, size_t i) {
  uint64_t code = 0;
  UnpackBits(bytes.data(), i * type.bits, type.bits, 1, &code);
  return code & CodeMask(type);
}

// Whether two codes are the same value: all NaNs are equal.
bool Same(DType type, uint64_t a, uint64_t b) {
  if (!type.IsComplex()) return a == b || (harness::IsNan(type, a) && harness::IsNan(type, b));
  const DType part = ComponentOf(type);
  const uint64_t mask = CodeMask(part);
  return Same(part, a & mask, b & mask) && Same(part, a >> part.bits, b >> part.bits);
}

// "" if two buffers hold the same values.
std::string Difference(const RandomArgument& argument, const std::vector<uint8_t>& expected,
                       const std::vector<uint8_t>& got) {
  if (expected == got) return "";
  const DType type = argument.dtype;
  for (size_t i = 0; i < expected.size() * 8 / type.bits; ++i) {
    const uint64_t want = CodeAt(expected, type, i);
    const uint64_t have = CodeAt(got, type, i);
    if (Same(type, want, have)) continue;
    return "%" + argument.name + " at " + std::to_string(i) + ": the interpreter has " +
           harness::Show(type, want) + ", the compiled kernel " + harness::Show(type, have);
  }
  return "";
}

std::string Lines(const harness::Outcome& outcome) {
  std::string out;
  for (const std::string& line : outcome.lines) out += line + "\n";
  return out;
}

Judgement Different(const std::string& text) { return {Agreement::kDifferent, text}; }

Judgement CompareWith(const Program& program, const SourceFile& source, const RandomKernel& kernel,
                      uint64_t seed, const HowCompiled& how) {
  const RandomArguments plain(program, kernel, seed);
  const RandomArguments compiled(program, kernel, seed);
  const harness::Outcome want =
      harness::InterpreterWitness(false).Run(program, source, plain.arguments());
  const harness::Outcome got =
      harness::EmulatorWitness(how.target, how.without).Run(program, source, compiled.arguments());
  for (const char* id : kMayRefuse) {
    if (got.error.find(id) != std::string::npos) return {Agreement::kRefused, got.error};
  }
  if (!got.fault.empty()) return Different(got.fault);
  if (want.error != got.error) {
    return Different("the interpreter says: " + want.error + "\nthe compiled kernel: " + got.error);
  }
  if (!want.error.empty()) return {};
  if (kernel.blocks == 1 && Lines(want) != Lines(got)) {
    return Different("the interpreter prints\n" + Lines(want) + "the compiled kernel\n" +
                     Lines(got));
  }
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const std::string text = Difference(kernel.arguments[i], plain.Bytes(i), compiled.Bytes(i));
    if (!text.empty()) return Different(text);
  }
  return {};
}

// ---- shrinking ---------------------------------------------------------------------------------

using Keeps = std::function<bool(const std::vector<std::string>&)>;

std::string Join(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

// The lines of one kernel.
std::vector<std::string> KernelLines(const std::string& text, const std::string& name) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("kernel ")) inside = line.starts_with("kernel " + name + "(");
    if (inside) out.push_back(line);
  }
  return out;
}

// Removes runs of lines, long ones first. Returns whether any were removed.
bool DropLines(std::vector<std::string>& lines, const Keeps& keeps) {
  bool any = false;
  for (size_t length = lines.size() / 2; length > 0; length /= 2) {
    for (size_t at = 1; at + length <= lines.size();) {
      std::vector<std::string> fewer = lines;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                  fewer.begin() + static_cast<std::ptrdiff_t>(at + length));
      if (keeps(fewer)) {
        lines = std::move(fewer);
        any = true;
      } else {
        ++at;
      }
    }
  }
  return any;
}

// Shrinks every number of the text at all its places: equal numbers are often one extent.
void ShrinkNumbers(std::vector<std::string>& lines, const Keeps& keeps) {
  for (const char* const from : {"32", "16", "8", "7", "5", "4", "3", "2"}) {
    for (const char* const to : {"1", "2"}) {
      std::vector<std::string> smaller = lines;
      for (std::string& line : smaller) {
        for (size_t at = line.find(from); at != std::string::npos; at = line.find(from, at + 1)) {
          const auto part = [&](size_t i) {
            return i < line.size() && (std::isalnum(static_cast<unsigned char>(line[i])) != 0 ||
                                       line[i] == '_' || line[i] == '.');
          };
          if ((at > 0 && part(at - 1)) || part(at + std::strlen(from))) continue;
          line.replace(at, std::strlen(from), to);
        }
      }
      if (smaller != lines && keeps(smaller)) lines = std::move(smaller);
    }
  }
}

}  // namespace

Judgement Compare(const std::string& text, const RandomKernel& kernel, uint64_t seed,
                  const HowCompiled& how) {
  const SourceFile source("random.tsa", text);
  const harness::Made made = harness::MakeProgram(source, kernel.name, {});
  if (!made.program) return {Agreement::kNoMeaning, made.error};
  return CompareWith(*made.program, source, kernel, seed, how);
}

std::string Shrink(const std::string& text, const RandomKernel& kernel, uint64_t seed,
                   const HowCompiled& how) {
  const Keeps keeps = [&](const std::vector<std::string>& lines) {
    const SourceFile source("random.tsa", Join(lines));
    const harness::Made made = harness::MakeProgram(source, kernel.name, {});
    if (!made.program) return false;
    // The remaining program must still have one meaning.
    const RandomArguments arguments(*made.program, kernel, seed);
    const harness::Outcome checked =
        harness::InterpreterWitness(true).Run(*made.program, source, arguments.arguments());
    if (!checked.findings.empty()) return false;
    return CompareWith(*made.program, source, kernel, seed, how).agreement == Agreement::kDifferent;
  };
  std::vector<std::string> lines = KernelLines(text, kernel.name);
  if (!keeps(lines)) return text;
  while (DropLines(lines, keeps)) {
  }
  ShrinkNumbers(lines, keeps);
  while (DropLines(lines, keeps)) {
  }
  return Join(lines);
}

}  // namespace tarsia
