#include "launch/arguments.h"

namespace tarsia::launch {

CodeList CodesOf(std::span<const Argument> args) {
  CodeList out;
  for (const Argument& arg : args) {
    const auto* scalar = std::get_if<ScalarValue>(&arg);
    out.push_back(scalar != nullptr ? scalar->code & CodeMask(scalar->type) : 0);
  }
  return out;
}

}  // namespace tarsia::launch
