// Fuzzes the bytecode: whatever the bytes, an error or a module that is written as the same bytes.
// Each input is tried unchanged, and again with correct magic, length and checksum, so that those
// do not hide the rest.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "isa/bytecode/format.h"
#include "tests/fuzz/module_checks.h"

namespace tarsia {
namespace {

void Check(const std::string& bytes) {
  auto module = Decode(BytesOf(bytes), "fuzz.tsb");
  if (!module.ok()) return;
  const auto again = Encode(*module);
  Ensure(again.ok() && *again == bytes, "what is decoded is encoded as the same bytes");
  CheckModule(*std::move(module), SourceFile("fuzz.tsb", ""));
}

// The bytes with a valid header of a version of the format.
std::string Sealed(std::string bytes, uint16_t minor) {
  using namespace bytecode;  // NOLINT
  if (bytes.size() < kHeaderBytes) bytes.resize(kHeaderBytes);
  kMagic.copy(bytes.data(), kMagic.size());
  std::memset(bytes.data() + kMagic.size(), 0, kLengthOffset - kMagic.size());
  std::memcpy(bytes.data() + kMagic.size() + 2, &minor, 2);
  const uint64_t length = bytes.size();
  std::memcpy(bytes.data() + kLengthOffset, &length, sizeof length);
  const uint64_t checksum = XXH3_64bits(bytes.data() + kHeaderBytes, bytes.size() - kHeaderBytes);
  std::memcpy(bytes.data() + kChecksumOffset, &checksum, sizeof checksum);
  return bytes;
}

}  // namespace
}  // namespace tarsia

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  tarsia::Check(bytes);
  for (uint16_t minor = 1; minor <= tarsia::kBytecodeVersion.minor; ++minor) {
    tarsia::Check(tarsia::Sealed(bytes, minor));
  }
  return 0;
}
