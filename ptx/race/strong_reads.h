// What the threads of a block saw with their last strong reads (of a flag, or of a counter that
// gives out tickets). It tells whether hardware orders two accesses that the memory model does not
// order.
#ifndef TARSIA_PTX_RACE_STRONG_READS_H_
#define TARSIA_PTX_RACE_STRONG_READS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ptx/race/shadow.h"

namespace tarsia::ptx {

struct StrongRead {
  uint16_t actor = 0;  // who reads, and when
  Clock clock = 0;
  AccessRecord seen;  // the strong write whose value that was
  // Whether that was written after an access: by the same thread, or by one of its block at a later
  // time of the block.
  [[nodiscard]] bool Saw(const AccessRecord& access) const {
    if (seen.block != access.block) return false;
    return seen.actor == access.actor ? seen.clock >= access.clock : seen.clock > access.clock;
  }
};

class StrongReads {
 public:
  // A thread that sees the same write again is noted once, at its first read.
  void Note(const StrongRead& read) {
    if (count_ != 0) {
      const StrongRead& last = reads_[(count_ - 1) % kMost];
      if (last.actor == read.actor && last.seen == read.seen) return;
    }
    reads_[count_++ % kMost] = read;
  }
  [[nodiscard]] std::span<const StrongRead> all() const {
    return {reads_.data(), count_ < kMost ? count_ : kMost};
  }

 private:
  static constexpr size_t kMost = 64;
  std::array<StrongRead, kMost> reads_;
  size_t count_ = 0;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_RACE_STRONG_READS_H_
