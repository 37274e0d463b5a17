// Which sources this library was built from. Compiled code that is kept on disk names the build
// that made it, and no other build uses it.
#ifndef TARSIA_RUNTIME_BUILD_ID_H_
#define TARSIA_RUNTIME_BUILD_ID_H_

#include <string_view>

namespace tarsia::runtime {

// A hash, in hexadecimal digits, of every source that decides what code is made and how it is
// launched, and of the version of LLVM's headers.
std::string_view BuildId();

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_BUILD_ID_H_
