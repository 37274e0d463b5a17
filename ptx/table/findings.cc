#include "ptx/table/findings.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarsia::ptx {

std::string_view NameOf(FindingKind kind) {
  constexpr std::string_view kNames[] = {
#define PTX_FINDING(constant, name) name,
#include "ptx/table/findings.def"
#undef PTX_FINDING
  };
  return kNames[static_cast<size_t>(kind)];
}

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kCertain:
      return "certain";
    case Severity::kMemoryModel:
      return "memory-model";
  }
  return "";
}

std::string_view NameOf(AccessOrder order) {
  switch (order) {
    case AccessOrder::kNone:
      return "";
    case AccessOrder::kReadAfterWrite:
      return "raw";
    case AccessOrder::kWriteAfterRead:
      return "war";
    case AccessOrder::kWriteAfterWrite:
      return "waw";
  }
  return "";
}

std::string ToString(const Finding& finding, std::string_view source_name) {
  std::string origin;
  if (finding.origin) {
    origin = fmt::format("; the bits come from {} at line {}", finding.origin_name,
                         finding.origin->location.line);
  }
  return fmt::format("{}:{}: {}: {}{} (block {},{},{} thread {},{},{}; {} times)", source_name,
                     finding.location.line, NameOf(finding.kind), finding.message, origin,
                     finding.block.x, finding.block.y, finding.block.z, finding.thread.x,
                     finding.thread.y, finding.thread.z, finding.count);
}

std::vector<FindingGroup> GroupBySourceLine(const std::vector<Finding>& findings) {
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, FindingKind, AccessOrder>;
  std::vector<FindingGroup> groups;
  std::map<Key, size_t> known;
  for (const Finding& finding : findings) {
    const bool sourced = finding.source_line != 0;
    const Key key(finding.source_file, sourced ? finding.source_line : finding.location.line,
                  sourced ? 0 : finding.location.column, finding.kind, finding.order);
    const auto [at, is_new] = known.try_emplace(key, groups.size());
    if (is_new) {
      groups.push_back({finding, {finding.location.line}});
      continue;
    }
    FindingGroup& group = groups[at->second];
    group.first.count += finding.count;
    group.first.severity = std::min(group.first.severity, finding.severity);
    if (std::ranges::find(group.lines, finding.location.line) == group.lines.end()) {
      group.lines.push_back(finding.location.line);
    }
  }
  return groups;
}

namespace {

// Which of two findings of one kind at one place is shown, whichever came first: of races the one
// with the access that stands first in the text; then that of the least block, whose threads do all
// in an order of their own, and of races, which threads of other blocks find too, the least thread.
bool ComesBefore(const Finding& a, const Finding& b) {
  const auto key = [](const Finding& of) {
    const Location other = of.other ? of.other->location : Location{};
    const Dim3& block = of.block;
    const Dim3 thread = of.other ? of.thread : Dim3{};
    return std::tuple(other.line, other.column, of.order, block.z, block.y, block.x, thread.z,
                      thread.y, thread.x);
  };
  return key(a) < key(b);
}

}  // namespace

void FindingLog::Add(Finding finding) {
  const std::lock_guard lock(mutex_);
  const std::tuple key(finding.location.line, finding.location.column, finding.kind);
  const auto known = findings_.find(key);
  if (known != findings_.end()) {
    const uint64_t count = known->second.count + finding.count;
    const Severity severity = std::min(known->second.severity, finding.severity);
    if (ComesBefore(finding, known->second)) known->second = std::move(finding);
    known->second.count = count;
    known->second.severity = severity;
    return;
  }
  findings_.emplace(key, std::move(finding));
  if (findings_.size() > kMaxFindings) findings_.erase(std::prev(findings_.end()));
}

std::vector<Finding> FindingLog::Take() {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> list;
  for (auto& [key, finding] : findings_) list.push_back(std::move(finding));
  findings_.clear();
  return list;
}

}  // namespace tarsia::ptx
