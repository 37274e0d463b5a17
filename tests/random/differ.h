// Compares compiled kernels with the interpreter on random programs, and shrinks a program that
// shows a difference.
#ifndef TARSIA_TESTS_RANDOM_DIFFER_H_
#define TARSIA_TESTS_RANDOM_DIFFER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "tests/random/random_module.h"

namespace tarsia {

enum class Agreement : uint8_t {
  kSame,
  kRefused,    // the compiler refuses it, which is allowed
  kDifferent,  // another result, a fault of the code, or an invalid refusal
  kNoMeaning,  // the text is not a program, or not one with a single meaning
};

struct Judgement {
  Agreement agreement = Agreement::kSame;
  std::string text;  // the message for kDifferent and kRefused
};

// How a program is compiled.
struct HowCompiled {
  compiler::Target target{};
  std::vector<std::string> without;  // passes to leave out
};

// Compares one kernel of a text, with the arguments of the seed.
Judgement Compare(const std::string& text, const RandomKernel& kernel, uint64_t seed,
                  const HowCompiled& how);

// The kernel alone, with lines and numbers removed as long as Compare returns kDifferent.
std::string Shrink(const std::string& text, const RandomKernel& kernel, uint64_t seed,
                   const HowCompiled& how);

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_DIFFER_H_
