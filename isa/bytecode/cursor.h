// Reads the primitives of the bytecode from untrusted bytes. Internal to isa/.
#ifndef TARSIA_ISA_BYTECODE_CURSOR_H_
#define TARSIA_ISA_BYTECODE_CURSOR_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "isa/bytecode/diagnostics.h"
#include "support/diagnostic.h"

namespace tarsia::bytecode {

// Every function returns false after the first error, which is then in error(). The caller must
// then return false too; all results are invalid.
class Cursor {
 public:
  Cursor() = default;
  Cursor(const uint8_t* file, std::span<const uint8_t> bytes, std::string_view what)
      : file_(file), p_(bytes.data()), end_(bytes.data() + bytes.size()), what_(what) {}

  [[nodiscard]] size_t left() const { return static_cast<size_t>(end_ - p_); }
  [[nodiscard]] size_t offset() const { return static_cast<size_t>(p_ - file_); }
  [[nodiscard]] const std::optional<Diagnostic>& error() const { return error_; }

  // Names the part that is read from here on, for messages.
  void Within(std::string_view what) { what_ = what; }

  template <typename... Args>
  [[gnu::noinline, gnu::cold]] bool Fail(const DiagInfo& info, const Args&... args) {
    if (!error_) error_ = MakeDiagnostic(info, Location::AtByte(offset()), args...);
    return false;
  }

  bool U8(uint8_t& out) {
    if (p_ == end_) return Fail(diag::kBytecodeEnds, what_);
    out = *p_++;
    return true;
  }
  // Unsigned LEB128 of at most 32, and 64, bits.
  bool U32(uint32_t& out) {
    if (p_ != end_ && *p_ < 0x80) [[likely]] {
      out = *p_++;
      return true;
    }
    uint64_t wide = 0;
    if (!SlowLeb(wide, UINT32_MAX)) return false;
    out = static_cast<uint32_t>(wide);
    return true;
  }
  bool U64(uint64_t& out) {
    if (p_ != end_ && *p_ < 0x80) [[likely]] {
      out = *p_++;
      return true;
    }
    return SlowLeb(out, UINT64_MAX);
  }
  template <typename T>
  bool Fixed(T& out) {
    if (left() < sizeof out) return Fail(diag::kBytecodeEnds, what_);
    std::memcpy(&out, p_, sizeof out);
    p_ += sizeof out;
    return true;
  }
  bool Bytes(size_t count, std::string_view& out) {
    if (left() < count) return Fail(diag::kBytecodeEnds, what_);
    out = {reinterpret_cast<const char*>(p_), count};
    p_ += count;
    return true;
  }
  // A count of things of at least `least` bytes each, which must fit in the bytes that are left.
  bool Count(uint32_t& out, size_t least, std::string_view things) {
    if (!U32(out)) return false;
    return out <= left() / least || Fail(diag::kBytecodeCount, out, things, left());
  }
  // Zero bytes up to a multiple of `multiple` in the file.
  bool Padding(size_t multiple) {
    while (offset() % multiple != 0) {
      uint8_t byte = 0;
      if (!U8(byte)) return false;
      if (byte != 0) return Fail(diag::kBytecodeForm, "padding is not zero");
    }
    return true;
  }
  // Limits reading to the next `count` bytes; Unlimit removes the limit.
  const uint8_t* Limit(size_t count) {
    const uint8_t* const end = end_;
    end_ = p_ + count;
    return end;
  }
  void Unlimit(const uint8_t* end) { end_ = end; }
  bool AtEnd(std::string_view thing) {
    return p_ == end_ || Fail(diag::kBytecodeRest, left(), thing);
  }

 private:
  bool SlowLeb(uint64_t& out, uint64_t most);

  const uint8_t* file_ = nullptr;
  const uint8_t* p_ = nullptr;
  const uint8_t* end_ = nullptr;
  std::string_view what_;
  std::optional<Diagnostic> error_;
};

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_CURSOR_H_
