#include "tests/spec/runner/spec_file.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "layout/text/lexer.h"
#include "tests/harness/program.h"
#include "tests/spec/runner/literal.h"

namespace tarsia::spec {
namespace {

using harness::Case;
using harness::Expectation;
using harness::PointerView;

constexpr std::array<std::string_view, 9> kKeywords = {
    "kernel", "set", "arg", "in", "inout", "out", "error", "finding", "print"};

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Removes and returns the first word.
std::string_view TakeWord(std::string_view& text) {
  text = Trim(text);
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text = Trim(text.substr(end));
  return word;
}

// The number of open brackets outside of strings: if there are any, the directive continues in the
// next line.
int OpenBrackets(std::string_view text) {
  int open = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '(') ++open;
    if (c == ']' || c == ')') --open;
  }
  return open;
}

std::string At(const SpecFile& file, int line) {
  return file.folder + "/" + file.name + ":" + std::to_string(line);
}

// ---- directives to a case ------------------------------------------------------------------

class CaseMaker {
 public:
  CaseMaker(const SpecFile& file, const SpecCase& spec, std::string& error)
      : file_(file), spec_(spec), error_(error) {}

  std::optional<Case> Make() {
    case_.title = "case `" + spec_.title + "`";
    case_.where = At(file_, spec_.line);
    case_.source = file_.source;
    for (const Directive& d : spec_.directives) {
      if (!ReadBeforeTypes(d)) return std::nullopt;
    }
    const harness::Made made = harness::MakeProgram(case_.source, case_.kernel, case_.constants);
    if (!made.program) return WithoutProgram(made.error);
    program_ = &*made.program;
    scalars_.assign(program_->kernel().params.size(), 0);
    for (const Directive& d : spec_.directives) {
      if (d.keyword == "arg" && !ReadArg(d)) return std::nullopt;
    }
    views_ = harness::TopLevelViews(*program_, scalars_);
    for (const Directive& d : spec_.directives) {
      const bool input = d.keyword == "in" || d.keyword == "inout";
      if (input && !ReadInput(d)) return std::nullopt;
      if (d.keyword == "out" && !ReadOutput(d)) return std::nullopt;
    }
    return Checked();
  }

 private:
  bool Fail(const Directive& d, const std::string& what) {
    error_ = At(file_, d.line) + ": " + what;
    return false;
  }

  // The case may expect a failing specialisation.
  std::optional<Case> WithoutProgram(const std::string& why) {
    if (!case_.error.empty()) return case_;
    error_ = case_.where + ": " + case_.title + ": " + why;
    return std::nullopt;
  }

  std::optional<Case> Checked() {
    if (case_.outputs.empty() && case_.error.empty() && case_.findings.empty() &&
        case_.lines.empty()) {
      error_ = case_.where + ": the case expects nothing";
      return std::nullopt;
    }
    for (const std::string& name : inouts_) {
      const auto same = [&](const harness::Output& output) { return output.name == name; };
      if (!case_.error.empty() || std::any_of(case_.outputs.begin(), case_.outputs.end(), same)) {
        continue;
      }
      error_ = case_.where + ": `inout " + name + "` has no `out " + name + "`";
      return std::nullopt;
    }
    return case_;
  }

  bool ReadBeforeTypes(const Directive& d) {
    if (d.keyword == "kernel") case_.kernel = d.rest;
    if (d.keyword == "set") return ReadSet(d);
    if (d.keyword == "error") return ReadString(d, case_.error);
    if (d.keyword == "finding") case_.findings.push_back(d.rest);
    if (d.keyword == "print") {
      case_.lines.emplace_back();
      return ReadString(d, case_.lines.back());
    }
    return true;
  }

  // NAME=EXPR separated by blanks; 'NAME=EXPR' if the expression has blanks.
  bool ReadSet(const Directive& d) {
    std::string_view rest = Trim(d.rest);
    while (!rest.empty()) {
      std::string_view item;
      if (rest.front() == '\'') {
        const size_t end = rest.find('\'', 1);
        if (end == std::string_view::npos) return Fail(d, "a quote is not closed");
        item = rest.substr(1, end - 1);
        rest = Trim(rest.substr(end + 1));
      } else {
        item = TakeWord(rest);
      }
      const size_t equals = item.find('=');
      if (equals == std::string_view::npos) return Fail(d, "expected NAME=EXPR");
      const std::string name(Trim(item.substr(0, equals)));
      std::erase_if(case_.constants, [&](const Binding& b) { return b.name == name; });
      case_.constants.push_back({name, std::string(Trim(item.substr(equals + 1)))});
    }
    return true;
  }

