// Since which target and version of PTX something may be written: columns of instructions.def and
// since.def, and what a module says of itself.
#ifndef TARSIA_PTX_TABLE_SINCE_H_
#define TARSIA_PTX_TABLE_SINCE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarsia::ptx {

struct PtxVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const PtxVersion&, const PtxVersion&) = default;
};

// "8.4"; none if it is no version.
std::optional<PtxVersion> ParseVersion(std::string_view text);

// sm_80; sm_90a has what only that architecture has, sm_100f what its family has.
struct Target {
  int number = 0;
  char suffix = '\0';
};

// "sm_90a"; none if it is no target.
std::optional<Target> ParseTarget(std::string_view text);

// What a form requires. Written "sm_80 7.0": that target or a later one, that version or a later
// one; "sm_90a 8.0": only that target; "sm_90a+ 8.0": it or any later one with a suffix.
struct Since {
  Target target;
  bool or_later = true;
  PtxVersion version;

  [[nodiscard]] bool Takes(const Target& module) const;
  [[nodiscard]] bool Takes(const PtxVersion& module) const { return module >= version; }
  // "sm_80 or later"
  [[nodiscard]] std::string TargetText() const;
};

// An empty text is since ever.
Since ParseSince(std::string_view text);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_SINCE_H_
