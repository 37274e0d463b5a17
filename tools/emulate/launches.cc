#include "tools/emulate/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dtypes/convert.h"
#include "runtime/files/file.h"
#include "tools/command.h"
#include "tools/diagnostics.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

using JsonValue = nlohmann::json;

constexpr std::string_view kKeys[] = {"entry", "grid", "block", "cluster", "shared", "args"};

// Reads the values of one file; errors name the value.
class LaunchReader {
 public:
  explicit LaunchReader(std::string file) : file_(std::move(file)) {}

  bool Read(const JsonValue& json, std::vector<EmulatedLaunch>* out) {
    if (!json.is_array() || json.empty()) return Fail("", "expected an array of launches");
    for (size_t i = 0; i < json.size(); ++i) {
      if (!ReadLaunch(json[i], fmt::format("[{}]", i), &out->emplace_back())) return false;
    }
    return true;
  }

 private:
  bool Fail(const std::string& place, const std::string& message, const std::string& help = "") {
    PrintError(fmt::format("{}: {}{}{}", file_, place, place.empty() ? "" : ": ", message), help);
    return false;
  }

  bool ReadLaunch(const JsonValue& json, const std::string& place, EmulatedLaunch* out) {
    if (!json.is_object()) return Fail(place, "expected an object");
    for (const auto& [key, value] : json.items()) {
      if (!ReadKey(key, value, place + "." + key, out)) return false;
    }
    return true;
  }

  bool ReadKey(const std::string& key, const JsonValue& value, const std::string& place,
               EmulatedLaunch* out) {
    if (key == "entry") return ReadText(value, place, &out->entry);
    if (key == "grid") return ReadDim(value, place, &out->grid);
    if (key == "block") return ReadDim(value, place, &out->block.emplace());
    if (key == "cluster") return ReadDim(value, place, &out->cluster.emplace());
    if (key == "shared") return ReadNumber(value, place, 0, &out->shared);
    if (key == "args") return ReadArgs(value, place, &out->args);
    std::string help = DidYouMean(key, kKeys);
    if (help.empty()) help = fmt::format("a launch has {}", fmt::join(kKeys, ", "));
    return Fail(place, "there is no such key", help);
  }

  bool ReadText(const JsonValue& value, const std::string& place, std::string* out) {
    if (!value.is_string()) return Fail(place, "expected a string");
    *out = value.get<std::string>();
    return true;
  }

  bool ReadNumber(const JsonValue& value, const std::string& place, uint32_t least, uint32_t* out) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX ||
        value.get<uint64_t>() < least) {
      return Fail(place, fmt::format("expected a number from {} to {}", least, UINT32_MAX));
    }
    *out = value.get<uint32_t>();
    return true;
  }

  // 16, [16, 4] or "16,4".
  bool ReadDim(const JsonValue& value, const std::string& place, ptx::Dim3* out) {
    if (value.is_string()) {
      if (ParseDim(value.get<std::string>(), out)) return true;
      return Fail(place, "no size such as 16 or [16, 4]");
    }
    if (!value.is_array()) return ReadNumber(value, place, 1, &out->x);
    if (value.empty() || value.size() > 3) return Fail(place, "expected one to three numbers");
    uint32_t* const parts[] = {&out->x, &out->y, &out->z};
    for (size_t i = 0; i < value.size(); ++i) {
      if (!ReadNumber(value[i], fmt::format("{}[{}]", place, i), 1, parts[i])) return false;
    }
    return true;
  }

  // Each argument has the form of --arg; an array is a struct.
  bool ReadArgs(const JsonValue& value, const std::string& place, std::vector<std::string>* out) {
    if (!value.is_array()) return Fail(place, "expected an array of arguments");
    for (size_t i = 0; i < value.size(); ++i) {
      const std::string at = fmt::format("{}[{}]", place, i);
      std::string& text = out->emplace_back();
      if (!value[i].is_array()) {
        if (!ReadText(value[i], at, &text)) return false;
        continue;
      }
      std::vector<std::string> members(value[i].size());
      for (size_t m = 0; m < members.size(); ++m) {
        if (!ReadText(value[i][m], fmt::format("{}[{}]", at, m), &members[m])) return false;
      }
      text = fmt::format("struct:{}", fmt::join(members, ";"));
    }
    return true;
  }

  std::string file_;
};

// The location of a byte, counted from 1, in a text.
Location PlaceOf(const std::string& text, size_t byte) {
  const size_t at = std::min(byte == 0 ? 0 : byte - 1, text.size());
  const auto begin = text.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(at);
  const size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const size_t start = newline == std::string::npos ? 0 : newline + 1;
  return {static_cast<uint32_t>(1 + std::count(begin, end, '\n')),
          static_cast<uint32_t>(at - start + 1), 1};
}

}  // namespace

bool ParseDim(std::string_view text, ptx::Dim3* out) {
  uint32_t* const parts[] = {&out->x, &out->y, &out->z};
  for (uint32_t* part : parts) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto value = ParseValue(*FindDType("u32"), text.substr(0, comma));
    if (!value || *value == 0) return false;
    *part = static_cast<uint32_t>(*value);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

int ReadLaunches(const std::string& path, std::vector<EmulatedLaunch>* out) {
  auto text = ReadFile(path);
  if (!text.ok()) {
    PrintError(text.error());
    return kRejected;
  }
  const SourceFile source(DisplayName(path), *std::move(text));
  JsonValue json;
  try {
    json = JsonValue::parse(source.text());
  } catch (const JsonValue::parse_error& error) {
    PrintError(MakeDiagnostic(diag::kBadLaunchFile, PlaceOf(source.text(), error.byte)), source);
    return kRejected;
  }
  return LaunchReader(source.name()).Read(json, out) ? kDone : kRejected;
}

}  // namespace tarsia::tools
