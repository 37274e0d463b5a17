// Variables of the environment.
#ifndef TARSIA_SUPPORT_ENVIRONMENT_H_
#define TARSIA_SUPPORT_ENVIRONMENT_H_

#include <cstdlib>
#include <string_view>

namespace tarsia {

// The value of a variable; empty if it is not set. Thread-safe as long as no thread sets variables,
// which nothing in the library does. The text is valid until the variable is set again.
inline std::string_view Environment(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? text : std::string_view();
}

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_ENVIRONMENT_H_
