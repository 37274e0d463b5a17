// Writes the primitives of the bytecode. Internal to isa/bytecode.
#ifndef TARSIA_ISA_BYTECODE_BYTE_WRITER_H_
#define TARSIA_ISA_BYTECODE_BYTE_WRITER_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarsia::bytecode {

class ByteWriter {
 public:
  void U8(uint32_t value) { bytes_ += static_cast<char>(value); }
  template <typename T>
  void Fixed(T value) {
    static_assert(std::endian::native == std::endian::little);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
  }
  void Leb(uint64_t value) {
    while (value >= 0x80) {
      U8(static_cast<uint8_t>(value) | 0x80);
      value >>= 7;
    }
    U8(static_cast<uint8_t>(value));
  }
  void Bytes(std::string_view bytes) { bytes_ += bytes; }
  void Pad(size_t multiple) { bytes_.resize((bytes_.size() + multiple - 1) / multiple * multiple); }
  void Patch(size_t at, uint64_t value) { std::memcpy(bytes_.data() + at, &value, sizeof value); }
  void Clear() { bytes_.clear(); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Numbers from 0 in the order of first use.
class Numbering {
 public:
  explicit Numbering(size_t things) : numbers_(things, kUnused) {}
  uint32_t Of(uint32_t thing) {
    uint32_t& number = numbers_[thing];
    if (number == kUnused) {
      number = static_cast<uint32_t>(order_.size());
      order_.push_back(thing);
    }
    return number;
  }
  [[nodiscard]] const std::vector<uint32_t>& order() const { return order_; }

 private:
  static constexpr uint32_t kUnused = UINT32_MAX;
  std::vector<uint32_t> numbers_;
  std::vector<uint32_t> order_;
};

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_BYTE_WRITER_H_
