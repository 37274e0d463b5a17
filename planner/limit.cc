#include "planner/limit.h"

#include <fmt/format.h>

#include <array>

#include "planner/diagnostics.h"

namespace tarsia {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 62;

// The factor of a unit; 0 if there is none of this name.
uint64_t FactorOf(std::string_view unit) {
  if (!unit.empty() && unit.back() == 'B') unit.remove_suffix(1);
  if (unit.empty()) return 1;
  constexpr std::string_view kPrefixes = "kMGT";
  const size_t power = unit[0] == 'K' ? 0 : kPrefixes.find(unit[0]);
  const bool binary = unit.size() == 2 && unit[1] == 'i';
  if (power == std::string_view::npos || (unit.size() != 1 && !binary)) return 0;
  uint64_t factor = 1;
  for (size_t i = 0; i <= power; ++i) factor *= binary ? 1024 : 1000;
  return factor;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Result<uint64_t> ParseLimit(std::string_view text) {
  // Exact: `whole` and the digits of the fraction are multiplied as integers.
  const auto fail = [&](const DiagInfo& info) { return MakeDiagnostic(info, Location(), text); };
  size_t at = 0;
  unsigned __int128 whole = 0;
  unsigned __int128 scale = 1;
  bool fraction = false;
  size_t digits = 0;
  for (; at < text.size() && (IsDigit(text[at]) || (text[at] == '.' && !fraction)); ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    if (++digits > 24 || (fraction && scale > kMostBytes)) return fail(diag::kLimitText);
    whole = whole * 10 + static_cast<unsigned>(text[at] - '0');
    if (fraction) scale *= 10;
  }
  const uint64_t factor = FactorOf(text.substr(at));
  if (digits == 0 || text[at - 1] == '.' || text[0] == '.' || factor == 0) {
    return fail(diag::kLimitText);
  }
  // A part of a byte is dropped only where the unit has more of them.
  if (factor == 1 && whole % scale != 0) return fail(diag::kLimitText);
  if (whole / scale > kMostBytes / factor) return fail(diag::kLimitRange);
  // The fraction has at most 19 digits and the factor 40 bits, so that the product fits.
  const unsigned __int128 bytes = whole / scale * factor + whole % scale * factor / scale;
  if (bytes > kMostBytes) return fail(diag::kLimitRange);
  if (bytes == 0) return fail(diag::kLimitZero);
  return static_cast<uint64_t>(bytes);
}

std::string CountText(uint64_t bytes) {
  return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
}

std::string BytesText(uint64_t bytes) {
  constexpr std::array<std::string_view, 7> kUnits = {"bytes", "KiB", "MiB", "GiB",
                                                      "TiB",   "PiB", "EiB"};
  if (bytes < 1024) return CountText(bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

}  // namespace tarsia
