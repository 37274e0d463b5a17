// Where undefined bits in registers were loaded from. Code that changes a part of a word (a 4-bit
// code, one half of a pair) loads the word, replaces the part and stores all of it: the other bits
// return to where they were, and if they were undefined there, nobody has used them.
#ifndef TARSIA_PTX_MEMORY_LOAD_SOURCE_H_
#define TARSIA_PTX_MEMORY_LOAD_SOURCE_H_

#include <cstdint>
#include <unordered_map>

namespace tarsia::ptx {

// The undefined bits of a lane of a register are bits of shared or global memory, unchanged: bit i
// is bit `first` + i there. Bits of memory are numbered by address * 8; no address is in both.
struct LoadSource {
  uint64_t first = 0;
  bool compared = false;  // a compare-and-swap has compared the register with what is there
};

// The load sources of the registers of a frame, by register and lane. The entry of a register
// without undefined bits has no meaning.
class LoadSources {
 public:
  [[nodiscard]] const LoadSource* Find(uint32_t reg, int lane) const {
    if (sources_.empty()) return nullptr;
    const auto found = sources_.find(Key(reg, lane));
    return found == sources_.end() ? nullptr : &found->second;
  }
  void Set(uint32_t reg, int lane, const LoadSource& source) { sources_[Key(reg, lane)] = source; }
  void Forget(uint32_t reg, int lane) {
    if (!sources_.empty()) sources_.erase(Key(reg, lane));
  }

 private:
  static uint64_t Key(uint32_t reg, int lane) {
    return uint64_t{reg} << 5 | static_cast<uint64_t>(lane);
  }

  std::unordered_map<uint64_t, LoadSource> sources_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_LOAD_SOURCE_H_
