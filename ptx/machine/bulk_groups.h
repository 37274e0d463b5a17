// The bulk groups of a thread: bulk operations that it commits and waits for together, in order.
#ifndef TARSIA_PTX_MACHINE_BULK_GROUPS_H_
#define TARSIA_PTX_MACHINE_BULK_GROUPS_H_

#include <algorithm>
#include <cstdint>
#include <deque>

namespace tarsia::ptx {

class BulkGroups {
 public:
  // `reader` and `writer`: the agents that do its operations, within its block.
  BulkGroups(uint32_t reader, uint32_t writer) : reader_(reader), writer_(writer), groups_(1) {}

  [[nodiscard]] uint32_t reader() const { return reader_; }
  [[nodiscard]] uint32_t writer() const { return writer_; }
  // How many groups there were, all committed ones but the last `left`.
  [[nodiscard]] uint64_t CountBut(uint64_t left) const {
    const uint64_t committed = first_ + groups_.size() - 1;
    return committed - std::min(left, committed);
  }

  // An operation joins the open group; gives the group's number.
  uint64_t Begin() {
    ++groups_.back().reading;
    ++groups_.back().writing;
    return first_ + groups_.size() - 1;
  }
  void Commit() {
    groups_.emplace_back();
    while (groups_.size() > 1 && groups_.front().writing == 0) {
      groups_.pop_front();
      ++first_;
    }
  }
  // An operation of a group has read its source, or has done all.
  void HasRead(uint64_t group) { --groups_[group - first_].reading; }
  void HasWritten(uint64_t group) { --groups_[group - first_].writing; }
  // Whether all committed groups but the last `left` are done, or at least do not read any more.
  [[nodiscard]] bool Done(uint64_t left, bool reads_only) const {
    for (uint64_t i = 0; i + 1 + left < groups_.size(); ++i) {
      if ((reads_only ? groups_[i].reading : groups_[i].writing) != 0) return false;
    }
    return true;
  }

 private:
  struct Group {
    uint32_t reading = 0;
    uint32_t writing = 0;
  };
  uint32_t reader_;
  uint32_t writer_;
  std::deque<Group> groups_;  // the last one is open
  uint64_t first_ = 0;        // the number of the first
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_BULK_GROUPS_H_
