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

void FindingLog::Add(Finding finding) {
  const std::lock_guard lock(mutex_);
  const std::tuple key(finding.location.line, finding.location.column, finding.kind);
  const auto known = findings_.find(key);
  if (known != findings_.end()) {
    known->second.count += finding.count;
    return;
  }
  if (findings_.size() < kMaxFindings) findings_.emplace(key, std::move(finding));
}

std::vector<Finding> FindingLog::Take() {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> list;
  for (auto& [key, finding] : findings_) list.push_back(std::move(finding));
  findings_.clear();
  return list;
}

}  // namespace tarsia::ptx
