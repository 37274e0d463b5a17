#include "ptx/table/since.h"

#include <fmt/format.h>

#include <charconv>

namespace tarsia::ptx {
namespace {

// Takes a number of up to four digits from the front.
std::optional<int> TakeNumber(std::string_view* text) {
  int number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  const auto digits = static_cast<size_t>(stop - text->data());
  if (error != std::errc() || digits > 4 || text->front() == '-') return std::nullopt;
  text->remove_prefix(digits);
  return number;
}

}  // namespace

std::optional<PtxVersion> ParseVersion(std::string_view text) {
  const auto major = TakeNumber(&text);
  if (!major || !text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  const auto minor = TakeNumber(&text);
  if (!minor || !text.empty()) return std::nullopt;
  return PtxVersion{*major, *minor};
}

std::optional<Target> ParseTarget(std::string_view text) {
  if (!text.starts_with("sm_")) return std::nullopt;
  text.remove_prefix(3);
  Target target;
  const auto number = TakeNumber(&text);
  if (!number) return std::nullopt;
  target.number = *number;
  if (text == "a" || text == "f") {
    target.suffix = text[0];
    return target;
  }
  return text.empty() ? std::optional(target) : std::nullopt;
}

bool Since::Takes(const Target& module) const {
  if (target.suffix == '\0') return module.number >= target.number;
  if (or_later) return module.suffix != '\0' && module.number >= target.number;
  return module.suffix == target.suffix && module.number == target.number;
}

std::string Since::TargetText() const {
  std::string text = fmt::format("sm_{}", target.number);
  if (target.suffix != '\0') text += target.suffix;
  if (!or_later) return text;
  return text + (target.suffix == '\0' ? " or later" : " or a later one with a suffix");
}

Since ParseSince(std::string_view text) {
  Since since;
  const size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return since;
  std::string_view target = text.substr(0, blank);
  const bool plus = target.ends_with('+');
  if (plus) target.remove_suffix(1);
  since.target = ParseTarget(target).value_or(Target{});
  since.or_later = plus || since.target.suffix == '\0';
  since.version = ParseVersion(text.substr(blank + 1)).value_or(PtxVersion{});
  return since;
}

}  // namespace tarsia::ptx
