// The reports of kernels with `assert` or `print` in global memory, and their form for the host.
// The compiler and the launching code share only this file.
//
//   offset  bytes  what
//        0      8  failure: block * 2^16 + record of the failed instruction with the lowest block;
//                  all ones before the launch
//        8      8  requested bytes of entries; 0 before the launch
//       16      8  bytes of room for entries; set before the launch
//       24      8  the offset of the first entry without room; all ones before the
//                  launch
//       32      -  entries, each a multiple of 8 bytes: record (8), block (8), elements
//
// `block` is the linear number of the block, x fastest. Records are numbers of
// CompiledKernel::records. Elements are codes in native containers (1, 2, 4 or 8 bytes), row-major.
// If there is no room for an entry, it and all later ones are omitted but counted: the host sees
// that the requested bytes exceed the room, and where the entries end. Entries of one block are in
// the order in which it made them. The entry of a failure, if its kind has one, is written before
// the failure; other entries are printed values.
#ifndef TARSIA_COMPILER_REPORT_BUFFER_H_
#define TARSIA_COMPILER_REPORT_BUFFER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "support/diagnostic.h"

namespace tarsia::compiler {

struct ReportHeader {
  uint64_t failure = kNoFailure;
  uint64_t wanted = 0;
  uint64_t room = 0;
  uint64_t end = ~uint64_t{0};

  static constexpr uint64_t kNoFailure = ~uint64_t{0};
  // Bytes of the entries in the buffer.
  [[nodiscard]] uint64_t EntryBytes() const {
    const uint64_t most = wanted < room ? wanted : room;
    return end < most ? end : most;
  }
};
static_assert(sizeof(ReportHeader) == 32);

inline constexpr int kRecordBits = 16;
inline constexpr uint64_t kEntryHeaderBytes = 16;

// The report of an instruction.
struct ReportRecord {
  enum class Kind : uint8_t {
    kAssert,       // `text` is the message
    kPrint,        // `text` is the label, `type` and `shape` those of the value
    kStepIsZero,   // of `for`
    kViewOfSlice,  // `text` is the tile whose bytes cannot be viewed
    kViewExtent,   // `dim` of a view or slice; an entry of one i64 is the invalid extent
  };
  Kind kind = Kind::kAssert;
  Location location;
  std::string text;
  DType type;
  std::vector<int64_t> shape;
  int dim = 0;

  // Bytes of an entry of this record.
  [[nodiscard]] uint64_t EntryBytes() const {
    uint64_t elements = 1;
    for (const int64_t extent : shape) elements *= static_cast<uint64_t>(extent);
    const uint64_t bytes = elements * static_cast<uint64_t>(ContainerBytes(type));
    return kEntryHeaderBytes + (bytes + 7) / 8 * 8;
  }
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_REPORT_BUFFER_H_
