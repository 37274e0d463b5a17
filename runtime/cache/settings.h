// Where the cache of compiled code is, and how large it may become.
#ifndef TARSIA_RUNTIME_CACHE_SETTINGS_H_
#define TARSIA_RUNTIME_CACHE_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace tarsia::runtime {

// A folder, or `off` for no cache; else it is $XDG_CACHE_HOME/tarsia or ~/.cache/tarsia.
inline constexpr const char* kCacheVariable = "TARSIA_CACHE";
// The most bytes of all entries, as text of planner/limit.h.
inline constexpr const char* kCacheLimitVariable = "TARSIA_CACHE_LIMIT";
inline constexpr uint64_t kDefaultCacheLimit = uint64_t{1} << 30;

struct CacheSettings {
  std::string folder;  // empty: no cache
  uint64_t limit = kDefaultCacheLimit;
  friend bool operator==(const CacheSettings&, const CacheSettings&) = default;
};

// Those of SetCacheSettings, else those of the environment. Thread-safe.
CacheSettings CurrentCacheSettings();
// Replaces those of the environment for the rest of the process; empty: uses them again.
// Thread-safe.
void SetCacheSettings(std::optional<CacheSettings> settings);
// The settings of the environment.
CacheSettings CacheSettingsOfEnvironment();

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_CACHE_SETTINGS_H_
