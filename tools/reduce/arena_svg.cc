#include "tools/reduce/arena_svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/limit.h"
#include "support/svg.h"

namespace tarsia::tools {
namespace {

constexpr int64_t kWidth = 760, kHeight = 360;
constexpr int64_t kLeft = kSvgMargin + 92;  // right of the numbers of bytes
constexpr int64_t kLine = 18;               // a line of text
constexpr int64_t kCharacter = 8;
constexpr size_t kMostStrokes = 64;  // of a buffer; more would be a grey area

class Picture {
 public:
  explicit Picture(const Plan& plan)
      : plan_(plan), steps_(std::max<size_t>(plan.steps.size(), 1)) {}

  std::string Draw(std::string_view title) {
    const std::string limit =
        plan_.limit == kNoLimit ? "no limit" : fmt::format("limit {} bytes", plan_.limit);
    top_ = document_.Title(title, fmt::format("arena of {} bytes ({}), {}; steps to the right",
                                              plan_.peak, BytesText(plan_.peak), limit));
    document_.Ground(kLeft, top_, kWidth, kHeight);
    DrawAxes();
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.used && buffer.offset && buffer.bytes > 0) DrawBuffer(b);
    }
    return document_.Finish();
  }

 private:
  [[nodiscard]] int64_t X(size_t step) const {
    return kLeft +
           static_cast<int64_t>(static_cast<double>(step) / static_cast<double>(steps_) * kWidth);
  }
  [[nodiscard]] int64_t Y(uint64_t byte) const {
    const double part = static_cast<double>(byte) / static_cast<double>(plan_.peak);
    return top_ + kHeight - static_cast<int64_t>(part * kHeight);
  }

  void DrawAxes() {
    using Anchor = SvgDocument::Anchor;
    document_.Label(kLeft - 8, top_ + 12, BytesText(plan_.peak), Anchor::kEnd);
    document_.Label(kLeft - 8, top_ + kHeight, "byte 0", Anchor::kEnd);
    const int64_t below = top_ + kHeight + kLine;
    document_.Label(kLeft, below, "step 0", Anchor::kStart);
    document_.Label(kLeft + kWidth, below, fmt::format("{}", steps_), Anchor::kEnd);
  }

  // Where the contents of a buffer of chunks change.
  void DrawChunks(size_t b) {
    const PlanBuffer& buffer = plan_.buffers[b];
    std::vector<size_t> changes;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      const bool moves = step.kind == PlanStep::Kind::kLoad || step.kind == PlanStep::Kind::kStore;
      if (moves && step.buffers[0] == b) changes.push_back(s);
    }
    if (!buffer.second || changes.size() > kMostStrokes) return;
    for (const size_t s : changes) {
      document_.Line(X(s), Y(*buffer.offset + buffer.bytes), X(s), Y(*buffer.offset), false);
    }
  }

  void DrawBuffer(size_t b) {
    const PlanBuffer& buffer = plan_.buffers[b];
    const int64_t x = X(buffer.first);
    const int64_t y = Y(*buffer.offset + buffer.bytes);
    const int64_t width = std::max<int64_t>(X(buffer.last + 1) - x, 1);
    const int64_t height = std::max<int64_t>(Y(*buffer.offset) - y, 1);
    const auto tensor = static_cast<int64_t>(buffer.second ? std::min(b, *buffer.second) : b);
    document_.Box(x, y, width, height, SvgColour(tensor, tensor / kSvgHues));
    DrawChunks(b);
    document_.Outline(x, y, width, height, true);
    const auto letters = static_cast<int64_t>(buffer.name.size()) * kCharacter;
    if (height >= kLine && width >= letters) {
      document_.CellText(x, y, width, height, buffer.name);
    } else if (x + width + letters < kLeft + kWidth) {
      document_.Label(x + width + 4, y + height / 2 + 4, buffer.name, SvgDocument::Anchor::kStart);
    }
  }

  const Plan& plan_;
  const size_t steps_;
  SvgDocument document_;
  int64_t top_ = 0;
};

}  // namespace

std::string ArenaSvg(const Plan& plan, const ConcreteGraph& graph) {
  return Picture(plan).Draw(graph.name());
}

}  // namespace tarsia::tools
