// What a launch does, in numbers that repeat exactly: by instruction, by line of the PTX, by line
// of its source (.loc), and in all. counts.def says what is counted and which counters of
// a GPU that predicts, transactions.h by which rules. Which work threads do that wait for memory to
// change (a lock) depends on the host; no other number does.
#ifndef TARSIA_PTX_COUNT_COUNTS_H_
#define TARSIA_PTX_COUNT_COUNTS_H_

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ptx/count/classes.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

struct Counts {
#define PTX_COUNT(field, what, metric) uint64_t field = 0;
#include "ptx/count/counts.def"
#undef PTX_COUNT

  Counts& operator+=(const Counts& other);
  friend bool operator==(const Counts&, const Counts&) = default;
};

// A row of counts.def.
struct CountInfo {
  std::string_view name;  // of the field
  std::string_view what;
  std::string_view metric;
  uint64_t Counts::* field;
};
std::span<const CountInfo> CountInfos();

// Instructions of each class that warps executed.
using ClassCounts = std::array<uint64_t, kInstClassCount>;

struct InstructionCounts {
  Location location;
  uint32_t source_file = 0;  // by .loc; 0 if there is none
  uint32_t source_line = 0;
  InstClass kind = InstClass::kControl;
  Counts counts;
};

// All instructions of a line.
struct LineCounts {
  uint32_t file = 0;  // of .loc; 0 for a line of the PTX
  uint32_t line = 0;
  Counts counts;
  ClassCounts classes{};
};

struct LaunchCounts {
  std::vector<InstructionCounts> instructions;  // that ran, in the order of the text

  [[nodiscard]] LineCounts Total() const;
  // In rising order.
  [[nodiscard]] std::vector<LineCounts> ByLine() const;
  [[nodiscard]] std::vector<LineCounts> BySourceLine() const;
};

// ---- for handlers of instructions whose operands do not say it ----------------------------------
// Each does nothing in a launch that does not count.
class Warp;
// The share of the executing warp, where several work on one product.
void AddTensorOperations(Warp& warp, const Inst& inst, uint64_t operations);
// A copy without threads: bytes of global memory that it reads or writes, the sectors that they lie
// in, the least in which they could.
struct BulkCopy {
  uint64_t bytes = 0;
  uint64_t sectors = 0;
  uint64_t ideal_sectors = 0;
  bool from_global = false;
  bool to_global = false;
};
void AddBulkCopy(Warp& warp, const Inst& inst, const BulkCopy& copy);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_COUNT_COUNTS_H_
