// Machine code that ptxas made, kept between runs in the folder that the environment variable
// TARSIA_CUBIN_CACHE names. Without it nothing is kept. Processes may share a folder.
//
// A file HASH.code holds one result, all numbers little endian:
//   8 bytes  "tarsia" 0 1
//   16       XXH3-128 (canonical form) of all that follows
//   8        n, the size of the log
//   n        the log of ptxas
//   rest     the cubin
// HASH is the XXH3-128 of target, assembler and PTX. A file that is not what it was when it was
// written counts as none, and the next result takes its place.
#ifndef TARSIA_COMPILER_ASSEMBLE_CUBIN_CACHE_H_
#define TARSIA_COMPILER_ASSEMBLE_CUBIN_CACHE_H_

#include <string>
#include <string_view>

namespace tarsia::compiler {

class CubinCache {
 public:
  // For one result. `assembler` names the program or library that makes it, with its version.
  CubinCache(std::string_view ptx, std::string_view target, std::string_view assembler);
  // The cubin and the log of a former run; false: there is none that is whole.
  [[nodiscard]] bool Find(std::string& cubin, std::string& log) const;
  // A failure to keep (no room, no right to write) is none to assemble.
  void Keep(const std::string& cubin, const std::string& log) const;

 private:
  std::string path_;  // empty: no cache
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_CUBIN_CACHE_H_
