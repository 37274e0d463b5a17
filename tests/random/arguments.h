// The arguments of a random kernel: small scalars, and buffers of random bytes.
#ifndef TARSIA_TESTS_RANDOM_ARGUMENTS_H_
#define TARSIA_TESTS_RANDOM_ARGUMENTS_H_

#include <cstdint>
#include <vector>

#include "isa/program.h"
#include "tests/harness/witness.h"
#include "tests/random/random_module.h"

namespace tarsia {

// Equal seeds make equal arguments. Buffers have the largest alignment that a program may assume.
class RandomArguments {
 public:
  RandomArguments(const Program& program, const RandomKernel& kernel, uint64_t seed);
  RandomArguments(const RandomArguments&) = delete;
  RandomArguments& operator=(const RandomArguments&) = delete;

  [[nodiscard]] const std::vector<launch::Argument>& arguments() const { return arguments_; }
  // The contents of a parameter's buffer; empty for scalars.
  [[nodiscard]] std::vector<uint8_t> Bytes(size_t parameter) const;
  [[nodiscard]] std::vector<std::vector<uint8_t>> AllBytes() const;

 private:
  std::vector<std::vector<uint8_t>> rooms_;
  std::vector<launch::Argument> arguments_;
};

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_ARGUMENTS_H_
