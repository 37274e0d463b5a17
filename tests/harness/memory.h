// The memory of a pointer parameter: guarded on both sides, poisoned where there is no input, and
// checked afterwards for unexpected changes.
#ifndef TARSIA_TESTS_HARNESS_MEMORY_H_
#define TARSIA_TESTS_HARNESS_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "layout/mem_layout.h"
#include "tests/harness/tensor.h"

namespace tarsia::harness {

// The contents of unwritten elements: two patterns that differ in every type, so that an unwritten
// element is found with one of them, whatever its correct value.
enum class Poison : uint8_t {
  kNan,      // NaN where the type has one, else all ones
  kPattern,  // bits of 0x5A..
};
uint64_t PoisonCode(Poison poison, DType type);

class GuardedMemory {
 public:
  static constexpr uint64_t kGuardBytes = 4096;
  // Addresses are aligned to this or to the layout's alignment, and to no more.
  static constexpr uint64_t kAlignment = 256;

  // `bytes` is at least the size of the layout. Every element is poisoned; padding of packed
  // layouts is zero; all other bits are ones, which reads past the end see as NaN.
  GuardedMemory(const MemLayout& layout, DType type, uint64_t bytes, Poison poison);
  // Memory of plain bytes.
  GuardedMemory(uint64_t bytes, Poison poison);

  void Write(const Tensor& tensor);
  void WriteBytes(const std::vector<uint8_t>& bytes);
  // Call before the launch: records the contents.
  void Seal();

  [[nodiscard]] uint8_t* data() { return storage_.data() + base_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  [[nodiscard]] Tensor Read() const;

  // "" or the unexpected change: to guards or padding, or, if not `writable`, to anything.
  [[nodiscard]] std::string FindDamage(bool writable) const;

 private:
  void Allocate(uint64_t alignment, uint8_t background);
  // The address of a bit of element k, from data().
  [[nodiscard]] uint64_t BitAddress(const Shape& index, int64_t k, int bit) const;
  void MarkOwned();

  MemLayout layout_;
  DType type_;
  bool plain_ = false;  // row-major: element k lies in bits [k*N, (k+1)*N)
  uint64_t bytes_ = 0;
  uint64_t base_ = 0;
  std::vector<uint8_t> storage_;
  std::vector<uint8_t> sealed_;
  std::vector<uint8_t> owned_;  // bits of elements, as masks by byte
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_MEMORY_H_
