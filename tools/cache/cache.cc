// tarsia cache: upkeep of the folder of compiled code.
#include "runtime/cache/disk_cache.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/limit.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

using runtime::CacheEntry;
using runtime::DiskCache;

std::string AgeText(int64_t nanoseconds) {
  const int64_t seconds = std::max<int64_t>(0, nanoseconds / 1'000'000'000);
  constexpr int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return fmt::format("{} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{} min", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{} h", seconds / kHour);
  return fmt::format("{} days", seconds / kDay);
}

std::string KindOf(const CacheEntry& entry) {
  const size_t at = entry.file.find('.');
  return at == std::string::npos ? "" : entry.file.substr(at + 1);
}

void List(const DiskCache& cache, const std::vector<CacheEntry>& entries, bool as_json) {
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  Json json;
  json.Begin('[');
  for (const CacheEntry& entry : entries) {
    const std::string label = cache.LabelOf(entry);
    if (!as_json) {
      PrintOut(fmt::format("{:>10}  {:<7} {:<40} used {} ago\n", BytesText(entry.bytes),
                           KindOf(entry), label, AgeText(now - entry.used)));
      continue;
    }
    json.Begin('{').Key("file").String(entry.file).Key("kind").String(KindOf(entry));
    json.Key("label").String(label).Key("bytes").Number(static_cast<int64_t>(entry.bytes));
    json.Key("used").Number(entry.used / 1'000'000'000).End('}');
  }
  if (as_json) PrintOut(json.End(']').Take());
}

void Size(const DiskCache& cache, const std::vector<CacheEntry>& entries, bool as_json) {
  uint64_t bytes = 0;
  for (const CacheEntry& entry : entries) bytes += entry.bytes;
  const runtime::CacheSettings& settings = cache.settings();
  if (as_json) {
    Json json;
    json.Begin('{').Key("path").String(settings.folder);
    json.Key("limit").Number(static_cast<int64_t>(settings.limit));
    json.Key("entries").Number(static_cast<int64_t>(entries.size()));
    json.Key("bytes").Number(static_cast<int64_t>(bytes)).End('}');
    PrintOut(json.Take());
  } else if (settings.folder.empty()) {
    PrintOut("no cache\n");
  } else {
    PrintOut(fmt::format("{} entr{}, {} of at most {}, in {}\n", entries.size(),
                         entries.size() == 1 ? "y" : "ies", BytesText(bytes),
                         BytesText(settings.limit), settings.folder));
  }
}

int Prune(DiskCache& cache, uint64_t bytes, bool as_json) {
  const auto pruned = cache.Prune(bytes);
  if (!pruned.ok()) {
    PrintError(pruned.error());
    return kEnvironment;
  }
  if (as_json) {
    Json json;
    json.Begin('{').Key("entries").Number(static_cast<int64_t>(pruned->entries));
    json.Key("bytes").Number(static_cast<int64_t>(pruned->bytes)).End('}');
    PrintOut(json.Take());
  } else {
    PrintOut(fmt::format("removed {} entr{}, {}\n", pruned->entries,
                         pruned->entries == 1 ? "y" : "ies", BytesText(pruned->bytes)));
  }
  return kDone;
}

int Show(const DiskCache& cache, const std::string& action, bool as_json) {
  const auto entries = cache.List();
  if (!entries.ok()) {
    PrintError(entries.error());
    return kEnvironment;
  }
  if (action == "list") {
    List(cache, *entries, as_json);
  } else {
    Size(cache, *entries, as_json);
  }
  return kDone;
}

}  // namespace

int Cache(const Args& args) {
  Command command(
      "cache",
      "Shows and prunes the cache of compiled code. ACTION is `path`, `size` (the "
      "default), `list`, `prune` or `clear`.",
      {"tarsia cache", "TARSIA_CACHE=/tmp/tarsia-example tarsia cache prune --max 1GiB"});
  std::string action = "size";
  std::string most;
  bool as_json = false;
  command.MaybePositional("ACTION", &action, "What to do");
  command.Value("--max", "BYTES", &most, "With `prune`: the size that may remain, such as 1GiB");
  command.Flag("--json", &as_json, "Print JSON");
  if (const auto code = command.Parse(args)) return *code;
  if ((action == "prune") == most.empty()) {
    return command.Misuse(action == "prune" ? "prune needs --max" : "--max is for prune");
  }
  const auto cache = DiskCache::Current();
  if (action == "path") {
    PrintOut(cache->settings().folder + "\n");
    return kDone;
  }
  if (action == "list" || action == "size") return Show(*cache, action, as_json);
  if (action == "clear") return Prune(*cache, 0, as_json);
  if (action != "prune") {
    return command.Misuse(fmt::format("unknown action `{}`", action),
                          "the actions are path, size, list, prune and clear");
  }
  const Result<uint64_t> bytes = ParseLimit(most);
  if (!bytes.ok()) return command.Misuse("--max: " + bytes.error().message, bytes.error().help);
  return Prune(*cache, *bytes, as_json);
}

}  // namespace tarsia::tools
