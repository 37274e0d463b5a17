// Where undefined bits come from, kept beside those that are undefined and nothing else.
#ifndef TARSIA_PTX_MEMORY_ORIGIN_H_
#define TARSIA_PTX_MEMORY_ORIGIN_H_

#include <cstdint>
#include <map>
#include <string>

#include "ptx/table/findings.h"

namespace tarsia::ptx {

struct Inst;
class Module;

// What made bits undefined: the instruction that took them from what nobody wrote (a load, a shfl
// of a lane that takes no part, an alloca, the first reader of a register), or a variable in the
// frame of a thread. None: a register that nobody wrote and nobody has read yet.
class Origin {
 public:
  Origin() = default;
  static Origin Of(const Inst& inst);
  // A variable of Module::frame_variables.
  static Origin OfVariable(uint32_t number) { return Origin(kVariable | number); }

  [[nodiscard]] bool none() const { return code_ == 0; }
  // Fills Finding::origin.
  void Describe(const Module& module, Finding* finding) const;
  friend bool operator==(Origin, Origin) = default;

 private:
  static constexpr uint32_t kVariable = uint32_t{1} << 31;
  explicit Origin(uint32_t code) : code_(code) {}

  uint32_t code_ = 0;  // Inst::id plus one, or the number of a variable
};

// The origins of undefined bits in the memory of a block or of threads, if instructions stored them
// there: bytes that nobody wrote have none. The origin of bytes that have become defined since
// stays, and has no meaning.
class MemoryOrigins {
 public:
  static constexpr size_t kMostPieces = 65536;  // what is beyond is not noted

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  // Threads have a memory each, by the number of the lane; a block has that of lane 0.
  void Set(int lane, uint64_t address, uint64_t bytes, Origin origin);
  // The origin of the first of these bytes that has a known one.
  [[nodiscard]] Origin Find(int lane, uint64_t address, uint64_t bytes) const;
  // Forgets a lane's from an address on.
  void Forget(int lane, uint64_t address);
  void Copy(int lane, uint64_t to, uint64_t from, uint64_t bytes);

 private:
  struct Piece {
    uint64_t end = 0;
    Origin origin;
  };
  void Cut(uint64_t at);
  static uint64_t Key(int lane, uint64_t address) {
    return (static_cast<uint64_t>(lane) << 40) | address;
  }

  std::map<uint64_t, Piece> pieces_;  // by where they begin; none overlap
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_ORIGIN_H_
