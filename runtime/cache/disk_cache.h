// Compiled code that is kept between runs: a folder of files, one for each result, which any number
// of processes share. It is only ever a shortcut: whatever is wrong with the folder or with a file,
// the code is made again.
//
// A file HASH.KIND holds one entry, all numbers little endian:
//   8 bytes  "tarsiaC" 1
//   16       XXH3-128 (canonical form) of all that follows
//   16       the key, of which HASH is the hexadecimal form
//   8 + n    n, and a label for people: "matmul for sm_90a"
//   rest     the content
// A file HASH.KIND.tmp-* is being written.
#ifndef TARSIA_RUNTIME_CACHE_DISK_CACHE_H_
#define TARSIA_RUNTIME_CACHE_DISK_CACHE_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/settings.h"
#include "support/result.h"

namespace tarsia::runtime {

// The hash of everything that a result depends on, and what the result is.
class CacheKey {
 public:
  // `kind` is a word: "kernel", "cubin". The parts are hashed with their lengths.
  CacheKey(std::string_view kind, std::initializer_list<std::string_view> parts);
  [[nodiscard]] const std::string& digest() const { return digest_; }  // 16 bytes
  [[nodiscard]] const std::string& file() const { return file_; }      // HASH.KIND

 private:
  std::string digest_;
  std::string file_;
};

// A file of the folder.
struct CacheEntry {
  std::string file;
  uint64_t bytes = 0;  // of the file
  int64_t used = 0;    // when it was written or found last, in nanoseconds since 1970
};

struct CachePruned {
  size_t entries = 0;
  uint64_t bytes = 0;
};

// Thread-safe. Objects for one folder are independent, like processes.
class DiskCache {
 public:
  explicit DiskCache(CacheSettings settings) : settings_(std::move(settings)) {}
  // That of CurrentCacheSettings, one object as long as they stay the same.
  static std::shared_ptr<DiskCache> Current();

  [[nodiscard]] const CacheSettings& settings() const { return settings_; }

  // The content of a key. Empty if it was not kept; a damaged file is removed. Marks the entry as
  // used.
  std::optional<std::string> Find(const CacheKey& key);
  // Keeps a content. Its file appears complete or not at all, even if the process is killed. If the
  // folder becomes larger than the limit, the entries that were not used for the longest time are
  // removed. The first failure is logged as a warning, and then this object writes nothing more.
  void Keep(const CacheKey& key, std::string_view label, std::string_view content);
  // Removes an entry whose content turned out to be unusable.
  void Drop(const CacheKey& key);

  // All entries, those that were used last first. Errors: the folder cannot be read (a folder that
  // does not exist is empty).
  [[nodiscard]] Result<std::vector<CacheEntry>> List() const;
  // The label of an entry; "" if it cannot be read.
  [[nodiscard]] std::string LabelOf(const CacheEntry& entry) const;
  // Removes the least recently used entries until the rest has at most `bytes` bytes, and files
  // that killed processes left. Errors: those of List, a file that cannot be removed.
  Result<CachePruned> Prune(uint64_t bytes);

 private:
  [[nodiscard]] std::string PathOf(const std::string& file) const;
  [[nodiscard]] bool MayWrite() const;
  void StopWriting(const Diagnostic& error);
  bool Write(const CacheKey& key, const std::string& bytes);
  void LimitSize(uint64_t written);

  const CacheSettings settings_;
  mutable std::mutex mutex_;
  bool failed_ = false;                      // warned, and writes nothing more
  std::optional<uint64_t> since_last_scan_;  // bytes written; empty: never scanned
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_CACHE_DISK_CACHE_H_
