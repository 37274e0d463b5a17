// The local memory of the lanes of a warp, which is a stack: the frames of the functions that a
// lane has entered, and what it has allocated in the innermost of them.
#ifndef TARSIA_PTX_MEMORY_LOCAL_MEMORY_H_
#define TARSIA_PTX_MEMORY_LOCAL_MEMORY_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ptx/memory/origin.h"
#include "ptx/memory/place.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

class LocalMemory {
 public:
  static constexpr uint64_t kBase = 256;                     // no address below it is valid
  static constexpr uint64_t kMostBytes = uint64_t{1} << 20;  // of a lane

  [[nodiscard]] uint64_t Bytes(int lane) const { return data_[Index(lane)].size(); }
  [[nodiscard]] bool Holds(int lane, uint64_t address, uint64_t bytes) const {
    const uint64_t size = Bytes(lane);
    return address - kBase < size && bytes <= size - (address - kBase);
  }
  // The bytes at an address that is known to be valid.
  [[nodiscard]] Place At(int lane, uint64_t address) {
    const uint64_t at = address - kBase;
    return {data_[Index(lane)].data() + at, defined_[Index(lane)].data() + at};
  }
  // Ends the memory of a lane after `bytes` undefined bytes at an address. What it held from the
  // address on is gone.
  void EndAfter(int lane, uint64_t address, uint64_t bytes) {
    const uint64_t from = address - kBase;
    if (!origins_.empty()) origins_.Forget(lane, address);
    for (std::vector<uint8_t>* bank : {&data_[Index(lane)], &defined_[Index(lane)]}) {
      bank->resize(from);
      bank->resize(from + bytes);
    }
  }
  // Copies bytes, with which of their bits are defined and where the undefined ones come from.
  void Copy(int lane, uint64_t to, uint64_t from, uint64_t bytes) {
    const Place source = At(lane, from);
    const Place target = At(lane, to);
    std::memcpy(target.data, source.data, bytes);
    std::memcpy(target.defined, source.defined, bytes);
    if (!origins_.empty()) origins_.Copy(lane, to, from, bytes);
  }
  // Where undefined bits come from.
  [[nodiscard]] MemoryOrigins& origins() { return origins_; }
  [[nodiscard]] const MemoryOrigins& origins() const { return origins_; }

 private:
  static size_t Index(int lane) { return static_cast<size_t>(lane); }

  std::array<std::vector<uint8_t>, kLanes> data_;
  std::array<std::vector<uint8_t>, kLanes> defined_;
  MemoryOrigins origins_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_LOCAL_MEMORY_H_
