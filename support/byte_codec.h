// Little-endian bytes of numbers and texts, for formats of this library that only it reads. The
// reader treats its input as hostile: after the first value that is not there, ok() is false and
// every further value is 0 or empty.
#ifndef TARSIA_SUPPORT_BYTE_CODEC_H_
#define TARSIA_SUPPORT_BYTE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tarsia {

class ByteSink {
 public:
  ByteSink& U8(uint8_t value) { return Number(value, 1); }
  ByteSink& U32(uint32_t value) { return Number(value, 4); }
  ByteSink& U64(uint64_t value) { return Number(value, 8); }
  ByteSink& I64(int64_t value) { return Number(static_cast<uint64_t>(value), 8); }
  ByteSink& Bool(bool value) { return U8(value ? 1 : 0); }
  // Its size in 8 bytes, and the text.
  ByteSink& Text(std::string_view text) {
    U64(text.size());
    bytes_ += text;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string Take() { return std::move(bytes_); }

 private:
  ByteSink& Number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }

  std::string bytes_;
};

class ByteSource {
 public:
  explicit ByteSource(std::string_view bytes) : left_(bytes) {}

  uint8_t U8() { return static_cast<uint8_t>(Number(1)); }
  uint32_t U32() { return static_cast<uint32_t>(Number(4)); }
  uint64_t U64() { return Number(8); }
  int64_t I64() { return static_cast<int64_t>(Number(8)); }
  bool Bool() {
    const uint8_t value = U8();
    Require(value <= 1);
    return value == 1;
  }
  // A number below `end`.
  uint64_t Below(uint64_t value, uint64_t end) { return Require(value < end) ? value : 0; }
  // The number of items of at least `least` bytes each that follow.
  size_t Count(size_t least) {
    const uint64_t count = U64();
    return Require(count <= left_.size() / least) ? static_cast<size_t>(count) : 0;
  }
  // Points into the input.
  std::string_view Text() { return Raw(U64()); }
  std::string_view Raw(uint64_t size) {
    if (!Require(size <= left_.size())) return {};
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }
  // For rules of the format; returns ok().
  bool Require(bool rule) {
    ok_ = ok_ && rule;
    return ok_;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::string_view rest() const { return left_; }
  // Whether all was read and nothing is left.
  [[nodiscard]] bool done() const { return ok_ && left_.empty(); }

 private:
  uint64_t Number(size_t bytes) {
    if (!Require(bytes <= left_.size())) return 0;
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= uint64_t{static_cast<unsigned char>(left_[i])} << (8 * i);
    }
    left_.remove_prefix(bytes);
    return value;
  }

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_BYTE_CODEC_H_
