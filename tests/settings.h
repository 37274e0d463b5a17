// What the environment asks of the tests. scripts/nightly.sh says what each variable means.
#ifndef TARSIA_TESTS_SETTINGS_H_
#define TARSIA_TESTS_SETTINGS_H_

#include <charconv>
#include <cstdint>
#include <string_view>

#include "support/environment.h"

namespace tarsia {

// Whether a variable is set to anything but 0.
inline bool IsSet(const char* name) {
  const std::string_view text = Environment(name);
  return !text.empty() && text != "0";
}

// Whether tests take their long form.
inline bool IsLong() { return IsSet("TARSIA_LONG"); }

// Whether tests write what they got into the files that they compare with.
inline bool IsRewriting() { return IsSet("TARSIA_REWRITE"); }

// The number in a variable; `fallback` if it holds no number.
inline uint64_t NumberFrom(const char* name, uint64_t fallback) {
  const std::string_view text = Environment(name);
  uint64_t number = fallback;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : fallback;
}

// The seed of random tests.
inline uint64_t Seed(uint64_t fallback) { return NumberFrom("TARSIA_SEED", fallback); }

}  // namespace tarsia

#endif  // TARSIA_TESTS_SETTINGS_H_
