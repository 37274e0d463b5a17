// The pipelines of a cost report as a picture: the stages of each ring over turns.
#include <fmt/format.h>

#include <algorithm>

#include "support/svg.h"
#include "tools/cost/cost.h"

namespace tarsia::tools {
namespace {

constexpr int64_t kWidth = 44;  // of a turn
constexpr int64_t kHeight = 26;
constexpr int64_t kLabels = 64;
constexpr int64_t kGap = 18;

// In the column of a turn, its stage computes, and the others get the elements of turns to come.
// Draws from `top` down; returns where it ends.
int64_t DrawLoop(SvgDocument& document, const CostLoop& loop, int64_t top) {
  const int64_t stages = loop.Stages();
  document.Label(kSvgMargin, top + 12, LoopTitle(loop), SvgDocument::Anchor::kStart);
  top += 22;
  const int64_t turns = std::max<int64_t>(2 * stages, 4);
  const int64_t left = kSvgMargin + kLabels;
  for (int64_t turn = 0; turn < turns; ++turn) {
    document.Label(left + turn * kWidth + kWidth / 2, top + 12, fmt::format("{}", turn));
  }
  top += 18;
  for (int64_t stage = 0; stage < stages; ++stage) {
    const int64_t y = top + stage * kHeight;
    document.Label(kSvgMargin, y + 17, fmt::format("stage {}", stage), SvgDocument::Anchor::kStart);
    for (int64_t turn = 0; turn < turns; ++turn) {
      // Of the turns from this one on, the first that has the stage.
      const int64_t of = turn + (stage - turn % stages + stages) % stages;
      const int64_t x = left + turn * kWidth;
      const bool computes = of == turn;
      document.Box(x, y, kWidth, kHeight, computes ? SvgColour(of, 0) : SvgColour(of, 3));
      document.CellText(x, y, kWidth, kHeight,
                        computes ? fmt::format("{}", of) : fmt::format("\u2193 {}", of), !computes);
      document.Outline(x, y, kWidth, kHeight, computes);
    }
  }
  return top + stages * kHeight + kGap;
}

}  // namespace

std::string LoopTitle(const CostLoop& loop) {
  return fmt::format("line {}: {} stages of {} bytes, {} bytes in flight a multiprocessor",
                     loop.cost.line, loop.Stages(), loop.cost.bytes, loop.in_flight);
}

std::string PipelineSvg(const CostReport& report) {
  SvgDocument document;
  int64_t top = document.Title(fmt::format("{} on {}", report.kernel, report.target),
                               "columns are turns: n computes, \u2193 n is on its way");
  for (const CostLoop& loop : report.loops) {
    if (loop.cost.ahead > 0) top = DrawLoop(document, loop, top);
  }
  return document.Finish();
}

}  // namespace tarsia::tools
