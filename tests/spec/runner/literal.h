// The values in directives: nested lists of numbers, and short forms for regular ones.
//
//   value  = number | list | call
//   list   = "[" [ value { "," value } ] "]"            nested as deep as the tensor has dimensions
//   number = decimal, hexadecimal, hex float, inf, -inf, nan, true, false, (re, im) if complex
//   call   = iota(extent, ..)                            0, 1, 2, .. in row-major order
//          | zeros(extent, ..) | full(number, extent, ..)
//          | bytes("00ff10")                             memory as it is
#ifndef TARSIA_TESTS_SPEC_RUNNER_LITERAL_H_
#define TARSIA_TESTS_SPEC_RUNNER_LITERAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/harness/tensor.h"

namespace tarsia::spec {

// A number as written.
struct Number {
  std::string text;       // the real part
  std::string imaginary;  // empty unless written as (re, im)
};

struct Literal {
  harness::Shape shape;
  std::vector<Number> numbers;  // row-major
  bool raw = false;
  std::vector<uint8_t> bytes;  // if raw
};

// Reads a value at the start of `text` and removes it. On failure sets `error`.
std::optional<Literal> ReadLiteral(std::string_view& text, std::string& error);

// The code of a number that the type holds exactly; otherwise empty, with an error.
std::optional<uint64_t> ExactCode(DType type, const Number& number, std::string& error);

// The number as a double, rounded; empty if it is not a number.
std::optional<double> ToDouble(const Number& number);

}  // namespace tarsia::spec

#endif  // TARSIA_TESTS_SPEC_RUNNER_LITERAL_H_
