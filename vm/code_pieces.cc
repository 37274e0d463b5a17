#include "vm/code_pieces.h"

#include <cstring>

namespace tarsia::vm {
namespace {

uint32_t LoadWord(const uint8_t* words, uint32_t word) {
  uint32_t bits = 0;
  std::memcpy(&bits, words + size_t{word} * 4, 4);
  return bits;
}

uint64_t Mask(int length) { return (uint64_t{1} << length) - 1; }  // of at most 32 bits

}  // namespace

CodePieces::CodePieces(int64_t codes, int bits, const std::function<uint64_t(int64_t, int)>& place,
                       const std::function<uint64_t(int64_t)>& complement) {
  begin_.reserve(static_cast<size_t>(codes) + 1);
  std::vector<uint64_t> flips;
  bool any_flip = false;
  for (int64_t code = 0; code < codes; ++code) {
    begin_.push_back(static_cast<uint32_t>(pieces_.size()));
    uint64_t expected = ~uint64_t{0};
    for (int bit = 0; bit < bits; ++bit) {
      const uint64_t address = place(code, bit);
      if (address == expected && address % 32 != 0) {
        ++pieces_.back().length;
      } else {
        pieces_.push_back({static_cast<uint32_t>(address / 32), static_cast<uint8_t>(address % 32),
                           static_cast<uint8_t>(bit), 1});
      }
      expected = address + 1;
    }
    if (pieces_.size() - begin_.back() != 1) single_ = false;
    flips.push_back(complement(code));
    any_flip = any_flip || flips.back() != 0;
  }
  begin_.push_back(static_cast<uint32_t>(pieces_.size()));
  if (any_flip) complement_ = std::move(flips);
}

uint64_t CodePieces::Read(const uint8_t* words, int64_t code) const {
  uint64_t value = 0;
  for (const CodePiece* piece = begin(code); piece != end(code); ++piece) {
    value |= (LoadWord(words, piece->word) >> piece->shift & Mask(piece->length)) << piece->at;
  }
  return value ^ Complement(code);
}

void CodePieces::Or(uint8_t* words, int64_t code, uint64_t value) const {
  value ^= Complement(code);
  for (const CodePiece* piece = begin(code); piece != end(code); ++piece) {
    const uint64_t part = (value >> piece->at & Mask(piece->length)) << piece->shift;
    const uint32_t word = LoadWord(words, piece->word) | static_cast<uint32_t>(part);
    std::memcpy(words + size_t{piece->word} * 4, &word, 4);
  }
}

}  // namespace tarsia::vm
