// Machine code of ptxas, kept between runs in the folder in the environment variable
// TARSIA_CUBIN_CACHE. Without it nothing is kept. Processes may share a folder.
//
// A file HASH.code holds one result, all numbers little endian:
//   8 bytes  "tarsia" 0 1
//   16       XXH3-128 (canonical form) of all that follows
//   8        n, the size of the log
//   n        the log of ptxas
//   rest     the cubin
// HASH is the XXH3-128 of target, assembler and PTX. A damaged file is ignored, and the next result
// replaces it.
#ifndef TARSIA_COMPILER_ASSEMBLE_CUBIN_CACHE_H_
#define TARSIA_COMPILER_ASSEMBLE_CUBIN_CACHE_H_

#include <string>
#include <string_view>

namespace tarsia::compiler {

class CubinCache {
 public:
  // For one result. `assembler` names the program or library that makes it, with its version.
  CubinCache(std::string_view ptx, std::string_view target, std::string_view assembler);
  // The cubin and the log of an earlier run; false: there is no complete one.
  [[nodiscard]] bool Find(std::string& cubin, std::string& log) const;
  // A failure to keep the result (no space, no permission) is not an error of the assembly.
  void Keep(const std::string& cubin, const std::string& log) const;

 private:
  std::string path_;  // empty: no cache
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_CUBIN_CACHE_H_
