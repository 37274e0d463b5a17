// The C API: the cache of compiled code.
#include "runtime/cache/disk_cache.h"

#include "runtime/api/api.h"
#include "runtime/cache/settings.h"

using namespace tarsia;
using namespace tarsia::api;

tarsia_status tarsia_cache_configure(const tarsia_cache_options* options) {
  return Guarded([&] {
    if (options == nullptr) {
      runtime::SetCacheSettings(std::nullopt);
      return TARSIA_STATUS_OK;
    }
    tarsia_cache_options with = {};
    if (const auto s = ReadStruct(options, "options", &with); s != TARSIA_STATUS_OK) return s;
    runtime::CacheSettings settings = runtime::CacheSettingsOfEnvironment();
    if (with.path != nullptr) settings.folder = with.path;
    if (with.limit != 0) settings.limit = with.limit;
    runtime::SetCacheSettings(std::move(settings));
    return TARSIA_STATUS_OK;
  });
}

tarsia_status tarsia_cache_get(tarsia_cache_info* out) {
  return Guarded([&] {
    thread_local std::string path;
    const auto cache = runtime::DiskCache::Current();
    tarsia_cache_info info = {};
    path = cache->settings().folder;
    info.path = path.c_str();
    info.limit = cache->settings().limit;
    const auto entries = cache->List();
    if (!entries.ok()) return FailWith(entries.error(), TARSIA_STATUS_NO_DEVICE);
    info.entries = entries->size();
    for (const runtime::CacheEntry& entry : *entries) info.bytes += entry.bytes;
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_cache_prune(uint64_t bytes, uint64_t* removed) {
  return Guarded([&] {
    if (removed != nullptr) *removed = 0;
    const auto pruned = runtime::DiskCache::Current()->Prune(bytes);
    if (!pruned.ok()) return FailWith(pruned.error(), TARSIA_STATUS_NO_DEVICE);
    if (removed != nullptr) *removed = pruned->bytes;
    return TARSIA_STATUS_OK;
  });
}
