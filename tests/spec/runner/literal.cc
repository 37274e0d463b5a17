#include "tests/spec/runner/literal.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "tests/harness/codec.h"

namespace tarsia::spec {
namespace {

using harness::Shape;

constexpr int64_t kMaxElements = 1 << 20;
constexpr int kMaxRank = 16;

class Reader {
 public:
  Reader(std::string_view text, std::string& error) : text_(text), error_(error) {}

  std::optional<Literal> Read() {
    SkipBlanks();
    if (Peek() == '[') return ReadWholeList();
    if (std::isalpha(static_cast<unsigned char>(Peek())) != 0) {
      const size_t start = at_;
      const std::string name = Word();
      if (Peek() == '(') return ReadCall(name);
      at_ = start;
    }
    Literal out;
    const auto number = ReadNumber();
    if (!number) return std::nullopt;
    out.numbers.push_back(*number);
    return out;
  }

  [[nodiscard]] size_t at() const { return at_; }

 private:
  std::nullopt_t Fail(const std::string& what) {
    if (error_.empty()) {
      error_ = what + " at `" + std::string(text_.substr(std::min(at_, text_.size()), 20)) + "`";
    }
    return std::nullopt;
  }

  [[nodiscard]] char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() {
    while (Peek() == ' ' || Peek() == '\t' || Peek() == '\n') ++at_;
  }
  bool Take(char c) {
    SkipBlanks();
    if (Peek() != c) return false;
    ++at_;
    SkipBlanks();
    return true;
  }
  // Letters, digits, and the signs and points of numbers.
  std::string Word() {
    const size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(Peek())) != 0 || Peek() == '.' ||
           Peek() == '_' || Peek() == '-' || Peek() == '+') {
      ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
  }

  std::optional<Number> ReadNumber() {
    SkipBlanks();
    Number out;
    if (Take('(')) {
      out.text = Word();
      if (!Take(',')) return Fail("expected `,` between the parts of a complex number");
      out.imaginary = Word();
      if (!Take(')')) return Fail("expected `)`");
      if (!ToDouble({out.imaginary, ""})) return Fail("expected an imaginary part");
    } else {
      out.text = Word();
    }
    if (!ToDouble(out)) return Fail("expected a number, got `" + out.text + "`");
    return out;
  }

  std::optional<Literal> ReadWholeList() {
    Literal out;
    if (!ReadList(out, 0)) return std::nullopt;
    return out;
  }

  // Depth 0 is the outermost dimension. The first list of each depth sets its extent.
  bool ReadList(Literal& out, size_t depth) {
    if (depth >= kMaxRank) return Fail("lists nested too deep"), false;
    if (!Take('[')) return Fail("expected `[`"), false;
    const bool first = out.shape.size() <= depth;
    if (first) out.shape.push_back(0);
    int64_t count = 0;
    while (!Take(']')) {
      if (count > 0 && !Take(',')) return Fail("expected `,` or `]`"), false;
      SkipBlanks();
      if (Peek() == '[') {
        if (leaf_depth_ && *leaf_depth_ <= depth + 1) return Fail("a list among numbers"), false;
        if (!ReadList(out, depth + 1)) return false;
      } else {
        if (leaf_depth_.value_or(depth + 1) != depth + 1)
          return Fail("a number among lists"), false;
        leaf_depth_ = depth + 1;
        const auto number = ReadNumber();
        if (!number) return false;
        out.numbers.push_back(*number);
      }
      ++count;
    }
    if (!first && out.shape[depth] != count) return Fail("rows of different length before"), false;
    out.shape[depth] = count;
    return true;
  }

  std::optional<Literal> ReadCall(const std::string& name) {
    if (!Take('(')) return Fail("expected `(`");
    if (name == "bytes") return ReadBytes();
    Number fill{"0", ""};
    if (name == "full") {
      const auto number = ReadNumber();
      if (!number) return std::nullopt;
      fill = *number;
      if (!Take(',')) return Fail("expected `,`");
    } else if (name != "iota" && name != "zeros") {
      return Fail("`" + name + "` is none of iota, zeros, full, bytes; before the end");
    }
    Literal out;
    do {
      const std::string extent = Word();
      char* end = nullptr;
      out.shape.push_back(std::strtoll(extent.c_str(), &end, 10));
      if (extent.empty() || *end != '\0' || out.shape.back() < 0) return Fail("expected an extent");
    } while (Take(','));
    if (!Take(')')) return Fail("expected `)`");
    const int64_t count = harness::Elements(out.shape);
    if (count > kMaxElements) return Fail("too many elements");
    for (int64_t k = 0; k < count; ++k) {
      out.numbers.push_back(name == "iota" ? Number{std::to_string(k), ""} : fill);
    }
    return out;
  }

  std::optional<Literal> ReadBytes() {
    if (!Take('"')) return Fail("expected `\"`");
    Literal out;
    out.raw = true;
    const std::string digits = Word();
    if (digits.size() % 2 != 0) return Fail("expected two digits a byte");
    for (size_t i = 0; i < digits.size(); i += 2) {
      char* end = nullptr;
      const std::string pair = digits.substr(i, 2);
      out.bytes.push_back(static_cast<uint8_t>(std::strtoul(pair.c_str(), &end, 16)));
      if (*end != '\0') return Fail("expected hexadecimal digits");
    }
    if (!Take('"') || !Take(')')) return Fail("expected `\")`");
    out.shape = {static_cast<int64_t>(out.bytes.size())};
    return out;
  }

  std::string_view text_;
  std::string& error_;
  size_t at_ = 0;
  std::optional<size_t> leaf_depth_;
};

std::optional<double> ToDouble(const std::string& text) {
  if (text == "true") return 1;
  if (text == "false") return 0;
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0') return std::nullopt;
  return value;
}

// Sign and magnitude of a number without point, exponent or name.
std::optional<std::pair<bool, uint64_t>> AsInteger(const std::string& text) {
  const bool negative = text.starts_with('-');
  const std::string digits = text.substr(negative ? 1 : 0);
  const bool hex = digits.starts_with("0x");
  if (digits.empty()) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const uint64_t magnitude = std::strtoull(digits.c_str(), &end, hex ? 16 : 10);
  if (*end != '\0' || errno != 0) return std::nullopt;
  return std::pair(negative, magnitude);
}

std::optional<uint64_t> RealCode(DType type, const std::string& text) {
  if (const auto integer = AsInteger(text); integer && type.IsInteger()) {
    return harness::EncodeInteger(type, integer->first, integer->second);
  }
  const auto value = ToDouble(text);
  return value ? harness::EncodeExact(type, *value) : std::nullopt;
}

}  // namespace

std::optional<Literal> ReadLiteral(std::string_view& text, std::string& error) {
  Reader reader(text, error);
  std::optional<Literal> out = reader.Read();
  text.remove_prefix(std::min(reader.at(), text.size()));
  return out;
}

std::optional<uint64_t> ExactCode(DType type, const Number& number, std::string& error) {
  std::optional<uint64_t> code;
  if (type.IsComplex()) {
    const DType part = ComponentOf(type);
    const auto real = RealCode(part, number.text);
    const auto imaginary = RealCode(part, number.imaginary.empty() ? "0" : number.imaginary);
    if (real && imaginary) code = *real | *imaginary << part.bits;
  } else if (number.imaginary.empty()) {
    code = RealCode(type, number.text);
  }
  if (!code) error = std::string(DTypeName(type)) + " does not hold " + number.text + " exactly";
  return code;
}

std::optional<double> ToDouble(const Number& number) { return ToDouble(number.text); }

}  // namespace tarsia::spec
