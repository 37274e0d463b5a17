#include "runtime/cache/settings.h"

#include <fmt/format.h>

#include <mutex>
#include <string_view>
#include <utility>

#include "planner/limit.h"
#include "runtime/log.h"
#include "support/environment.h"

namespace tarsia::runtime {
namespace {

std::mutex mutex;
std::optional<CacheSettings>& Chosen() {
  static std::optional<CacheSettings> chosen;
  return chosen;
}

// A relative path would be another folder for each working directory: the XDG specification ignores
// it, too.
std::string DefaultFolder() {
  const std::string_view xdg = Environment("XDG_CACHE_HOME");
  if (xdg.starts_with('/')) return std::string(xdg) + "/tarsia";
  const std::string_view home = Environment("HOME");
  return home.starts_with('/') ? std::string(home) + "/.cache/tarsia" : std::string();
}

}  // namespace

CacheSettings CacheSettingsOfEnvironment() {
  CacheSettings out;
  const std::string_view folder = Environment(kCacheVariable);
  if (folder == "off") return out;
  out.folder = folder.empty() ? DefaultFolder() : std::string(folder);
  const std::string_view limit = Environment(kCacheLimitVariable);
  if (limit.empty()) return out;
  if (const Result<uint64_t> bytes = ParseLimit(limit); bytes.ok()) {
    out.limit = *bytes;
  } else {
    api::Log(TARSIA_LOG_WARNING, fmt::format("{}: {}", kCacheLimitVariable, bytes.error().message));
  }
  return out;
}

CacheSettings CurrentCacheSettings() {
  {
    const std::lock_guard lock(mutex);
    if (Chosen()) return *Chosen();
  }
  return CacheSettingsOfEnvironment();
}

void SetCacheSettings(std::optional<CacheSettings> settings) {
  const std::lock_guard lock(mutex);
  Chosen() = std::move(settings);
}

}  // namespace tarsia::runtime
