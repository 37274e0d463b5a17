#include "compiler/assemble/cubin_cache.h"

#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "support/environment.h"
#include "support/temporary_file.h"

namespace tarsia::compiler {
namespace {

constexpr std::string_view kMagic{"tarsia\0\1", 8};
constexpr size_t kHashSize = sizeof(XXH128_canonical_t);
constexpr size_t kSizeSize = 8;

std::string Canonical(XXH128_hash_t hash) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, hash);
  return {reinterpret_cast<const char*>(digest.digest), sizeof digest.digest};
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string SizeBytes(uint64_t size) {
  std::string bytes;
  for (size_t i = 0; i < kSizeSize; ++i) bytes += static_cast<char>(size >> (8 * i));
  return bytes;
}

uint64_t SizeOf(std::string_view bytes) {
  uint64_t size = 0;
  for (size_t i = 0; i < kSizeSize; ++i) {
    size |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return size;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

CubinCache::CubinCache(std::string_view ptx, std::string_view target, std::string_view assembler) {
  const std::string_view folder = Environment("TARSIA_CUBIN_CACHE");
  if (folder.empty()) return;
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const std::string_view part :
       {target, std::string_view("\n"), assembler, std::string_view("\n"), ptx}) {
    XXH3_128bits_update(&state, part.data(), part.size());
  }
  path_ = std::string(folder) + "/" + Hex(Canonical(XXH3_128bits_digest(&state))) + ".code";
}

bool CubinCache::Find(std::string& cubin, std::string& log) const {
  if (path_.empty()) return false;
  const std::string file = ReadAll(path_);
  const std::string_view all = file;
  constexpr size_t kHeader = kMagic.size() + kHashSize;
  if (all.size() < kHeader + kSizeSize || all.substr(0, kMagic.size()) != kMagic) return false;
  const std::string_view rest = all.substr(kHeader);
  const std::string hash = Canonical(XXH3_128bits(rest.data(), rest.size()));
  if (all.substr(kMagic.size(), kHashSize) != hash) return false;
  const uint64_t log_size = SizeOf(rest);
  if (log_size > rest.size() - kSizeSize) return false;
  log = rest.substr(kSizeSize, log_size);
  cubin = rest.substr(kSizeSize + log_size);
  return true;
}

// Written under another name first, so that no reader sees an incomplete file.
void CubinCache::Keep(const std::string& cubin, const std::string& log) const {
  if (path_.empty()) return;
  static std::atomic<unsigned> counter{0};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  const std::string content = SizeBytes(log.size()) + log + cubin;
  TemporaryFile scratch(path_ + ".tmp-" + std::to_string(getpid()) + "-" +
                        std::to_string(counter++));
  std::ofstream file(scratch.path(), std::ios::binary);
  file << kMagic << Canonical(XXH3_128bits(content.data(), content.size())) << content;
  file.close();
  if (!file) return;
  std::error_code failed;
  std::filesystem::rename(scratch.path(), path_, failed);
  if (!failed) scratch.Release();
}

}  // namespace tarsia::compiler