  bool ReadString(const Directive& d, std::string& out) {
    Diagnostics diagnostics;
    Lexer lexer(d.rest, &diagnostics);
    if (lexer.token() != Token::kString || !diagnostics.ok()) return Fail(d, "expected a string");
    out = lexer.StringValue();
    return out.empty() ? Fail(d, "the string is empty") : true;
  }

  // Reads and removes `NAME = `.
  bool ReadName(const Directive& d, std::string_view& rest, std::string& name) {
    rest = Trim(rest);
    const size_t end = std::min(rest.find_first_of(" \t=~"), rest.size());
    name = rest.substr(0, end);
    rest = Trim(rest.substr(end));
    return name.empty() ? Fail(d, "expected a name") : true;
  }

  bool Expect(const Directive& d, std::string_view& rest, char c) {
    if (!rest.starts_with(c)) return Fail(d, std::string("expected `") + c + "`");
    rest = Trim(rest.substr(1));
    return true;
  }

  bool ReadValue(const Directive& d, std::string_view& rest, Literal& out) {
    std::string why;
    auto literal = ReadLiteral(rest, why);
    if (!literal) return Fail(d, why);
    rest = Trim(rest);
    out = *std::move(literal);
    return true;
  }

  bool AtEnd(const Directive& d, std::string_view rest) {
    return rest.empty() ? true : Fail(d, "`" + std::string(rest) + "` is left over");
  }

  bool ReadArg(const Directive& d) {
    std::string_view rest = d.rest;
    std::string name;
    Literal value;
    if (!ReadName(d, rest, name) || !Expect(d, rest, '=') || !ReadValue(d, rest, value) ||
        !AtEnd(d, rest)) {
      return false;
    }
    const auto i = harness::FindParameter(*program_, name);
    if (!i || program_->kernel().params[*i].is_pointer || !value.shape.empty()) {
      return Fail(d, "`" + name + "` is not a scalar parameter, or its value is not a scalar");
    }
    std::string why;
    const auto code = ExactCode(program_->type(*i).dtype, value.numbers[0], why);
    if (!code) return Fail(d, why);
    scalars_[*i] = *code;
    std::erase_if(case_.scalars, [&](const harness::ScalarInput& s) { return s.name == name; });
    case_.scalars.push_back({name, *code});
    return true;
  }

  const PointerView* FindView(const std::string& name) {
    const auto parameter = harness::FindParameter(*program_, name);
    for (const PointerView& view : views_) {
      if (parameter && view.parameter == *parameter) return &view;
    }
    return nullptr;
  }

  bool CheckShape(const Directive& d, const std::string& name, const PointerView* view,
                  const Literal& literal) {
    if (view == nullptr) return Fail(d, "the kernel has no top-level view of `%" + name + "`");
    if (literal.shape == view->shape()) return true;
    return Fail(d, "`%" + name + "` is viewed as " + harness::ToText(view->shape()) + ", and " +
                       harness::ToText(literal.shape) + " is given");
  }

  bool Codes(const Directive& d, DType type, const Literal& literal, harness::Tensor& out) {
    out.type = type;
    out.shape = literal.shape;
    for (const Number& number : literal.numbers) {
      std::string why;
      const auto code = ExactCode(type, number, why);
      if (!code) return Fail(d, why);
      out.codes.push_back(*code);
    }
    return true;
  }

  bool ReadInput(const Directive& d) {
    std::string_view rest = d.rest;
    harness::Input input;
    Literal literal;
    if (!ReadName(d, rest, input.name) || !Expect(d, rest, '=') || !ReadValue(d, rest, literal) ||
        !AtEnd(d, rest)) {
      return false;
    }
    if (literal.raw) {
      input.raw = true;
      input.bytes = std::move(literal.bytes);
    } else {
      const PointerView* const view = FindView(input.name);
      if (!CheckShape(d, input.name, view, literal) ||
          !Codes(d, view->type, literal, input.value)) {
        return false;
      }
    }
    if (d.keyword == "inout") inouts_.push_back(input.name);
    std::erase_if(case_.inputs, [&](const harness::Input& i) { return i.name == input.name; });
    case_.inputs.push_back(std::move(input));
    return true;
  }

