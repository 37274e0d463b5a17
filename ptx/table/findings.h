// What a kernel did wrong while it ran.
#ifndef TARSIA_PTX_TABLE_FINDINGS_H_
#define TARSIA_PTX_TABLE_FINDINGS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/diagnostic.h"

namespace tarsia::ptx {

enum class FindingKind : uint8_t {
#define PTX_FINDING(constant, name) constant,
#include "ptx/table/findings.def"
#undef PTX_FINDING
};

std::string_view NameOf(FindingKind kind);

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
  [[nodiscard]] uint64_t Count() const { return uint64_t{x} * y * z; }
};

// The element of row-major number `linear`, x fastest.
inline Dim3 UnravelIndex(uint64_t linear, const Dim3& extent) {
  return {static_cast<uint32_t>(linear % extent.x),
          static_cast<uint32_t>(linear / extent.x % extent.y),
          static_cast<uint32_t>(linear / extent.x / extent.y)};
}

inline uint64_t RavelIndex(const Dim3& at, const Dim3& extent) {
  return at.x + uint64_t{extent.x} * (at.y + uint64_t{extent.y} * at.z);
}

// A fault, or an order of accesses that nothing but the memory model demands: a machine may well
// keep it, and another, or the next compiler, may not.
enum class Severity : uint8_t { kCertain, kMemoryModel };
std::string_view NameOf(Severity severity);

// The order of two accesses that nothing orders: the second is where the finding is, which comes
// later in the text as a rule. "raw" is a read after a write.
enum class AccessOrder : uint8_t { kNone, kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };
std::string_view NameOf(AccessOrder order);

// A place in the PTX, and in its source (Module::lines; 0 if there is none).
struct FindingPlace {
  Location location;
  uint32_t loc = 0;
};

struct Finding {
  FindingKind kind = FindingKind::kOutOfBounds;
  Severity severity = Severity::kCertain;
  Location location;         // in the PTX text
  uint32_t loc = 0;          // of Module::lines
  uint32_t source_file = 0;  // the user's own line by .loc; 0 if there is none
  uint32_t source_line = 0;
  Dim3 block{0, 0, 0};  // the least that did it
  Dim3 thread{0, 0, 0};
  std::string message;
  uint64_t count = 0;  // how often
  // Of undefined bits: where they come from, and what that is ("the ld").
  std::optional<FindingPlace> origin;
  std::string origin_name;
  // Of two accesses that are not ordered: the other.
  std::optional<FindingPlace> other;
  AccessOrder order = AccessOrder::kNone;
};

// "kernel.ptx:12: out_of_bounds: ... (block 0,0,0 thread 3,0,0; 64 times)"
std::string ToString(const Finding& finding, std::string_view source_name);

// Findings that are one to whoever reads the source: of one kind and order of accesses, at one of
// its lines.
struct FindingGroup {
  Finding first;                // with the worst severity of all, and their number
  std::vector<uint32_t> lines;  // of the PTX, each once
};
// Those with no line of the source are a group each. In the order of the first of each.
std::vector<FindingGroup> GroupBySourceLine(const std::vector<Finding>& findings);

// Collects findings; equal kinds at equal places are one. Thread-safe.
class FindingLog {
 public:
  static constexpr size_t kMaxFindings = 1000;

  void Add(Finding finding);
  // In the order of their places in the text.
  [[nodiscard]] std::vector<Finding> Take();

 private:
  std::mutex mutex_;
  std::map<std::tuple<uint32_t, uint32_t, FindingKind>, Finding> findings_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_FINDINGS_H_
