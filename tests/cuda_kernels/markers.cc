#include "tests/cuda_kernels/markers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>

namespace tarsia::cuda_kernels {
namespace {

// `.loc FILE LINE COLUMN[, function_name LABEL, inlined_at FILE LINE COLUMN]`
struct Loc {
  SourcePlace place;
  std::optional<SourcePlace> inlined_at;
};

std::optional<Loc> ParseLoc(const std::string& text) {
  std::istringstream in(text);
  std::string word;
  Loc loc;
  if (!(in >> word) || word != ".loc") return std::nullopt;
  in >> loc.place.file >> loc.place.line >> loc.place.column;
  while (in >> word) {
    if (word != "inlined_at") continue;
    SourcePlace& call = loc.inlined_at.emplace();
    in >> call.file >> call.line >> call.column;
  }
  return loc;
}

// Whether a statement, or the head of a block, ends with this line.
bool EndsStatement(const std::string& text) {
  static const std::regex kEnd(R"([;{}]\s*(//.*)?$)");
  return std::regex_search(text, kEnd);
}

}  // namespace

std::map<std::string, std::vector<Marker>> MarkersOf(const std::string& source) {
  static const std::regex kMarker(R"((may find|finds) (FAULT_\w+): (\w+))");
  std::map<std::string, std::vector<Marker>> markers;
  std::vector<std::pair<std::string, Marker>> open;  // markers whose code has not ended
  std::istringstream in(source);
  std::string text;
  for (uint32_t line = 1; std::getline(in, text); ++line) {
    std::smatch match;
    if (std::regex_search(text, match, kMarker)) {
      EXPECT_EQ(text.substr(text.find_first_not_of(' ')), "// " + match.str())
          << "line " << line << ": a marker is a line of its own";
      open.push_back({match[2], {match[3], line + 1, line + 1, match[1] == "finds"}});
    } else if (EndsStatement(text)) {
      for (auto& [fault, marker] : open) {
        marker.last_line = line;
        markers[fault].push_back(marker);
      }
      open.clear();
    }
  }
  EXPECT_TRUE(open.empty()) << "no code follows the last marker";
  return markers;
}

std::vector<SourcePlace> PlacesOf(const std::string& ptx, uint32_t line) {
  std::istringstream in(ptx);
  std::string text;
  std::optional<Loc> last;
  std::map<SourcePlace, SourcePlace> callers;
  for (uint32_t at = 1; at <= line && std::getline(in, text); ++at) {
    const auto loc = ParseLoc(text);
    if (!loc) continue;
    last = loc;
    if (loc->inlined_at) callers.insert_or_assign(loc->place, *loc->inlined_at);
  }
  std::vector<SourcePlace> places;
  if (!last) return places;
  places.push_back(last->place);
  std::optional<SourcePlace> next = last->inlined_at;
  while (next && places.size() < 32) {
    places.push_back(*next);
    const auto caller = callers.find(*next);
    next = caller == callers.end() ? std::nullopt : std::optional(caller->second);
  }
  return places;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tarsia::cuda_kernels
