// Holds compiled kernels against the interpreter over random programs, and makes a program that
// shows a difference small.
#ifndef TARSIA_TESTS_RANDOM_DIFFER_H_
#define TARSIA_TESTS_RANDOM_DIFFER_H_

#include <cstdint>
#include <string>

#include "compiler/target.h"
#include "tests/random/random_module.h"

namespace tarsia {

enum class Agreement : uint8_t {
  kSame,
  kRefused,    // the compiler refuses it, as it may
  kDifferent,  // another result, a fault of the code, or a refusal that must not be
  kNoMeaning,  // the text is no program, or one without a single meaning
};

struct Judgement {
  Agreement agreement = Agreement::kSame;
  std::string text;  // of kDifferent and kRefused: what was said
};

// One kernel of a text, with the arguments that the seed gives.
Judgement Compare(const std::string& text, const RandomKernel& kernel, uint64_t seed,
                  compiler::Target target);

// The kernel alone with lines and numbers taken away while Compare still finds it kDifferent.
std::string Shrink(const std::string& text, const RandomKernel& kernel, uint64_t seed,
                   compiler::Target target);

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_DIFFER_H_
