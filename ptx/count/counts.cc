#include "ptx/count/counts.h"

#include <map>
#include <utility>

namespace tarsia::ptx {
namespace {

constexpr CountInfo kInfos[] = {
#define PTX_COUNT(field, what, metric) {#field, what, metric, &Counts::field},
#include "ptx/count/counts.def"
#undef PTX_COUNT
};

void AddCounts(const InstructionCounts& one, LineCounts* line) {
  line->counts += one.counts;
  line->classes[static_cast<size_t>(one.kind)] += one.counts.warp_instructions;
}

using SourceLine = std::pair<uint32_t, uint32_t>;  // file, line

// `place_of` gives the line that an instruction belongs to.
template <typename F>
std::vector<LineCounts> Group(const std::vector<InstructionCounts>& all, const F& place_of) {
  std::map<SourceLine, LineCounts> lines;
  for (const InstructionCounts& one : all) {
    const SourceLine place = place_of(one);
    LineCounts& line = lines[place];
    line.file = place.first;
    line.line = place.second;
    AddCounts(one, &line);
  }
  std::vector<LineCounts> list;
  list.reserve(lines.size());
  for (const auto& [place, line] : lines) list.push_back(line);
  return list;
}

}  // namespace

std::span<const CountInfo> CountInfos() { return kInfos; }

Counts& Counts::operator+=(const Counts& other) {
  for (const CountInfo& info : kInfos) this->*info.field += other.*info.field;
  return *this;
}

LineCounts LaunchCounts::Total() const {
  LineCounts total;
  for (const InstructionCounts& one : instructions) AddCounts(one, &total);
  return total;
}

std::vector<LineCounts> LaunchCounts::ByLine() const {
  return Group(instructions,
               [](const InstructionCounts& one) { return SourceLine(0, one.location.line); });
}

std::vector<LineCounts> LaunchCounts::BySourceLine() const {
  return Group(instructions, [](const InstructionCounts& one) {
    return SourceLine(one.source_file, one.source_line);
  });
}

}  // namespace tarsia::ptx