  bool ReadOutput(const Directive& d) {
    std::string_view rest = d.rest;
    harness::Output output;
    if (!ReadName(d, rest, output.name)) return false;
    const bool near = rest.starts_with('~');
    Literal literal;
    if (!Expect(d, rest, near ? '~' : '=') || !ReadValue(d, rest, literal)) return false;
    const PointerView* const view = FindView(output.name);
    if (!CheckShape(d, output.name, view, literal)) return false;
    if (near) {
      if (!ReadTolerance(d, rest, view->type, literal, output.expected)) return false;
    } else {
      harness::Tensor exact;
      if (!AtEnd(d, rest) || !Codes(d, view->type, literal, exact)) return false;
      output.expected = Expectation::Exact(std::move(exact));
    }
    std::erase_if(case_.outputs, [&](const harness::Output& o) { return o.name == output.name; });
    case_.outputs.push_back(std::move(output));
    return true;
  }

  // `ulp N` or `abs X`.
  bool ReadTolerance(const Directive& d, std::string_view rest, DType type, const Literal& literal,
                     Expectation& out) {
    const std::string kind(TakeWord(rest));
    const std::string amount(TakeWord(rest));
    char* end = nullptr;
    const double tolerance = std::strtod(amount.c_str(), &end);
    if (amount.empty() || *end != '\0' || !(tolerance >= 0)) {
      return Fail(d, "expected `ulp N` or `abs X`");
    }
    std::vector<double> values;
    for (const Number& number : literal.numbers) values.push_back(*ToDouble(number));
    const size_t count = values.size();
    if (kind == "ulp") {
      out = Expectation::WithinUlp(type, literal.shape, std::move(values), tolerance);
    } else if (kind == "abs") {
      out = Expectation::WithinBounds(type, literal.shape, std::move(values),
                                      std::vector<double>(count, tolerance));
    } else {
      return Fail(d, "expected `ulp N` or `abs X`");
    }
    if (type.IsComplex()) return Fail(d, "complex numbers are compared exactly");
    return AtEnd(d, rest);
  }

  const SpecFile& file_;
  const SpecCase& spec_;
  std::string& error_;
  Case case_;
  const Program* program_ = nullptr;
  std::vector<uint64_t> scalars_;
  std::vector<PointerView> views_;
  std::vector<std::string> inouts_;
};

}  // namespace

SpecFile ParseSpecFile(std::string name, std::string text, std::string folder) {
  SpecFile file;
  file.folder = std::move(folder);
  file.mnemonic = name.substr(0, name.rfind(".tsa"));
  file.name = std::move(name);
  std::vector<Directive> common;
  std::istringstream lines(text);
  std::string line;
  int open = 0;
  Directive* last = nullptr;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::string_view rest = Trim(line);
    if (!rest.starts_with("//:")) continue;
    rest = Trim(rest.substr(3));
    if (open > 0) {
      last->rest += "\n" + std::string(rest);
      open = OpenBrackets(last->rest);
      continue;
    }
    const std::string keyword(TakeWord(rest));
    if (keyword == "case") {
      file.cases.push_back({number, std::string(rest), common});
      continue;
    }
    if (std::find(kKeywords.begin(), kKeywords.end(), keyword) == kKeywords.end()) {
      file.errors.push_back(At(file, number) + ": no directive `" + keyword + "`");
      continue;
    }
    auto& list = file.cases.empty() ? common : file.cases.back().directives;
    list.push_back({number, keyword, std::string(rest)});
    last = &list.back();
    open = keyword == "in" || keyword == "inout" || keyword == "out" ? OpenBrackets(rest) : 0;
  }
  if (open > 0) file.errors.push_back(At(file, last->line) + ": a bracket is not closed");
  if (file.cases.empty() && !common.empty()) {
    file.cases.push_back({common[0].line, file.mnemonic, common});
  }
  file.source = SourceFile(file.folder + "/" + file.name, std::move(text));
  return file;
}

std::optional<Case> MakeCase(const SpecFile& file, const SpecCase& spec, std::string& error) {
  return CaseMaker(file, spec, error).Make();
}

}  // namespace tarsia::spec
