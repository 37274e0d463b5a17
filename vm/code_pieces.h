// A bit map from codes to 32-bit words as contiguous runs of bits, for packed memory tiles and
// `view` of registers in the `lanes` order.
#ifndef TARSIA_VM_CODE_PIECES_H_
#define TARSIA_VM_CODE_PIECES_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace tarsia::vm {

// Bits [at, at + length) of a code lie in bits [shift, shift + length) of a word.
struct CodePiece {
  uint32_t word = 0;
  uint8_t shift = 0;
  uint8_t at = 0;
  uint8_t length = 0;
};

class CodePieces {
 public:
  CodePieces() = default;
  // `place(code, bit)`: bit address of a code's bit from the start of the words;
  // `complement(code)`: its bits that are stored complemented.
  CodePieces(int64_t codes, int bits, const std::function<uint64_t(int64_t, int)>& place,
             const std::function<uint64_t(int64_t)>& complement);

  [[nodiscard]] int64_t codes() const { return static_cast<int64_t>(begin_.size()) - 1; }
  // True if every code is one piece; piece i is then that of code i.
  [[nodiscard]] bool single() const { return single_; }
  [[nodiscard]] const CodePiece* begin(int64_t code) const { return pieces_.data() + begin_[code]; }
  [[nodiscard]] const CodePiece* end(int64_t code) const {
    return pieces_.data() + begin_[code + 1];
  }
  [[nodiscard]] uint64_t Complement(int64_t code) const {
    return complement_.empty() ? 0 : complement_[static_cast<size_t>(code)];
  }

  // The code in the little-endian words at `words`, at any alignment.
  [[nodiscard]] uint64_t Read(const uint8_t* words, int64_t code) const;
  // ORs a code's bits into words whose bits there are zero. Not atomic.
  void Or(uint8_t* words, int64_t code, uint64_t value) const;

 private:
  std::vector<uint32_t> begin_;
  std::vector<CodePiece> pieces_;
  std::vector<uint64_t> complement_;  // empty where nothing is complemented
  bool single_ = true;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_CODE_PIECES_H_
