// Files of bytecode written by hand: what docs/bytecode.md says of the header and of sections,
// apart from the writer under test.
#ifndef TARSIA_TESTS_UNIT_ISA_BYTECODE_FILE_H_
#define TARSIA_TESTS_UNIT_ISA_BYTECODE_FILE_H_

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/bytecode/bytecode.h"

namespace tarsia::bytecode_file {

inline Result<Module> Decoded(const std::string& bytes) {
  return Decode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "bytes.tsb");
}

// A number of fixed width, the low byte first.
template <typename T>
std::string Fixed(T value) {
  std::string out(sizeof value, '\0');
  for (size_t i = 0; i < sizeof value; ++i) {
    out[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  return out;
}

struct Section {
  uint32_t id = 0;
  uint32_t flags = 0x300;
  std::string bytes;
};

inline std::string FileOf(const std::vector<Section>& sections, uint16_t major = 0,
                          uint16_t minor = 1) {
  std::string rest;
  for (const Section& section : sections) {
    rest += Fixed(section.id) + Fixed(section.flags) + Fixed(uint64_t{section.bytes.size()});
    const size_t alignment = size_t{1} << (section.flags >> 8 & 0xFF);
    while (section.flags >= 0x300 && (32 + rest.size()) % alignment != 0) rest += '\0';
    rest += section.bytes;
    while (rest.size() % 8 != 0) rest += '\0';
  }
  return "\x89TSB\r\n\x1a\n" + Fixed(major) + Fixed(minor) + Fixed(uint32_t{0}) +
         Fixed(uint64_t{32 + rest.size()}) +
         Fixed(uint64_t{XXH3_64bits(rest.data(), rest.size())}) + rest;
}

}  // namespace tarsia::bytecode_file

#endif  // TARSIA_TESTS_UNIT_ISA_BYTECODE_FILE_H_
