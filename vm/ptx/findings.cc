#include "vm/ptx/findings.h"

#include <fmt/format.h>

namespace tarsia::ptx {

std::string_view NameOf(FindingKind kind) {
  constexpr std::string_view kNames[] = {
#define PTX_FINDING(constant, name) name,
#include "vm/ptx/findings.def"
#undef PTX_FINDING
  };
  return kNames[static_cast<size_t>(kind)];
}

std::string ToString(const Finding& finding, std::string_view source_name) {
  return fmt::format("{}:{}: {}: {} (block {},{},{} thread {},{},{}; {} times)", source_name,
                     finding.location.line, NameOf(finding.kind), finding.message, finding.block.x,
                     finding.block.y, finding.block.z, finding.thread.x, finding.thread.y,
                     finding.thread.z, finding.count);
}

namespace {

// Of equal findings that of the least block is told of, whichever came first.
bool ComesBefore(const Dim3& a, const Dim3& b) {
  return std::tie(a.z, a.y, a.x) < std::tie(b.z, b.y, b.x);
}

}  // namespace

void FindingLog::Add(Finding finding) {
  const std::lock_guard lock(mutex_);
  const std::tuple key(finding.location.line, finding.location.column, finding.kind);
  const auto known = findings_.find(key);
  if (known != findings_.end()) {
    const uint64_t count = known->second.count + finding.count;
    if (ComesBefore(finding.block, known->second.block)) known->second = std::move(finding);
    known->second.count = count;
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
