// What a schedule needs to know about ranges of axes: those of chunks, and those of ranks that
// share the plan (planner/share.h). Internal to planner/.
#ifndef TARSIA_PLANNER_SHARING_H_
#define TARSIA_PLANNER_SHARING_H_

#include <cstdint>
#include <vector>

#include "planner/schedule.h"

namespace tarsia {

// A view of a schedule.
class Sharing {
 public:
  Sharing(const Meaning& meaning, const PlanChoice& choice, LimitKind limit_kind,
          const std::vector<Tensor>& tensors, const std::vector<Work>& works,
          const std::vector<Place>& places, const std::vector<LoopsOfWork>& loops_of)
      : meaning_(meaning),
        choice_(choice),
        limit_kind_(limit_kind),
        tensors_(tensors),
        works_(works),
        places_(places),
        loops_of_(loops_of) {}

  // ---- axes and splits
  [[nodiscard]] bool IsShared(uint32_t axis) const;
  // The part of an axis that this plan covers, and the most elements that any rank covers.
  [[nodiscard]] StepRange RangeOf(uint32_t axis) const;
  [[nodiscard]] int64_t LengthOf(uint32_t axis) const;
  // The number of chunks.
  [[nodiscard]] int64_t RoundsOf(const Split& split) const;
  // The ranges of a loop.
  [[nodiscard]] ScheduleLoop LoopOf(const ScheduleItem& item) const;
  // A power of two that divides all bounds of the chunks but the end of the axis.
  [[nodiscard]] int64_t GranuleOf(const Split& split) const;

  // ---- tensors
  // The extent of its axis `at` in memory.
  [[nodiscard]] int64_t ExtentOf(const Tensor& tensor, size_t at) const;
  // Whether all that use a tensor run in loops over the axis and use elements of their own range.
  [[nodiscard]] bool IsLocal(const Tensor& tensor, uint32_t axis) const;  // one of its axes
  // Whether a tensor has the shared axis, and each rank uses only its own range of it.
  [[nodiscard]] bool IsShared(const Tensor& tensor) const;
  // Whether its memory has room only for the range of its axis `at` that is shared.
  [[nodiscard]] bool CanShare(const Tensor& tensor, size_t at) const;
  // Whether ranges of its axis `at` whose bounds are multiples of `granule` begin and end with
  // whole bytes.
  [[nodiscard]] bool HasWholeBytes(const Tensor& tensor, size_t at, int64_t granule) const;
  // Whether a chunk of an axis of a packed tensor would be written part by part, because chunks of
  // another axis cannot be stored by themselves.
  [[nodiscard]] bool IsPartOfChunk(const Tensor& tensor, uint32_t axis) const;
  // Whether each rank needs only its own range of all results that have the shared axis.
  [[nodiscard]] bool IsPossible() const;

  // ---- cost
  // How much of a kernel's launches over whole axes a rank has.
  [[nodiscard]] double TimesOf(size_t work) const;
  // Of what ranks send each other, in additions of elements.
  [[nodiscard]] double ExchangeCost() const;

 private:
  [[nodiscard]] size_t NumberOf(const Tensor& tensor) const {
    return static_cast<size_t>(&tensor - tensors_.data());
  }

  const Meaning& meaning_;
  const PlanChoice& choice_;
  LimitKind limit_kind_;
  const std::vector<Tensor>& tensors_;
  const std::vector<Work>& works_;
  const std::vector<Place>& places_;
  const std::vector<LoopsOfWork>& loops_of_;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_SHARING_H_
