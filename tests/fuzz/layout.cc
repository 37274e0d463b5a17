// Fuzzes layout text: whatever the text, an error or a value whose text evaluates to it again.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "layout/text/eval.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto value =
      tarsia::EvaluateText(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!value.ok()) return 0;
  const std::string text = tarsia::ToString(*value);
  const auto again = tarsia::EvaluateText(text);
  if (again.ok() && *again == *value) return 0;
  // A NaN is not equal to itself.
  if (again.ok() && tarsia::ToString(*again) == text) return 0;
  std::fprintf(stderr, "printed as %s\n", text.c_str());
  std::abort();
}
