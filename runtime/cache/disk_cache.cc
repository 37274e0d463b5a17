#include "runtime/cache/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/diagnostics.h"
#include "runtime/files/file.h"
#include "runtime/log.h"
#include "support/byte_codec.h"

namespace tarsia::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic{"tarsiaC\1", 8};
constexpr size_t kHashBytes = sizeof(XXH128_canonical_t);
constexpr size_t kHeaderBytes = kMagic.size() + kHashBytes;
constexpr std::string_view kTemporary = ".tmp-";
// Files that are written are complete long before this; older ones are left over.
constexpr int64_t kLeftOver = int64_t{3600} * 1'000'000'000;
// No code is as large.
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;

std::string Canonical(XXH128_hash_t hash) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, hash);
  return {reinterpret_cast<const char*>(digest.digest), sizeof digest.digest};
}

std::string HashOf(std::string_view bytes) {
  return Canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string ErrorText(int error) { return std::generic_category().message(error); }

// A file that is closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool ok() const { return number_ >= 0; }

 private:
  int number_;
};

// Above a limit of file sizes, a write sends the signal SIGXFSZ, which would end the caller's
// process: while this lives, this thread gets the error alone.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    blocked_ = pthread_sigmask(SIG_BLOCK, &set_, &before_) == 0;
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;
  ~NoSizeSignal() {
    if (!blocked_ || sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec now{};
    while (sigtimedwait(&set_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  bool blocked_ = false;
};

// At most `limit` bytes; empty if the file cannot be read.
std::optional<std::string> ReadAll(int file, uint64_t limit) {
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string out(std::min(static_cast<uint64_t>(info.st_size), limit), '\0');
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = read(file, out.data() + done, out.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  out.resize(done);
  return out;
}

// The parts of a file; empty if it is not a whole entry.
struct Parts {
  std::string_view key;
  std::string_view label;
  std::string_view content;
};
std::optional<Parts> PartsOf(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  const std::string_view rest = bytes.substr(kHeaderBytes);
  if (bytes.substr(kMagic.size(), kHashBytes) != HashOf(rest)) return std::nullopt;
  ByteSource in(rest);
  Parts out;
  out.key = in.Raw(kHashBytes);
  out.label = in.Text();
  if (!in.ok()) return std::nullopt;
  out.content = rest.substr(kHashBytes + sizeof(uint64_t) + out.label.size());
  return out;
}

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool IsTemporary(std::string_view file) { return file.find(kTemporary) != std::string_view::npos; }

// Whether a name is HASH.KIND, perhaps of a file that is being written: nothing else in the folder
// is touched.
bool IsOurs(std::string_view file) {
  const size_t digits = 2 * kHashBytes;
  return file.size() > digits + 1 && file[digits] == '.' &&
         file.substr(0, digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The folder with those above it; only the user may look into a new one.
Status MakeFolder(const std::string& path) {
  std::error_code failed;
  const bool made = fs::create_directories(path, failed);
  if (failed) return MakeDiagnostic(diag::kFileWrite, Location(), path, failed.message());
  if (made) fs::permissions(path, fs::perms::owner_all, failed);
  return OkStatus();
}

}  // namespace

CacheKey::CacheKey(std::string_view kind, std::initializer_list<std::string_view> parts) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  ByteSink lengths;
  for (const std::string_view part : parts) lengths.U64(part.size());
  XXH3_128bits_update(&state, lengths.bytes().data(), lengths.bytes().size());
  XXH3_128bits_update(&state, kind.data(), kind.size());
  for (const std::string_view part : parts) XXH3_128bits_update(&state, part.data(), part.size());
  digest_ = Canonical(XXH3_128bits_digest(&state));
  for (const char c : digest_) file_ += fmt::format("{:02x}", static_cast<unsigned char>(c));
  file_ += fmt::format(".{}", kind);
}

std::shared_ptr<DiskCache> DiskCache::Current() {
  static std::mutex mutex;
  static std::shared_ptr<DiskCache> current;
  CacheSettings settings = CurrentCacheSettings();
  const std::lock_guard lock(mutex);
  if (current == nullptr || current->settings() != settings) {
    current = std::make_shared<DiskCache>(std::move(settings));
  }
  return current;
}

std::string DiskCache::PathOf(const std::string& file) const {
  return settings_.folder + "/" + file;
}

// ---- finding and keeping -------------------------------------------------------------------

std::optional<std::string> DiskCache::Find(const CacheKey& key) {
  if (settings_.folder.empty()) return std::nullopt;
  const Descriptor file(open(PathOf(key.file()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return std::nullopt;
  const std::optional<std::string> bytes = ReadAll(file.number(), kMaxFileBytes);
  const std::optional<Parts> parts = bytes ? PartsOf(*bytes) : std::nullopt;
  if (!parts || parts->key != key.digest()) {
    api::Log(TARSIA_LOG_INFO, fmt::format("the cache of compiled code drops a damaged file: {}",
                                          PathOf(key.file())));
    Drop(key);
    return std::nullopt;
  }
  futimens(file.number(), nullptr);  // a folder that may only be read has no order of use
  return std::string(parts->content);
}

void DiskCache::Drop(const CacheKey& key) {
  if (!settings_.folder.empty()) unlink(PathOf(key.file()).c_str());
}

void DiskCache::Keep(const CacheKey& key, std::string_view label, std::string_view content) {
  if (!MayWrite()) return;
  ByteSink body;
  const std::string& digest = key.digest();
  std::string bytes = digest + body.Text(label).Take();
  bytes += content;
  bytes = std::string(kMagic) + HashOf(bytes) + bytes;
  if (bytes.size() > std::min(settings_.limit, kMaxFileBytes)) return;
  if (Write(key, bytes)) LimitSize(bytes.size());
}

bool DiskCache::MayWrite() const {
  const std::lock_guard lock(mutex_);
  return !settings_.folder.empty() && !failed_;
}

void DiskCache::StopWriting(const Diagnostic& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(failed_, true)) return;
  }
  api::Log(TARSIA_LOG_WARNING, fmt::format("compiled code is not kept: {}", error.message));
}

bool DiskCache::Write(const CacheKey& key, const std::string& bytes) {
  if (Status made = MakeFolder(settings_.folder); !made.ok()) {
    StopWriting(made.error());
    return false;
  }
  const NoSizeSignal no_signal;
  if (Status written = WriteFile(PathOf(key.file()), bytes); !written.ok()) {
    StopWriting(written.error());
    return false;
  }
  return true;
}

// Looks at the whole folder the first time, and after a sixteenth of the limit was written: other
// processes do the same, so that the folder stays near its limit.
void DiskCache::LimitSize(uint64_t written) {
  {
    const std::lock_guard lock(mutex_);
    if (since_last_scan_) {
      *since_last_scan_ += written;
      if (*since_last_scan_ < settings_.limit / 16) return;
    }
    since_last_scan_ = 0;
  }
  const Result<std::vector<CacheEntry>> entries = List();
  if (!entries.ok()) return;
  uint64_t bytes = 0;
  for (const CacheEntry& entry : *entries) bytes += entry.bytes;
  // Leaves room, so that not every new entry removes an old one.
  if (bytes > settings_.limit) (void)Prune(settings_.limit - settings_.limit / 8);
}

// ---- upkeep --------------------------------------------------------------------------------

std::string DiskCache::LabelOf(const CacheEntry& entry) const {
  constexpr uint64_t kMost = 512;
  const Descriptor file(open(PathOf(entry.file).c_str(), O_RDONLY | O_CLOEXEC));
  const std::optional<std::string> bytes = file.ok() ? ReadAll(file.number(), kMost) : std::nullopt;
  if (!bytes || !bytes->starts_with(kMagic) || bytes->size() < kHeaderBytes) return "";
  ByteSource in(std::string_view(*bytes).substr(kHeaderBytes));
  in.Raw(kHashBytes);
  return std::string(in.Text());
}

Result<std::vector<CacheEntry>> DiskCache::List() const {
  std::vector<CacheEntry> out;
  std::error_code error;
  for (fs::directory_iterator at(settings_.folder, error), end; !error && at != end;
       at.increment(error)) {
    CacheEntry entry;
    entry.file = at->path().filename().string();
    struct stat info = {};
    if (!IsOurs(entry.file) || stat(at->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
      continue;
    }
    entry.bytes = static_cast<uint64_t>(info.st_size);
    entry.used = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
    out.push_back(std::move(entry));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return MakeDiagnostic(diag::kFileOpen, Location(), settings_.folder, error.message());
  }
  std::ranges::sort(out, [](const CacheEntry& a, const CacheEntry& b) {
    return a.used != b.used ? a.used > b.used : a.file < b.file;
  });
  return out;
}

Result<CachePruned> DiskCache::Prune(uint64_t bytes) {
  TARSIA_TRY(const std::vector<CacheEntry> entries, List());
  CachePruned out;
  uint64_t kept = 0;  // more than `bytes`: no further entry is
  const int64_t now = Now();
  for (const CacheEntry& entry : entries) {
    if (IsTemporary(entry.file)) {
      if (bytes != 0 && now - entry.used < kLeftOver) continue;
    } else if (kept <= bytes && entry.bytes <= bytes - kept) {
      kept += entry.bytes;
      continue;
    } else {
      kept = bytes + 1;  // whatever was used before this one goes, too
    }
    // Another process may have removed it.
    if (unlink(PathOf(entry.file).c_str()) != 0 && errno != ENOENT) {
      return MakeDiagnostic(diag::kCacheRemove, Location(), PathOf(entry.file), ErrorText(errno));
    }
    ++out.entries;
    out.bytes += entry.bytes;
  }
  return out;
}

}  // namespace tarsia::runtime
