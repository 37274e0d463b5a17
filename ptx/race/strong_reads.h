// What the threads of a block saw with their last strong reads (a flag that is looked at, a ticket
// that is drawn): it tells whether two accesses are ordered on a machine, though the memory model
// does not say so.
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
  Mark seen;  // the strong write whose value that was
  // Whether that was written behind an access: by the same thread, or by one of its block at a
  // later time of the block.
  [[nodiscard]] bool Saw(const Mark& access) const {
    if (seen.block != access.block) return false;
    return seen.actor == access.actor ? seen.clock >= access.clock : seen.clock > access.clock;
  }
};

class StrongReads {
 public:
  // Who sees the same again and again is noted once, as it was at first.
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
